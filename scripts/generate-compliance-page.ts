import { PACKS, type Pack } from '../core/audit/packs.ts';
import { WEIGHTS, type EvidenceKind, type Rule, type Tier } from '../core/audit/rule.ts';
import { RULES } from '../core/audit/rules.ts';
import { markdownTable } from './markdown-table.ts';

/** What a rule's tier asks for. */
const TIERS: Readonly<Record<Tier, string>> = {
  D: 'declared: the manifest says it, and nothing can show more',
  P: 'probed: a check of it passes',
  B: 'behavioral: it was observed in requests that passed the sidecar',
  X: 'external: somebody tested it and submitted a proof record',
};

/** `docs/reference/compliance.md`. */
export function complianceReferencePage(): string {
  const weights = Object.entries(WEIGHTS)
    .map(([severity, weight]) => `${severity} ${weight}`)
    .join(', ');
  const tiers = Object.entries(TIERS)
    .map(([tier, words]) => `- **[${tier}]** ${words}\n`)
    .join('');
  return `# Compliance rules

<!-- Made by scripts/generate.ts from core/audit/. Do not edit. -->

[\`platform audit\`](cli.md#platform-audit) holds a manifest against these ${RULES.length} rules; [auditing in CI](../guide/audit.md) shows it in use.

The **declared score** is the share of the rules that pass, by weight (${weights}), as a whole number of 0 to 100, with
the [grades of the gap](rules.md#gap). The **proved score** counts a rule only when it passes and its evidence is there:
it is never above the declared one. A suppression in \`spec.compliance.suppressions\` takes its rule out of both, until the
end of the day \`expires\`.

Tiers:

${tiers}
An unexpired proof of a rule shows it whatever its tier, the rules of tier D excepted; \`EVAL-01\`'s shows every rule that asks
for an evaluation, and takes the issue \`evaluated\` out of the gap. Where checks show a rule, those that the manifest asks
for are there, and every check of that kind passes. Proofs are submitted to the sidecar or the control plane
([routes](routes.md)).

${PACKS.map(packSection).join('\n')}`;
}

function packSection(pack: Pack): string {
  const rows = RULES.filter((rule) => rule.pack === pack).map(rowOf);
  return `## ${pack}

${markdownTable(['Rule', 'Severity', 'Tier', 'Passes when', 'Shown by', 'When it does not pass', 'From'], rows)}`;
}

function rowOf({ id, severity, tier, passesWhen, evidence, recommendation, references }: Rule): string[] {
  return [
    `\`${id}\``,
    severity,
    tier,
    passesWhen,
    shownBy(evidence),
    recommendation,
    references.map((text) => text.replace('OWASP ', '')).join(', '),
  ];
}

function shownBy(evidence: EvidenceKind): string {
  switch (evidence.kind) {
    case 'check':
      return `checks \`${evidence.category}:\``;
    case 'guardrail':
      return 'one of these guardrails observed';
    case 'evaluation':
      return 'a submitted evaluation';
    case 'proof':
      return 'a proof';
    case 'none':
      return 'nothing';
  }
}
