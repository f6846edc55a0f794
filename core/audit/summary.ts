import type { AuditResult } from './audit.ts';
import type { EvaluatedSuppression } from './suppressions.ts';

/** The summary of an audit in a heartbeat. */
export interface AuditSummary {
  /** Declared score, 0..100. */
  declared: number;
  /** Proved score, 0..100. */
  proved: number;
  /** Ids of the violated rules. */
  failed: string[];
  suppressions: EvaluatedSuppression[];
}

/** Summarizes an audit that had evidence; without evidence the proved score is 0. */
export function auditSummaryOf({ declared, proved, results, suppressions }: AuditResult): AuditSummary {
  return {
    declared: declared.score,
    proved: proved?.score ?? 0,
    failed: results.flatMap(({ rule, passed }) => (passed ? [] : [rule.id])),
    suppressions,
  };
}
