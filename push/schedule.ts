/** When the next heartbeat goes out. All values in milliseconds. */
export interface Pause {
  /** The heartbeat is due after this time. */
  afterMs: number;
  /** A trigger may send the heartbeat as early as this. */
  earliestMs: number;
}

/** Several triggers within this time cause one heartbeat. */
const TRIGGER_GAP_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
/** The control plane's longest interval; a larger Retry-After is reduced to this. */
const LONGEST_WAIT_MS = 3_600_000;
const SPREAD = 0.1;

/** Jitter only lengthens, because a shorter interval could exceed the control plane's rate limit. `random` is in [0, 1). */
function lengthened(ms: number, random: number): number {
  return Math.round(ms * (1 + SPREAD * random));
}

export function pauseAfterSuccess(intervalMs: number, random: number): Pause {
  const afterMs = lengthened(intervalMs, random);
  return { afterMs, earliestMs: Math.min(TRIGGER_GAP_MS, afterMs) };
}

/**
 * Doubles from one second up to one interval, so that heartbeats recover within two intervals after an outage. A trigger
 * does not shorten the pause.
 */
export function pauseAfterFailure(failures: number, intervalMs: number, random: number): Pause {
  const doubled = FIRST_RETRY_MS * 2 ** Math.min(Math.max(failures - 1, 0), 20);
  const afterMs = lengthened(Math.min(doubled, intervalMs), random);
  return { afterMs, earliestMs: afterMs };
}

/** The pause that the server requested. A trigger does not shorten the pause. */
export function pauseAfterLimit(retryAfterMs: number, random: number): Pause {
  const afterMs = lengthened(retryAfterMs, random);
  return { afterMs, earliestMs: afterMs };
}

/** Retry-After (seconds or an HTTP date) in milliseconds; null for any other value. */
export function parseRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now.getTime();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), LONGEST_WAIT_MS);
}
