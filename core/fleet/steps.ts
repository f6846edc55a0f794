import type { HistoryStep } from '../shapes/history.ts';

/** A step with roll-ups. */
export type RollupStep = Exclude<HistoryStep, 'heartbeat'>;

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Length of a step in milliseconds. */
export const STEP_MS: Readonly<Record<RollupStep, number>> = { hour: HOUR_MS, day: DAY_MS };

/** The start of the UTC hour or day. Every day in UTC has 24 hours, and the epoch is the start of a day. */
export function startOf(step: RollupStep, at: Date): Date {
  return new Date(Math.floor(at.getTime() / STEP_MS[step]) * STEP_MS[step]);
}

/** Maximum number of points in one response. */
export const MAX_POINTS = 10_000;

/** Times before this one have another format. */
const EARLIEST_MS = Date.parse('0000-01-01T00:00:00.000Z');

/** Range of a query without `from`, in milliseconds; null: everything. */
const DEFAULT_RANGE_MS: Readonly<Record<HistoryStep, number | null>> = {
  heartbeat: null,
  hour: DAY_MS,
  day: 30 * DAY_MS,
};

export type Range = { ok: true; from: Date; to: Date } | { ok: false; path: 'from' | 'to'; message: string };

/**
 * The range of a query. `from` is rounded down to the start of its hour or day, so that the first point is complete. Without
 * `to` the range contains the current millisecond.
 */
export function rangeOf(step: HistoryStep, given: { from?: Date; to?: Date }, now: Date): Range {
  const to = given.to ?? new Date(now.getTime() + 1);
  const start = given.from ?? defaultStart(step, to);
  if (start.getTime() >= to.getTime()) return emptyRange(start, to, given.from === undefined);
  // The store bounds the number of heartbeats.
  if (step === 'heartbeat') return { ok: true, from: start, to };
  const from = startOf(step, start);
  const points = Math.ceil((to.getTime() - from.getTime()) / STEP_MS[step]);
  return points <= MAX_POINTS
    ? { ok: true, from, to }
    : { ok: false, path: 'from', message: tooMany(points, step) };
}

function tooMany(points: number, step: RollupStep): string {
  const advice = step === 'hour' ? 'use a shorter range, or step=day' : 'use a shorter range';
  return `the range has ${points} points of one ${step}, and the maximum is ${MAX_POINTS}; ${advice}`;
}

function defaultStart(step: HistoryStep, to: Date): Date {
  const rangeMs = DEFAULT_RANGE_MS[step];
  return new Date(rangeMs === null ? 0 : Math.max(EARLIEST_MS, to.getTime() - rangeMs));
}

function emptyRange(from: Date, to: Date, isDefault: boolean): Range {
  return isDefault
    ? { ok: false, path: 'to', message: `is not after ${from.toISOString()}, the start of the range` }
    : { ok: false, path: 'from', message: `is not before ${to.toISOString()}, the end of the range` };
}
