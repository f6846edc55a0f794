/** Exponential backoff with full jitter: a random delay in 0..base·2^attempt, capped at `max`. Milliseconds. */
export function fullJitter(
  attempt: number,
  range: { baseMs: number; maxMs: number },
  random = Math.random,
): number {
  return random() * Math.min(range.maxMs, range.baseMs * 2 ** Math.min(attempt, 30));
}

/** Exponential backoff whose upper half is random, so the delay is never close to zero. Milliseconds. */
export function halfJitter(
  attempt: number,
  range: { baseMs: number; maxMs: number },
  random = Math.random,
): number {
  const full = Math.min(range.maxMs, range.baseMs * 2 ** Math.min(attempt, 30));
  return full / 2 + (random() * full) / 2;
}
