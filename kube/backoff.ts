/** Doubling delay with full jitter: somewhere in 0..base·2^attempt, at most `max`. Milliseconds. */
export function fullJitter(
  attempt: number,
  range: { baseMs: number; maxMs: number },
  random = Math.random,
): number {
  return random() * Math.min(range.maxMs, range.baseMs * 2 ** Math.min(attempt, 30));
}

/** Doubling delay of which the upper half is random, so that it never comes near zero. Milliseconds. */
export function halfJitter(
  attempt: number,
  range: { baseMs: number; maxMs: number },
  random = Math.random,
): number {
  const full = Math.min(range.maxMs, range.baseMs * 2 ** Math.min(attempt, 30));
  return full / 2 + (random() * full) / 2;
}
