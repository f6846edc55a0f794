import type { Check, CheckCategory, CheckSeverity } from '../facts/check.ts';
import {
  described,
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
import type { HealthReport } from './health.ts';
import { categoryOf, healthStatusOf, summaryOf } from './summarize.ts';

/** Bounds of a report: additional checks are dropped, longer texts are cut. */
const MAX_CHECKS = 1000;
const MAX_TEXT = 500;

const shortText = text({ max: MAX_TEXT, cut: true });
const severity = withDefault<CheckSeverity>(oneOf(['error', 'warning', 'info']), 'info');

const members: Field<Omit<Check, 'category'>> = object(
  { id: shortText, status: oneOf(['pass', 'fail', 'skip']), severity },
  { latencyMs: number({ min: 0, max: 1e9 }), message: shortText, remediation: shortText },
);

/** A check; null if the category of its id is unknown, because a newer sender may have additional categories. */
const check: Field<Check | null> = described(members.schema, (value, path, errors) => {
  const parsed = members(value, path, errors);
  if (parsed === INVALID) return INVALID;
  const category: CheckCategory | null = categoryOf(parsed.id);
  return category === null ? null : { ...parsed, category };
});

const anyChecks = list(check, { max: MAX_CHECKS, cut: true });

/** A list of checks from an untrusted sender. */
export const checkList: Field<Check[]> = described(anyChecks.schema, (value, path, errors) => {
  const parsed = anyChecks(value, path, errors);
  return parsed === INVALID ? INVALID : parsed.filter((each) => each !== null);
});

/** Any string, because the status is computed from the checks. */
const status: Field<string> = described({ type: 'string' }, (value, path, errors) =>
  typeof value === 'string' ? value : fail(errors, path, 'must be a string'),
);

/** A HealthReport, without the members that are computed. */
export const healthReport = object({ agentName: shortText, timestamp: isoTime, status, checks: checkList });

/** Parses a HealthReport. Summary and status are computed from the checks; the sender's values are ignored. */
export function readHealthReport(value: unknown): Parsed<HealthReport> {
  const parsed = parseWith(healthReport, value);
  if (!parsed.ok) return parsed;
  const { checks } = parsed.value;
  return {
    ok: true,
    value: { ...parsed.value, status: healthStatusOf(checks), summary: summaryOf(checks) },
  };
}

/** Like `readHealthReport`; null: not a valid HealthReport. */
export function parseHealthReport(value: unknown): HealthReport | null {
  const parsed = readHealthReport(value);
  return parsed.ok ? parsed.value : null;
}
