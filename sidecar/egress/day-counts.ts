import type { Clock } from '../../runtime/clock.ts';

const HOUR_MS = 3_600_000;
const HOURS = 24;
/** Different keys of one hour. Further ones count together, so that invented names cannot fill the memory. */
const MAX_KEYS = 500;
const OTHER = '(other)';

/** Counts by key in the last 24 hours, by the hour. */
export class DayCounts {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #hours = new Map<number, Map<string, number>>();
  #latest: { number: number; counts: Map<string, number> } | null = null;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  add(key: string): void {
    const hour = this.#countsNow();
    const known = hour.has(key) || hour.size < MAX_KEYS ? key : OTHER;
    hour.set(known, (hour.get(known) ?? 0) + 1);
  }

  addAll(keys: Iterable<string>): void {
    for (const key of keys) this.add(key);
  }

  #countsNow(): Map<string, number> {
    const number = this.#hour();
    if (this.#latest?.number === number) return this.#latest.counts;
    this.#forgetOld(number);
    const counts = this.#hours.get(number) ?? new Map<string, number>();
    this.#hours.set(number, counts);
    this.#latest = { number, counts };
    return counts;
  }

  /** The sums by key. */
  get totals(): Map<string, number> {
    this.#forgetOld(this.#hour());
    const sums = new Map<string, number>();
    for (const hour of this.#hours.values())
      for (const [key, count] of hour) sums.set(key, (sums.get(key) ?? 0) + count);
    return sums;
  }

  #hour(): number {
    return Math.floor(this.#clock.now().getTime() / HOUR_MS);
  }

  #forgetOld(now: number): void {
    for (const hour of this.#hours.keys()) if (hour <= now - HOURS) this.#hours.delete(hour);
  }
}
