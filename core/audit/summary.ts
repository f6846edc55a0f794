import type { AuditSummary } from '../shapes/audit.ts';
import type { AuditResult } from './audit.ts';

/** Summarizes an audit that had evidence; without evidence the proved score is 0. */
export function auditSummaryOf({ declared, proved, results, suppressions }: AuditResult): AuditSummary {
  return {
    declared: declared.score,
    proved: proved?.score ?? 0,
    failed: results.flatMap(({ rule, passed }) => (passed ? [] : [rule.id])),
    suppressions,
  };
}
