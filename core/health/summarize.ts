import { CATEGORY_SEVERITIES, type CheckCategory, type CheckSeverity } from '../shapes/values.ts';
import { type HealthStatus, type HealthSummary, type Check, categoryOf } from '../shapes/health.ts';

/**
 * Counts every check in exactly one of the four numbers. `failed`: failures with severity error, which make the report
 * unhealthy. `warnings`: failures with severity warning or info.
 */
export function summaryOf(checks: readonly Check[]): HealthSummary {
  const count = (matches: (check: Check) => boolean): number => checks.filter(matches).length;
  return {
    passed: count((check) => check.status === 'pass'),
    failed: count((check) => check.status === 'fail' && check.severity === 'error'),
    warnings: count((check) => check.status === 'fail' && check.severity !== 'error'),
    skipped: count((check) => check.status === 'skip'),
  };
}

export function healthStatusOf(checks: readonly Check[]): HealthStatus {
  const hasFailed = (severity: CheckSeverity): boolean =>
    checks.some((check) => check.status === 'fail' && check.severity === severity);
  if (hasFailed('error')) return 'unhealthy';
  return hasFailed('warning') ? 'degraded' : 'healthy';
}

/** The severity of a check from any sender; a service that the manifest declares critical has severity error. */
export function severityOf(
  check: { id: string; category: CheckCategory },
  criticalServices: ReadonlySet<string>,
): CheckSeverity {
  return criticalServices.has(check.id)
    ? 'error'
    : CATEGORY_SEVERITIES[categoryOf(check.id) ?? check.category];
}
