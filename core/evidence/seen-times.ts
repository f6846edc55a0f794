import { EVIDENCE_MS } from '../facts/sightings.ts';

/** Maximum number of keys; about 2 MB at 500 characters each. */
const MAX_KEYS = 2000;
/** Sightings of one key within this time count as one, in milliseconds. */
const RESOLUTION_MS = 1000;

/**
 * When each item was last seen, for the last 24 hours. The audit ring overwrites old entries; these times are kept until
 * the process ends. Above the maximum number of keys, the key that was seen the longest time ago is removed.
 */
export class SeenTimes {
  readonly #now: () => Date;
  /** Key -> epoch milliseconds, oldest first. */
  readonly #times = new Map<string, number>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  note(keys: Iterable<string>, now = this.#now()): void {
    const nowMs = now.getTime();
    for (const key of keys) {
      const known = this.#times.get(key);
      if (known !== undefined && Math.abs(nowMs - known) < RESOLUTION_MS) continue;
      this.#times.delete(key);
      this.#times.set(key, nowMs);
    }
    for (const [oldest, ms] of this.#times) {
      if (this.#times.size <= MAX_KEYS && nowMs - ms < EVIDENCE_MS) return;
      this.#times.delete(oldest);
    }
  }

  /** Key -> epoch milliseconds. */
  get times(): ReadonlyMap<string, number> {
    return this.#times;
  }
}
