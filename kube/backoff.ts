/** Milliseconds. */
interface Range {
  baseMs: number;
  maxMs: number;
}

const exponential = (attempt: number, { baseMs, maxMs }: Range): number =>
  Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30));

/** Exponential backoff with full jitter: a random delay in 0..base·2^attempt, capped at `max`. Milliseconds. */
export const fullJitter = (attempt: number, range: Range): number =>
  Math.random() * exponential(attempt, range);

/** Exponential backoff whose upper half is random, so the delay is never close to zero. Milliseconds. */
export const halfJitter = (attempt: number, range: Range): number =>
  ((1 + Math.random()) / 2) * exponential(attempt, range);
