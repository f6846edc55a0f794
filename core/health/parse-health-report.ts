import { parseWith, type Parsed } from '../shapes/field.ts';
import { ownHealthReport, type HealthReport } from '../shapes/health.ts';
import { healthStatusOf, summaryOf } from './summarize.ts';

/** Parses a HealthReport. Summary and status are computed from the checks; the sender's values are ignored. */
export function readHealthReport(value: unknown): Parsed<HealthReport> {
  const parsed = parseWith(ownHealthReport, value);
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
