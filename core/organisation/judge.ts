import { checkOf, RULE_ACTIONS, type CheckName, type OrganisationRule } from '../shapes/agent-policy.ts';
import { CHECKS, whyNot } from './checks.ts';
import type { FieldError } from '../untrusted/fields.ts';
import type { OrganisationFinding } from '../shapes/organisation.ts';
import type { AgentPolicy, Check, Judgement, Subject } from './finding.ts';
import { isExcepted, rulesFor, selects } from './select.ts';

/** The result of an expression: whether it is true, or why it could not be evaluated. */
export type ExpressionResult = boolean | { error: string };
export type ExpressionResults = ReadonlyMap<string, ExpressionResult>;

/** The author of a manifest decides how many there are. */
const MAX_FINDINGS = 200;

/** A judgement can be made in two parts, because the one of a manifest changes only with the manifest and the rules. */
export type JudgedPart = 'all' | 'manifest' | 'observation';

/**
 * The rules of the organisation that an agent breaks. Every rule of every policy that selects the agent counts; only an exception
 * takes one away. Suppressions of the manifest do not.
 * @param expressions the results of `expressionsFor`; absent: expressions are listed as not judged
 */
export function judge(
  policies: readonly AgentPolicy[],
  subject: Subject,
  expressions: ExpressionResults = new Map(),
  part: JudgedPart = 'all',
): Judgement {
  const judgement: Judgement = { findings: [], notJudged: [] };
  for (const policy of policies) {
    const selected = selects(policy, subject);
    if (selected === 'no') continue;
    if (selected !== 'yes') {
      if (part !== 'observation')
        judgement.notJudged.push({ policy: policy.name, reason: selected.notJudged });
      continue;
    }
    for (const rule of policy.spec.rules) {
      if (isExcepted(policy, rule, subject)) continue;
      const found = problemsOf(rule, subject, { expressions, part });
      const { id, severity = 'high', action, message } = rule;
      if ('notJudged' in found)
        judgement.notJudged.push({ policy: policy.name, rule: id, reason: found.notJudged });
      else
        for (const problem of found)
          judgement.findings.push({
            ...{ policy: policy.name, rule: id, severity, action },
            ...{ path: problem.path, message: message ?? problem.message },
          });
    }
  }
  const { findings } = judgement;
  denialsFirst(findings).splice(MAX_FINDINGS);
  return judgement;
}

/** Sorts in place, so that a limit of the list never hides a Deny rule. */
export const denialsFirst = (findings: OrganisationFinding[]): OrganisationFinding[] =>
  findings.sort((a, b) => RULE_ACTIONS.indexOf(a.action) - RULE_ACTIONS.indexOf(b.action));

function problemsOf(
  rule: OrganisationRule,
  subject: Subject,
  { expressions, part }: { expressions: ExpressionResults; part: JudgedPart },
): FieldError[] | { notJudged: string } {
  const { manifest, observation, at } = subject;
  const name = checkOf(rule);
  if (rule.expression !== undefined)
    return part === 'observation' ? [] : problemsOfExpression(rule.expression, expressions);
  // The check of a name takes the part of the rule with this name.
  const check = CHECKS[name as Exclude<CheckName, 'expression'>] as Check;
  const wanted = rule[name];
  if (wanted === undefined) return [];
  const found = (part === 'observation' ? undefined : check.find?.(wanted, subject)) ?? [];
  if ('notJudged' in found || part === 'manifest' || check.observe === undefined) return found;
  const reason = whyNot(name, subject);
  if (reason !== null) return { notJudged: reason };
  return observation === null ? found : [...found, ...check.observe(wanted, { manifest, observation, at })];
}

function problemsOfExpression(
  expression: string,
  results: ExpressionResults,
): FieldError[] | { notJudged: string } {
  const result = results.get(expression);
  if (result === undefined) return { notJudged: 'expressions are not evaluated here' };
  if (result === true) return [];
  const message =
    result === false ? `the expression is false: ${expression}` : `could not be evaluated: ${result.error}`;
  return [{ path: '', message }];
}

/** The expressions that `judge` needs, each once. */
export function expressionsFor(policies: readonly AgentPolicy[], subject: Subject): string[] {
  const expressions = rulesFor(policies, subject).map(({ expression }) => expression);
  return [...new Set(expressions.filter((expression) => expression !== undefined))];
}

/** Whether a Deny rule is broken. */
export const isDenied = ({ findings }: Pick<Judgement, 'findings'>): boolean =>
  findings.some(({ action }) => action === 'Deny');

/** The variables of expressions. `namespace` is a reserved word of CEL, so the name is that of admission policies. */
export const expressionVariables = ({
  manifest,
  namespace,
  labels,
}: Pick<Subject, 'manifest' | 'namespace' | 'labels'>): Record<string, unknown> => ({
  manifest,
  namespaceObject: { metadata: { name: namespace ?? '', labels: labels ?? {} } },
});
