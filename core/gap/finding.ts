import type { Facts } from '../facts/facts.ts';
import type { Check } from '../health/health.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { AlignmentGap, Severity } from './gap.ts';

/** One difference between declared and observed, in all that either view of the gap says about it. */
export interface Finding {
  severity: Severity;
  property: string;
  description: string;
  recommendation: string;
  source?: 'policy';
  /** It is declared, and the agent skips its check or leaves it out: such findings cost little together. */
  isNotShown?: true;
  /** Manifest path of what was declared. */
  field: string;
  declared: string;
  observed: string | null;
  evidenceLevel: AlignmentGap['evidenceLevel'];
}

/** What a rule looks at. */
export interface RuleInput {
  manifest: Manifest;
  facts: Facts;
  /** The agent's checks by id; null in manifest-static mode. */
  agentChecks: ReadonlyMap<string, Check> | null;
}

/** One row of the gap table. */
export interface GapRule {
  /** The property, or its form where one row yields several. */
  property: string;
  /** For each severity that the row can find, when it does: docs/reference/rules.md. */
  when: Readonly<Partial<Record<Severity, string>>>;
  find(input: RuleInput): Finding[];
}

/** Points that an issue costs; the score is 100 minus their sum, at least 0. */
export const POINTS: Readonly<Record<Severity, number>> = { critical: 30, high: 20, medium: 10, low: 5 };

export const SEVERITIES: readonly Severity[] = ['critical', 'high', 'medium', 'low'];
