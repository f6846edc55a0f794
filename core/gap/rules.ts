import { cut } from '../untrusted/fields.ts';
import type { Facts } from '../facts/facts.ts';
import { check } from '../health/check.ts';
import { SEVERITIES, type ReportSource } from '../shapes/values.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { AGENT_RULES } from './agent-rules.ts';
import { BEHAVIOR_RULES } from './behavior-rules.ts';
import { EGRESS_GAP_RULES } from './egress-rules.ts';
import { ENDPOINT_RULES } from './endpoint-rules.ts';
import { type Finding, type GapRule, type RuleInput } from './finding.ts';
import { MANIFEST_RULES } from './manifest-rules.ts';
import { REPORTER_RULES } from './reporter-rules.ts';

/** UTF-16 units per text of a finding. Texts may contain strings from the agent. */
const MAX_TEXT = 500;

export function sourceOf(facts: Facts): ReportSource {
  return facts.agentReport === null ? 'manifest-static' : 'agent-sdk';
}

/** A finding, and the part of the table that its rule belongs to. */
export interface Found extends Finding {
  part: 'static' | 'agent' | 'behavior';
}

const PARTS: readonly [Found['part'], readonly GapRule[]][] = [
  ['static', [...MANIFEST_RULES, ...ENDPOINT_RULES, ...REPORTER_RULES]],
  ['agent', AGENT_RULES],
  ['behavior', [...BEHAVIOR_RULES, ...EGRESS_GAP_RULES]],
];

/** The gap table. */
export const GAP_RULES: readonly GapRule[] = PARTS.flatMap(([, rules]) => rules);

/** All findings, sorted by severity, highest first. Each property is listed once, with its worst severity. */
export function findingsOf(manifest: Manifest, facts: Facts): Found[] {
  const input: RuleInput = { manifest, facts, agentChecks: agentChecksOf(manifest, facts) };
  const byProperty = new Map<string, Found>();
  for (const [part, rules] of PARTS)
    for (const finding of rules.flatMap((rule) => findingsOfRule(rule, input))) {
      const known = byProperty.get(finding.property);
      if (known === undefined || rankOf(finding) < rankOf(known))
        byProperty.set(finding.property, { ...finding, part });
    }
  return [...byProperty.values()].sort((a, b) => rankOf(a) - rankOf(b)).map(withShortTexts);
}

function findingsOfRule(rule: GapRule, input: RuleInput): Finding[] {
  const found = [rule.find(input) ?? []].flat();
  const { property, recommendation } = rule;
  return found.map((each) => ({
    ...{ property, recommendation, observed: null, evidenceLevel: 'probed' },
    ...each,
  }));
}

function agentChecksOf(manifest: Manifest, facts: Facts): RuleInput['agentChecks'] {
  if (facts.agentReport === null) return null;
  return new Map(check(manifest, facts).checks.map((each) => [each.id, each]));
}

function rankOf(finding: Finding): number {
  return SEVERITIES.indexOf(finding.severity);
}

function withShortTexts(finding: Found): Found {
  return {
    ...finding,
    property: cut(finding.property, MAX_TEXT),
    description: cut(finding.description, MAX_TEXT),
    recommendation: cut(finding.recommendation, MAX_TEXT),
    declared: cut(finding.declared, MAX_TEXT),
    observed: finding.observed === null ? null : cut(finding.observed, MAX_TEXT),
  };
}
