import type { Grade } from '../shapes/values.ts';
import type { ReportSource } from '../health/health.ts';
import type { Severity } from '../policy/policy-rule.ts';

/** One difference between declared and observed (`GET /gap`, shape A). */
export interface Issue {
  severity: Severity;
  /** `healthcheckable`, `model.apiKey`, `guardrails.input.pii-detector`, `policy.<reason>`, ... */
  property: string;
  description: string;
  recommendation: string;
  /** Only on issues from the policy engine; same text as `description`. */
  message?: string;
  /** `policy`: from the policy engine. `llm`: from the LLM analysis, without points. */
  source?: 'policy' | 'llm';
}

/** False for an issue of the LLM analysis, which must not change a score, a condition or a place in a list with a limit. */
export const isVerified = ({ source }: Pick<Issue, 'source'>): boolean => source !== 'llm';

export interface GapReport {
  /** 0..100 */
  score: number;
  grade: Grade;
  source: ReportSource;
  issues: Issue[];
}

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
