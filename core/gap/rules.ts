import { cut } from '../untrusted/fields.ts';
import type { Facts } from '../facts/facts.ts';
import { check } from '../health/check.ts';
import type { ReportSource } from '../health/health.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { AGENT_RULES } from './agent-rules.ts';
import { BEHAVIOR_RULES } from './behavior-rules.ts';
import { ENDPOINT_RULES } from './endpoint-rules.ts';
import { SEVERITIES, type Finding, type GapRule, type RuleInput } from './finding.ts';
import { MANIFEST_RULES } from './manifest-rules.ts';

/** The gap table. */
export const GAP_RULES: readonly GapRule[] = [
  ...MANIFEST_RULES,
  ...ENDPOINT_RULES,
  ...AGENT_RULES,
  ...BEHAVIOR_RULES,
];

/** Texts may carry what the agent said. */
const MAX_TEXT = 500;

export function sourceOf(facts: Facts): ReportSource {
  return facts.agentReport === null ? 'manifest-static' : 'agent-sdk';
}

/** What the whole table finds, each property once with its worst severity, the most severe first. */
export function findingsOf(manifest: Manifest, facts: Facts): Finding[] {
  const input: RuleInput = { manifest, facts, agentChecks: agentChecksOf(manifest, facts) };
  const byProperty = new Map<string, Finding>();
  for (const rule of GAP_RULES)
    for (const finding of rule.find(input)) {
      const known = byProperty.get(finding.property);
      if (known === undefined || rankOf(finding) < rankOf(known)) byProperty.set(finding.property, finding);
    }
  return [...byProperty.values()].sort((a, b) => rankOf(a) - rankOf(b)).map(withShortTexts);
}

function agentChecksOf(manifest: Manifest, facts: Facts): RuleInput['agentChecks'] {
  if (facts.agentReport === null) return null;
  return new Map(check(manifest, facts).checks.map((each) => [each.id, each]));
}

function rankOf(finding: Finding): number {
  return SEVERITIES.indexOf(finding.severity);
}

function withShortTexts(finding: Finding): Finding {
  return {
    ...finding,
    property: cut(finding.property, MAX_TEXT),
    description: cut(finding.description, MAX_TEXT),
    recommendation: cut(finding.recommendation, MAX_TEXT),
    declared: cut(finding.declared, MAX_TEXT),
    observed: finding.observed === null ? null : cut(finding.observed, MAX_TEXT),
  };
}
