const HOUR_MS = 3_600_000;
const HOURS = 24;
/** Different keys of one hour. Further ones count together, so that invented names cannot fill the memory. */
const MAX_KEYS = 500;
const OTHER = '(other)';

/** Counts by key in the last 24 hours, by the hour. */
export class DayCounts {
  readonly #hours = new Map<number, Map<string, number>>();
  #latest: { number: number; counts: Map<string, number> } | null = null;

  add(key: string, at: Date, amount = 1): void {
    const hour = this.#countsAt(at);
    const known = hour.has(key) || hour.size < MAX_KEYS ? key : OTHER;
    hour.set(known, (hour.get(known) ?? 0) + amount);
  }

  addAll(keys: readonly string[], at: Date): void {
    for (const key of keys) this.add(key, at);
  }

  #countsAt(at: Date): Map<string, number> {
    const number = hourOf(at);
    if (this.#latest?.number === number) return this.#latest.counts;
    this.#forgetOld(number);
    const counts = this.#hours.get(number) ?? new Map<string, number>();
    this.#hours.set(number, counts);
    this.#latest = { number, counts };
    return counts;
  }

  /** The sums by key of the 24 hours before `now`. */
  totals(now: Date): Map<string, number> {
    this.#forgetOld(hourOf(now));
    const sums = new Map<string, number>();
    for (const hour of this.#hours.values())
      for (const [key, count] of hour) sums.set(key, (sums.get(key) ?? 0) + count);
    return sums;
  }

  #forgetOld(now: number): void {
    for (const hour of this.#hours.keys()) if (hour <= now - HOURS) this.#hours.delete(hour);
  }
}

const hourOf = (at: Date): number => Math.floor(at.getTime() / HOUR_MS);
