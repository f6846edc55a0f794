import { EVIDENCE_MS } from './sightings.ts';

/** Keys that are kept; at 500 characters each about 2 MB. */
const MAX_KEYS = 2000;
/** Sightings of one key within this time are one, in milliseconds. */
const RESOLUTION_MS = 1000;

/**
 * When each item was last seen, in the last 24 hours. The audit ring forgets an entry as soon as enough others have come;
 * these times stay until the process ends. Beyond the bound the key that was not seen for longest is removed.
 */
export class SeenTimes {
  readonly #now: () => Date;
  /** Milliseconds of the epoch by key, oldest first. */
  readonly #times = new Map<string, number>();

  constructor(now: () => Date) {
    this.#now = now;
  }

  note(keys: Iterable<string>): void {
    const nowMs = this.#now().getTime();
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

  /** Milliseconds of the epoch by key. */
  get times(): ReadonlyMap<string, number> {
    return this.#times;
  }
}
