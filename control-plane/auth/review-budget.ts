import type { Clock } from '../../runtime/clock.ts';

const WINDOW_MS = 60_000;
/** Sources that are remembered; further ones share one budget. */
const MAX_SOURCES = 10_000;
const OTHERS = '';

export interface Limited {
  kind: 'limited';
  retryAfterSeconds: number;
}

/** How many unknown tokens of a source may be reviewed: a sender of invented tokens must not spend the API server's time. */
export interface ReviewBudget<T> {
  /**
   * Only a bad verdict is charged; a good one, or none, costs nothing. Reviews under way could all turn out bad, so those that
   * would then be too many wait for them.
   */
  within(source: string, review: () => Promise<T>): Promise<T | Limited>;
}

interface Entry {
  key: string;
  /** When its bad verdicts came, oldest first. */
  bad: number[];
  underWay: number;
  waiting: (() => void)[];
}

export interface ReviewBudgetOptions<T> {
  clock: Clock;
  /** Bad verdicts of one source in a minute. */
  maxBad: number;
  isBad: (verdict: T) => boolean;
}

export function createReviewBudget<T>({ clock, maxBad, isBad }: ReviewBudgetOptions<T>): ReviewBudget<T> {
  /** Those whose last bad verdict is the oldest come first. */
  const entries = new Map<string, Entry>();

  function entryOf(source: string): Entry {
    const key = entries.has(source) || entries.size < MAX_SOURCES ? source : OTHERS;
    const entry = entries.get(key) ?? { key, bad: [], underWay: 0, waiting: [] };
    entries.set(key, entry);
    const nowMs = clock.monotonicMs();
    entry.bad = entry.bad.filter((ms) => nowMs - ms < WINDOW_MS);
    return entry;
  }

  function forgetOld(): void {
    for (const [key, { bad, underWay }] of entries) {
      if (underWay > 0 || clock.monotonicMs() - (bad.at(-1) ?? -Infinity) < WINDOW_MS) return;
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
      if (entry.bad.length + entry.underWay < maxBad) {
        entry.underWay += 1;
        return entry;
      }
      await new Promise<void>((resolve) => entry.waiting.push(resolve));
    }
  }

  function end(entry: Entry, wasBad: boolean): void {
    entry.underWay -= 1;
    if (wasBad) {
      entry.bad.push(clock.monotonicMs());
      entries.delete(entry.key);
      entries.set(entry.key, entry);
    } else if (entry.underWay === 0 && entry.bad.length === 0) entries.delete(entry.key);
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
