import type { Clock } from '../../runtime/clock.ts';

const WINDOW_MS = 60_000;
/** Maximum number of tracked sources. Further sources share one budget. */
const MAX_SOURCES = 10_000;
const OTHERS = '';

export interface Limited {
  kind: 'limited';
  retryAfterSeconds: number;
}

/** Limits the reviews of unknown tokens per source, so that forged tokens do not load the API server. */
export interface ReviewBudget<T> {
  /**
   * Only a bad verdict is charged; a good verdict or an error costs nothing. Reviews in flight could all end with a bad
   * verdict. A review that would then exceed the budget waits for them.
   */
  within(source: string, review: () => Promise<T>): Promise<T | Limited>;
}

interface Entry {
  key: string;
  /** Times of bad verdicts, oldest first. */
  bad: number[];
  inFlight: number;
  waiting: (() => void)[];
}

export interface ReviewBudgetOptions<T> {
  clock: Clock;
  /** Maximum number of bad verdicts of one source per minute. */
  maxBad: number;
  isBad: (verdict: T) => boolean;
}

export function createReviewBudget<T>({ clock, maxBad, isBad }: ReviewBudgetOptions<T>): ReviewBudget<T> {
  /** Ordered by the last bad verdict, oldest first. */
  const entries = new Map<string, Entry>();

  function entryOf(source: string): Entry {
    const key = entries.has(source) || entries.size < MAX_SOURCES ? source : OTHERS;
    const entry = entries.get(key) ?? { key, bad: [], inFlight: 0, waiting: [] };
    entries.set(key, entry);
    const nowMs = clock.monotonicMs();
    entry.bad = entry.bad.filter((ms) => nowMs - ms < WINDOW_MS);
    return entry;
  }

  function forgetOld(): void {
    for (const [key, { bad, inFlight }] of entries) {
      if (inFlight > 0 || clock.monotonicMs() - (bad.at(-1) ?? -Infinity) < WINDOW_MS) return;
      entries.delete(key);
    }
  }

  async function start(source: string): Promise<Entry | Limited> {
    for (;;) {
      forgetOld();
      const entry = entryOf(source);
      const [oldest] = entry.bad;
      if (oldest !== undefined && entry.bad.length >= maxBad) {
        const retryAfterSeconds = Math.ceil((oldest + WINDOW_MS - clock.monotonicMs()) / 1000);
        return { kind: 'limited', retryAfterSeconds };
      }
      if (entry.bad.length + entry.inFlight < maxBad) {
        entry.inFlight += 1;
        return entry;
      }
      await new Promise<void>((resolve) => entry.waiting.push(resolve));
    }
  }

  function end(entry: Entry, wasBad: boolean): void {
    entry.inFlight -= 1;
    if (wasBad) {
      entry.bad.push(clock.monotonicMs());
      entries.delete(entry.key);
      entries.set(entry.key, entry);
    } else if (entry.inFlight === 0 && entry.bad.length === 0) entries.delete(entry.key);
    for (const resume of entry.waiting.splice(0)) resume();
  }

  return {
    async within(source, review) {
      const entry = await start(source);
      if ('kind' in entry) return entry;
      let wasBad = false;
      try {
        const verdict = await review();
        wasBad = isBad(verdict);
        return verdict;
      } finally {
        end(entry, wasBad);
      }
    },
  };
}
