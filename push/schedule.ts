/** When the next heartbeat goes out. All values in milliseconds. */
export interface Pause {
  /** The beat is due after this long. */
  afterMs: number;
  /** A trigger may bring it forward to this. */
  earliestMs: number;
}

/** Triggers that come in a burst become one beat. */
const TRIGGER_GAP_MS = 1_000;
const FIRST_RETRY_MS = 1_000;
/** The control plane's longest interval; a larger Retry-After is not believed. */
const LONGEST_WAIT_MS = 3_600_000;
const SPREAD = 0.1;

/** Jitter only lengthens: an interval is a promise to the control plane's rate limit. `random` is in [0, 1). */
function lengthened(ms: number, random: number): number {
  return Math.round(ms * (1 + SPREAD * random));
}

export function pauseAfterSuccess(intervalMs: number, random: number): Pause {
  const afterMs = lengthened(intervalMs, random);
  return { afterMs, earliestMs: Math.min(TRIGGER_GAP_MS, afterMs) };
}

/**
 * Doubling from one second. The cap is one interval, so that an outage of the control plane heals within two.
 * A trigger does not shorten it.
 */
export function pauseAfterFailure(failures: number, intervalMs: number, random: number): Pause {
  const doubled = FIRST_RETRY_MS * 2 ** Math.min(Math.max(failures - 1, 0), 20);
  const afterMs = lengthened(Math.min(doubled, intervalMs), random);
  return { afterMs, earliestMs: afterMs };
}

/** What the server asked for. A trigger does not shorten it. */
export function pauseAfterLimit(retryAfterMs: number, random: number): Pause {
  const afterMs = lengthened(retryAfterMs, random);
  return { afterMs, earliestMs: afterMs };
}

/** Retry-After as milliseconds: seconds or an HTTP date; null where it is neither. */
export function parseRetryAfter(value: string | undefined, now: Date): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now.getTime();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), LONGEST_WAIT_MS);
}
