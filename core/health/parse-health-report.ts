import {
  INVALID,
  isoTime,
  isRecord,
  list,
  number,
  object,
  oneOf,
  own,
  parseWith,
  text,
  withDefault,
  type Field,
} from '../untrusted/fields.ts';
import type { Check, CheckCategory, CheckSeverity, HealthReport } from './health.ts';
import { categoryOf, healthStatusOf, summaryOf } from './summarize.ts';

/** Bounds of what an agent may say of itself: more checks are left out, longer texts cut. */
const MAX_CHECKS = 1000;
const MAX_TEXT = 500;

const words = text({ max: MAX_TEXT, cut: true });
const severity = withDefault<CheckSeverity>(oneOf(['error', 'warning', 'info']), 'info');

const members = object<
  Pick<Check, 'id' | 'status' | 'severity'>,
  { latencyMs: number; message: string; remediation: string }
>(
  { id: words, status: oneOf(['pass', 'fail', 'skip']), severity },
  { latencyMs: number({ min: 0, max: 1e9 }), message: words, remediation: words },
);

/** A check; null when its id names no kind of check that is known here (a newer sender may have more). */
const check: Field<Check | null> = (value, path, errors) => {
  const parsed = members(value, path, errors);
  if (parsed === INVALID) return INVALID;
  const category: CheckCategory | null = categoryOf(parsed.id);
  return category === null ? null : { ...parsed, category };
};

/** A list of checks as anybody may send it. */
export const checkList: Field<Check[]> = (value, path, errors) => {
  const parsed = list(check, { max: MAX_CHECKS, cut: true })(value, path, errors);
  return parsed === INVALID ? INVALID : parsed.filter((each) => each !== null);
};

const report = object({ agentName: words, timestamp: isoTime, checks: checkList });

/**
 * Reads what the agent's `GET /platform/health` answered; null when it is no HealthReport. Summary and status are
 * computed from the checks: what the agent concludes from them is not taken over.
 */
export function parseHealthReport(value: unknown): HealthReport | null {
  if (!isRecord(value) || typeof own(value, 'status') !== 'string') return null;
  const parsed = parseWith(report, value);
  if (!parsed.ok) return null;
  const { checks } = parsed.value;
  return { ...parsed.value, status: healthStatusOf(checks), summary: summaryOf(checks) };
}
