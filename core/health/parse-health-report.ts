import {
  fail,
  INVALID,
  isoTime,
  list,
  number,
  object,
  oneOf,
  parseWith,
  text,
  withDefault,
  type Field,
  type Parsed,
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

/** Any text: the verdict is computed from the checks. */
const status: Field<string> = (value, path, errors) =>
  typeof value === 'string' ? value : fail(errors, path, 'must be a string');

const report = object({ agentName: words, timestamp: isoTime, status, checks: checkList });

/** Reads a HealthReport. Summary and status are computed from the checks: the sender's own are not used. */
export function readHealthReport(value: unknown): Parsed<HealthReport> {
  const parsed = parseWith(report, value);
  if (!parsed.ok) return parsed;
  const { checks } = parsed.value;
  return {
    ok: true,
    value: { ...parsed.value, status: healthStatusOf(checks), summary: summaryOf(checks) },
  };
}

/** As `readHealthReport`; null: it is not a valid HealthReport. */
export function parseHealthReport(value: unknown): HealthReport | null {
  const parsed = readHealthReport(value);
  return parsed.ok ? parsed.value : null;
}
