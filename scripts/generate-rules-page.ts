import { MAX_NOT_SHOWN_POINTS, STATIC_FLOOR } from '../core/gap/assess.ts';
import { POINTS, SEVERITIES } from '../core/gap/finding.ts';
import { barOf } from '../core/gap/grade.ts';
import { GAP_RULES } from '../core/gap/rules.ts';
import { POLICY_RULES } from '../core/policy/rules.ts';
import { markdownTable } from './markdown-table.ts';

const GRADES = ['A', 'B', 'C', 'D'] as const;

/** `docs/reference/rules.md`. */
export function rulesReferencePage(): string {
  const points = SEVERITIES.map((severity) => `${severity} ${POINTS[severity]}`).join(', ');
  const grades = GRADES.map((grade) => `${grade} from ${barOf(grade)}`).join(', ');
  return `# Rules

<!-- Made by scripts/generate.ts from core/gap/ and core/policy/rules.ts. Do not edit. -->

## Gap

The score begins at 100 and loses points for each issue, by its severity: ${points}.
It does not go below 0, and each property counts once. With \`source: manifest-static\` the rows up to \`reporter.invalid\` leave at
least ${STATIC_FLOOR}; the rows of guardrails and policy may lower the score further. Issues "declared, not shown" cost at most
${MAX_NOT_SHOWN_POINTS} points together. Grades: ${grades}, F below.

The rows \`model.apiKey\`, \`env:\`, \`service:\`, \`tool:\`, \`memory:\` and \`mcp:\` need the agent's own report (\`source: agent-sdk\`). The rows of
guardrails need requests whose answers told behavior. The rows of \`policy\` need a policy engine.

${gapTable()}
## Policy rules

A manifest brings a rule with each of these declarations. [\`platform generate-policy\`](cli.md#platform-generate-policy)
shows those of one manifest and writes them for Open Policy Agent. A denial is the issue \`policy.<reason>\` above.

${policyTable()}
What is not known denies nothing, with two exceptions: a model call that reports no guardrails did not invoke the
pii-detector, and a call of a destructive tool without a word on confirmation was not confirmed.

## Compliance rules

[A page of their own](compliance.md) has the rules that \`platform audit\` scores and that proofs are submitted for.
`;
}

function policyTable(): string {
  return markdownTable(
    ['Denial reason', 'Severity', 'Declared at', 'Brought when', 'Denies when'],
    POLICY_RULES.map(({ reason, severity, field, declaredBy, deniesWhen }) => [
      `\`${reason}\``,
      severity,
      `\`${field}\``,
      declaredBy,
      deniesWhen,
    ]),
  );
}

function gapTable(): string {
  const rows = GAP_RULES.flatMap(({ property, when }) =>
    SEVERITIES.flatMap((severity) => {
      const words = when[severity];
      return words === undefined ? [] : [[`\`${property}\``, severity, String(POINTS[severity]), words]];
    }),
  );
  return markdownTable(['Property', 'Severity', 'Points', 'When'], rows);
}
