import type { SuppressionState } from '../shapes/values.ts';
import type { EvaluatedSuppression } from '../shapes/audit.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { present } from '../untrusted/present.ts';
import type { Rule } from './rule.ts';
import { isRuleId } from './rules.ts';

/** Whether a suppression of this state excludes its rule from the scores. */
export const excludesRule = (state: SuppressionState): boolean => state === 'active' || state === 'unused';

/** All suppressions of the manifest, in its order, each with its effect on an audit of `audited` at `at`. */
export function judgeSuppressions(
  manifest: Manifest,
  audited: readonly Rule[],
  at: Date,
): EvaluatedSuppression[] {
  return (manifest.spec.compliance?.suppressions ?? []).map(({ rule, reason, approvedBy, expires }) => ({
    ...present({ rule, reason, approvedBy, expires }),
    state: stateOf({ rule, expires }, { manifest, audited, at }),
  }));
}

function stateOf(
  { rule, expires }: { rule: string; expires: string | undefined },
  { manifest, audited, at }: { manifest: Manifest; audited: readonly Rule[]; at: Date },
): SuppressionState {
  if (!isRuleId(rule)) return 'unknown';
  const found = audited.find(({ id }) => id === rule);
  if (found === undefined) return 'outside';
  const end = expires === undefined ? Infinity : endOf(expires);
  if (Number.isNaN(end)) return 'unreadable';
  if (end <= at.getTime()) return 'expired';
  return found.violatedAt(manifest) === null ? 'unused' : 'active';
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The time (epoch ms) from which the rule counts again: for a day, the end of that day in UTC. NaN: not a day or a time. */
function endOf(expires: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(expires);
  return isDay ? Date.parse(`${expires}T00:00:00Z`) + DAY_MS : Date.parse(expires);
}
