import { WORST_FIRST } from '../../core/facts/check.ts';
import type { CheckSeverity } from '../../core/shapes/values.ts';
import type { Check } from '../../core/shapes/health.ts';

const SEVERITIES: readonly CheckSeverity[] = ['error', 'warning', 'info'];

/** Failed checks first, then skipped, then passed; within them by severity and id. */
export function sortChecks(checks: readonly Check[]): Check[] {
  return [...checks].sort(
    (a, b) =>
      WORST_FIRST.indexOf(a.status) - WORST_FIRST.indexOf(b.status) ||
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
      (a.id < b.id ? -1 : 1),
  );
}
