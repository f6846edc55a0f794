import type { AuditResult } from './audit.ts';
import type { JudgedSuppression } from './suppressions.ts';

/** An audit as a heartbeat carries it. */
export interface AuditSummary {
  /** Declared score, 0..100. */
  declared: number;
  /** Proved score, 0..100. */
  proved: number;
  /** Ids of the rules that do not pass as declared. */
  failed: string[];
  suppressions: JudgedSuppression[];
}

/** The summary of an audit that had evidence; without evidence nothing is proved. */
export function auditSummaryOf({ declared, proved, verdicts, suppressions }: AuditResult): AuditSummary {
  return {
    declared: declared.score,
    proved: proved?.score ?? 0,
    failed: verdicts.flatMap(({ rule, passed }) => (passed ? [] : [rule.id])),
    suppressions,
  };
}
