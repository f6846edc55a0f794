import type { Manifest, Suppression } from '../manifest/manifest.ts';
import type { Rule } from './rule.ts';
import { isRuleId } from './rules.ts';

/** What a suppression does to this audit. */
export type SuppressionState =
  /** The rule is left out of the score. */
  | 'active'
  /** Its time is over: the rule counts again. */
  | 'expired'
  /** Its end is a reference, which an audit does not resolve: the rule counts. */
  | 'unreadable'
  /** The rule is in none of the audited packs. */
  | 'outside'
  /** There is no such rule. */
  | 'unknown';

export const SUPPRESSION_STATES: readonly SuppressionState[] = [
  'active',
  'expired',
  'unreadable',
  'outside',
  'unknown',
];

export interface JudgedSuppression extends Suppression {
  state: SuppressionState;
}

/** Every suppression of the manifest, in its order, and what it does to an audit of `audited` at `at`. */
export function judgeSuppressions(
  manifest: Manifest,
  audited: readonly Rule[],
  at: Date,
): JudgedSuppression[] {
  return (manifest.spec.compliance?.suppressions ?? []).map(({ rule, reason, approvedBy, expires }) => ({
    rule,
    reason,
    ...(approvedBy === undefined ? {} : { approvedBy }),
    ...(expires === undefined ? {} : { expires }),
    state: stateOf({ rule, expires }, audited, at),
  }));
}

function stateOf(
  { rule, expires }: { rule: string; expires: string | undefined },
  audited: readonly Rule[],
  at: Date,
): SuppressionState {
  if (!isRuleId(rule)) return 'unknown';
  if (!audited.some(({ id }) => id === rule)) return 'outside';
  if (expires === undefined) return 'active';
  const end = endOf(expires);
  if (Number.isNaN(end)) return 'unreadable';
  return end <= at.getTime() ? 'expired' : 'active';
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The moment from which the rule counts again: a day counts to its end in UTC, a time as it stands. NaN: it is neither. */
function endOf(expires: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(expires);
  return isDay ? Date.parse(`${expires}T00:00:00Z`) + DAY_MS : Date.parse(expires);
}
