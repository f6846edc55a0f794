import type { Clock } from '../../runtime/clock.ts';

const WINDOW_MS = 60_000;
/** Maximum number of tracked sources. Further sources share one budget. */
const MAX_SOURCES = 10_000;
const OTHERS = '';

export interface Limited {
  kind: 'limited';
  retryAfterSeconds: number;
}

interface Entry {
  key: string;
  /** Times of bad results, oldest first. */
  bad: number[];
  inFlight: number;
  waiting: (() => void)[];
}

/**
 * Limits the reviews of unknown tokens per source, so that forged tokens do not load the API server. Every result of another
 * kind than `good` is bad.
 */
export class ReviewBudget<T extends { kind: string }> {
  readonly #clock: Clock;
  readonly #maxBad: number;
  readonly #good: T['kind'];
  /** Ordered by the last bad result, oldest first. */
  readonly #entries = new Map<string, Entry>();

  /** `maxBad`: maximum number of bad results of one source per minute. */
  constructor(clock: Clock, maxBad: number, good: T['kind']) {
    this.#clock = clock;
    this.#maxBad = maxBad;
    this.#good = good;
  }

  /**
   * Only a bad result is charged; a good result or an error costs nothing. Reviews in flight could all end with a bad
   * result. A review that would then exceed the budget waits for them.
   */
  async within(source: string, review: () => Promise<T>): Promise<T | Limited> {
    const entry = await this.#start(source);
    if ('kind' in entry) return entry;
    let wasBad = false;
    try {
      const result = await review();
      wasBad = result.kind !== this.#good;
      return result;
    } finally {
      this.#end(entry, wasBad);
    }
  }

  async #start(source: string): Promise<Entry | Limited> {
    for (;;) {
      this.#forgetOld();
      const entry = this.#entryOf(source);
      const [oldest] = entry.bad;
      if (oldest !== undefined && entry.bad.length >= this.#maxBad) {
        const retryAfterSeconds = Math.ceil((oldest + WINDOW_MS - this.#clock.monotonicMs()) / 1000);
        return { kind: 'limited', retryAfterSeconds };
      }
      if (entry.bad.length + entry.inFlight < this.#maxBad) {
        entry.inFlight += 1;
        return entry;
      }
      await new Promise<void>((resolve) => entry.waiting.push(resolve));
    }
  }

  #end(entry: Entry, wasBad: boolean): void {
    entry.inFlight -= 1;
    if (wasBad) {
      entry.bad.push(this.#clock.monotonicMs());
      this.#entries.delete(entry.key);
      this.#entries.set(entry.key, entry);
    } else if (entry.inFlight === 0 && entry.bad.length === 0) this.#entries.delete(entry.key);
    for (const resume of entry.waiting.splice(0)) resume();
  }

  #entryOf(source: string): Entry {
    const key = this.#entries.has(source) || this.#entries.size < MAX_SOURCES ? source : OTHERS;
    const entry = this.#entries.get(key) ?? { key, bad: [], inFlight: 0, waiting: [] };
    this.#entries.set(key, entry);
    const nowMs = this.#clock.monotonicMs();
    entry.bad = entry.bad.filter((ms) => nowMs - ms < WINDOW_MS);
    return entry;
  }

  #forgetOld(): void {
    for (const [key, { bad, inFlight }] of this.#entries) {
      if (inFlight > 0 || this.#clock.monotonicMs() - (bad.at(-1) ?? -Infinity) < WINDOW_MS) return;
      this.#entries.delete(key);
    }
  }
}
