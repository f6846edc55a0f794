import { INVALID } from '../untrusted/fields.ts';
import { amount, count, cutText } from './common.ts';
import { isoTime, mapped, oneOf, text, withDefault } from './field.ts';
import { computed, list, namedObject, object, type TypeOf } from './object.ts';
import { CATEGORY_SEVERITIES, CHECK_SEVERITIES, type CheckCategory } from './values.ts';

/** The category of a check id, which is its prefix; null: unknown prefix. */
export function categoryOf(id: string): CheckCategory | null {
  const prefix = id.slice(0, Math.max(id.indexOf(':'), 0));
  // The sidecar's check of the agent's own port.
  if (prefix === 'agent') return 'service';
  return Object.hasOwn(CATEGORY_SEVERITIES, prefix) ? (prefix as CheckCategory) : null;
}

export const check = namedObject('Check', 'One health check.', {
  id: cutText(
    '`env:<VAR>`, `model:<provider>/<id>`, `service:<name>`, `tool:<name>`, `memory:<role>`, `mcp:<name>`, `file:<path>`, `secret:<name>`, `tracing:<backend>`, `agent:upstream`.',
  ),
  // A newer sender may have more categories.
  category: computed(
    oneOf('The kind of the check.', Object.keys(CATEGORY_SEVERITIES) as CheckCategory[]),
    ({ id }: { id: string }) => categoryOf(id) ?? INVALID,
  ),
  status: oneOf('The result; skip means that the check could not run.', ['pass', 'fail', 'skip']),
  severity: withDefault(oneOf('Default: `info`.', CHECK_SEVERITIES), 'info'),
  'latencyMs?': amount('Response time in milliseconds.', 1e9),
  'message?': cutText('Why the check failed or was skipped.'),
  'remediation?': cutText('What to do about it.'),
});
export interface Check extends TypeOf<typeof check> {}

export const checks = list('The checks. A check with an unknown kind of id is dropped.', check, {
  max: 1_000,
  cut: true,
});

export const healthSummary = namedObject('HealthSummary', 'Number of health checks by result.', {
  passed: count('Checks that passed.'),
  failed: count('Checks that failed with severity error.'),
  warnings: count('Checks that failed with a lower severity.'),
  skipped: count('Checks that could not run.'),
});
export interface HealthSummary extends TypeOf<typeof healthSummary> {}

export const healthStatus = oneOf('Health of the agent.', ['healthy', 'degraded', 'unhealthy']);
export type HealthStatus = TypeOf<typeof healthStatus>;

export const reportMembers = {
  agentName: cutText('`metadata.name` of the manifest.'),
  timestamp: isoTime('Time of the checks.'),
};

export const healthReport = object('The health report.', {
  ...reportMembers,
  status: healthStatus,
  summary: healthSummary,
  checks,
});

/** The HealthReport of the contract. */
export interface HealthReport extends TypeOf<typeof healthReport> {}

/** The agent's own report. Its receiver computes the status and the summary. */
export const ownHealthReport = object('The health report of an agent.', {
  ...reportMembers,
  status: text('The receiver of a health report computes the status from the checks.'),
  checks,
});

/** The equivalent of a readiness status. */
const STATUS: Readonly<Record<string, HealthStatus>> = { ready: 'healthy', 'not-ready': 'unhealthy' };

/** `health` of a heartbeat. */
export const sentHealth = object('The health report.', {
  status: mapped(
    oneOf('Health of the agent.', ['healthy', 'degraded', 'unhealthy', 'ready', 'not-ready']),
    healthStatus,
    (status): HealthStatus => STATUS[status] ?? (status as HealthStatus),
  ),
  checks,
  'agentName?': cutText('The name of the credential is used instead.'),
  'timestamp?': isoTime('Time of the checks. Default: `sentAt`, else the time of arrival.'),
  'summary?': object('Default: computed from the checks.', healthSummary.members),
});
