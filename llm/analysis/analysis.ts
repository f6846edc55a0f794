import { cut } from '../../core/untrusted/fields.ts';

/** `llm` of `GET /gap`. */
export interface AnalysisState {
  /**
   * `off`: no usable key. `pending`: the analysis of this report has not ended yet. `ready`: the issues belong to this report.
   * `failed`: the last request failed. `budget`: today's limits do not allow another request.
   */
  status: 'off' | 'pending' | 'ready' | 'failed' | 'budget';
  /** The model of the analysis whose issues are shown; null: no analysis yet. */
  model: string | null;
  /** When this analysis ended, ISO 8601; earlier than the report if nothing that matters has changed since. */
  analysedAt: string | null;
  /** Why there is no current analysis. */
  reason: string | null;
}

/** Control, format and invisible characters become a space, and the text is cut. Empty: nothing in the text is visible. */
export function cleanText(text: string, max: number): string {
  const visible = text
    .slice(0, 4 * max)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ');
  return cut(visible.trim(), max);
}
