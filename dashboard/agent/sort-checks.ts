import { WORST_FIRST } from '../../core/facts/check.ts';
import { CHECK_SEVERITIES } from '../../core/shapes/values.ts';
import type { Check } from '../../core/shapes/health.ts';

/** Failed checks first, then skipped, then passed; within them by severity and id. */
export function sortChecks(checks: readonly Check[]): Check[] {
  return [...checks].sort(
    (a, b) =>
      WORST_FIRST.indexOf(a.status) - WORST_FIRST.indexOf(b.status) ||
      CHECK_SEVERITIES.indexOf(a.severity) - CHECK_SEVERITIES.indexOf(b.severity) ||
      (a.id < b.id ? -1 : 1),
  );
}
