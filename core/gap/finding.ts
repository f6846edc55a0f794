import type { Severity } from '../shapes/values.ts';
import type { Issue } from '../shapes/gap.ts';
import type { Check } from '../shapes/health.ts';
import type { Facts } from '../facts/facts.ts';
import type { Manifest } from '../manifest/manifest.ts';
import type { AlignmentGap } from '../shapes/alignment.ts';

/** One difference between declared and observed, with the fields of both gap views. */
export interface Finding extends Omit<Issue, 'message'>, Omit<AlignmentGap, 'remediation'> {
  source?: 'policy';
  /** Declared, but the agent skips or omits its check. The points of all such findings together are limited. */
  isNotShown?: true;
}

/** What a rule finds. Default: the rule's own property and recommendation, nothing observed, and evidence level `probed`. */
export type RuleFinding = Omit<Finding, keyof Defaulted> & Partial<Defaulted>;
type Defaulted = Pick<Finding, 'property' | 'recommendation' | 'observed' | 'evidenceLevel'>;

/** The input of a rule. */
export interface RuleInput {
  manifest: Manifest;
  facts: Facts;
  /** The agent's checks by id; null in manifest-static mode. */
  agentChecks: ReadonlyMap<string, Check> | null;
}

/** One row of the gap table. */
export interface GapRule {
  /** The property, or its pattern when one row can find several properties. */
  property: string;
  /** The difference in a few words, for lists of rules. */
  title: string;
  /** What to do. Findings without a recommendation of their own use it. */
  recommendation: string;
  /** The condition for each severity that the row can find; source of docs/reference/rules.md. */
  when: Readonly<Partial<Record<Severity, string>>>;
  /** null: nothing is found. */
  find(input: RuleInput): readonly RuleFinding[] | RuleFinding | null;
}

/** Rows from a table by their properties. */
export const gapRules = (rules: Readonly<Record<string, Omit<GapRule, 'property'>>>): readonly GapRule[] =>
  Object.entries(rules).map(([property, rule]) => ({ property, ...rule }));

/** Points per issue; the score is 100 minus their sum, at least 0. */
export const POINTS: Readonly<Record<Severity, number>> = { critical: 30, high: 20, medium: 10, low: 5 };
