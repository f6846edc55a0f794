import type { Issue } from '../shapes/gap.ts';
import type { Severity } from '../policy/policy-rule.ts';

/** False for an issue of the LLM analysis, which must not change a score, a condition or a place in a list with a limit. */
export const isVerified = ({ source }: Pick<Issue, 'source'>): boolean => source !== 'llm';

/** `GET /gap?view=alignment`, shape B. */
export interface AlignmentReport {
  gaps: AlignmentGap[];
  summary: { total: number; critical: number; high: number };
}

export interface AlignmentGap {
  /** Manifest path, such as `spec.tools[0].name`. */
  field: string;
  declared: string;
  /** Only of issues about outgoing calls; null: the agent reports nothing. */
  reported?: string | null;
  observed: string | null;
  severity: Severity;
  evidenceLevel: 'declared' | 'probed' | 'behavioral';
  remediation: string;
}
