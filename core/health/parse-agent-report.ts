import type { InvalidReport } from '../facts/facts.ts';
import type { HealthReport } from '../shapes/health.ts';
import { readHealthReport } from './parse-health-report.ts';

/** Allowed difference between the report's timestamp and the clock of this process, in seconds. */
const MAX_AGE_SECONDS = 120;
const MAX_AHEAD_SECONDS = 60;

/** The values that a report of this agent must match. */
export interface ExpectedReport {
  agentName: string;
  at: Date;
}

type ParsedReport = { ok: true; report: HealthReport } | { ok: false; invalid: InvalidReport };

/** Parses the JSON of the agent's `GET /platform/health`. Rejects a report of another agent or with a wrong time. */
export function parseAgentReport(value: unknown, expected: ExpectedReport): ParsedReport {
  const parsed = readHealthReport(value);
  if (!parsed.ok) {
    const [first] = parsed.errors;
    return invalid(first?.path ?? '', first?.message ?? 'is not valid');
  }
  const { agentName, timestamp } = parsed.value;
  if (agentName !== expected.agentName) return invalid('agentName', `must be ${expected.agentName}`);
  const ageSeconds = (expected.at.getTime() - Date.parse(timestamp)) / 1000;
  if (ageSeconds > MAX_AGE_SECONDS)
    return invalid('timestamp', `must not be more than ${MAX_AGE_SECONDS} s old`);
  if (-ageSeconds > MAX_AHEAD_SECONDS)
    return invalid('timestamp', `must not be more than ${MAX_AHEAD_SECONDS} s ahead`);
  return { ok: true, report: parsed.value };
}

const invalid = (field: string, reason: string): ParsedReport => ({ ok: false, invalid: { field, reason } });

/** The field and the reason as text. */
export function invalidReportText({ field, reason }: InvalidReport): string {
  return `${field === '' ? 'the response' : field} ${reason}`;
}
