import type { SuppressionState } from '../shapes/values.ts';
import type { EvaluatedSuppression } from '../shapes/audit.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { present } from '../untrusted/present.ts';
import type { Rule } from './rule.ts';
import { isRuleId } from './rules.ts';

/** The effect of a suppression on this audit. */
/** All suppressions of the manifest, in its order, each with its effect on an audit of `audited` at `at`. */
export function judgeSuppressions(
  manifest: Manifest,
  audited: readonly Rule[],
  at: Date,
): EvaluatedSuppression[] {
  return (manifest.spec.compliance?.suppressions ?? []).map(({ rule, reason, approvedBy, expires }) => ({
    ...present({ rule, reason, approvedBy, expires }),
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

/** The time (epoch ms) from which the rule counts again: for a day, the end of that day in UTC. NaN: not a day or a time. */
function endOf(expires: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(expires);
  return isDay ? Date.parse(`${expires}T00:00:00Z`) + DAY_MS : Date.parse(expires);
}
