import { addTokens, NO_TOKENS } from './token-counts.ts';
import type { TokenCounts, ModelCall } from '../shapes/request-usage.ts';
import type { ModelPrice } from '../manifest/manifest.ts';
import { costOf } from './cost.ts';
import type { UsageTotals } from '../shapes/usage.ts';

/** Token usage of one instance on one UTC day. */
export interface DayTotals extends TokenCounts {
  /** UTC day, YYYY-MM-DD. */
  day: string;
}

/** The manifest's `model.costControls.usdPerMillionTokens`. */
export type TokenPrice = Pick<ModelPrice, 'input' | 'output'>;

const DAY_MS = 86_400_000;

/** Cached because `dayOf` is called several times per request, almost always for the same day. */
let lastDay = { index: NaN, text: '' };

/** The UTC day of an instant, YYYY-MM-DD. */
export function dayOf(at: Date): string {
  const index = Math.floor(at.getTime() / DAY_MS);
  if (index !== lastDay.index) lastDay = { index, text: at.toISOString().slice(0, 10) };
  return lastDay.text;
}

export function emptyDay(at: Date): DayTotals {
  return { day: dayOf(at), ...NO_TOKENS };
}

/** Adds calls that ended at `at`. The first call of a new UTC day starts from zero. */
export function addToDay(totals: DayTotals, calls: readonly ModelCall[], at: Date): DayTotals {
  const sum = totals.day === dayOf(at) ? { ...totals } : emptyDay(at);
  for (const call of calls) addTokens(sum, call);
  return sum;
}

/** The totals of the UTC day of `at`. Without a price the cost is unknown and therefore absent. */
export function totalsToday(totals: DayTotals, at: Date, price?: TokenPrice): UsageTotals {
  const today = totals.day === dayOf(at) ? totals : emptyDay(at);
  const tokensToday = today.totalTokens;
  if (price === undefined) return { tokensToday };
  return { tokensToday, costTodayUsd: costOf(today, price) };
}
