import { DAY_MS } from '../../core/fleet/steps.ts';

/** Whole UTC days. */
export interface EvidenceRange {
  /** ISO 8601, inclusive. */
  from: string;
  /** ISO 8601, exclusive. */
  to: string;
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The start of a UTC day in epoch milliseconds; null: the text is not a day (YYYY-MM-DD). */
export function dayOf(text: string): number | null {
  const at = DAY.test(text) ? Date.parse(`${text}T00:00:00.000Z`) : Number.NaN;
  // Some engines accept February 30th as a day of March.
  return Number.isNaN(at) || !new Date(at).toISOString().startsWith(text) ? null : at;
}

/** The range of two days, both inclusive, in epoch milliseconds. */
export const rangeOfDays = (from: number, to: number): EvidenceRange => ({
  from: new Date(from).toISOString(),
  to: new Date(to + DAY_MS).toISOString(),
});

export const isBetween = ({ from, to }: EvidenceRange, at: number): boolean =>
  at >= Date.parse(from) && at < Date.parse(to);

/** The last day of a range. */
export const lastDayOf = ({ to }: EvidenceRange): string =>
  new Date(Date.parse(to) - DAY_MS).toISOString().slice(0, 10);
