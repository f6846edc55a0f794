import type { Clock } from '../../runtime/clock.ts';

/** Reviews of tokens that turn out not to be good, of one source within WINDOW_MS. */
export const MAX_BAD_REVIEWS = 20;
const WINDOW_MS = 60_000;
/** Sources that are remembered; further ones share one budget. */
const MAX_SOURCES = 10_000;
const OTHERS = '';

/** How many unknown tokens of a source may be reviewed: whoever makes up tokens must not spend the API server's time. */
export interface ReviewBudget {
  /** Takes one of the source's reviews; or the seconds until there is one. */
  take(source: string): { retryAfterSeconds: number } | null;
  /** Gives it back: the token was good, or could not be judged. */
  giveBack(source: string): void;
}

export function createReviewBudget(clock: Clock): ReviewBudget {
  /** The times of what each source has taken, oldest first. */
  const taken = new Map<string, number[]>();

  function entryOf(source: string): { key: string; times: number[] } {
    const nowMs = clock.monotonicMs();
    const key = taken.has(source) || taken.size < MAX_SOURCES ? source : OTHERS;
    const times = (taken.get(key) ?? []).filter((ms) => nowMs - ms < WINDOW_MS);
    return { key, times };
  }

  /** The sources whose last review is the oldest come first. */
  function forgetOld(): void {
    for (const [source, times] of taken) {
      if (clock.monotonicMs() - (times.at(-1) ?? 0) < WINDOW_MS) return;
      taken.delete(source);
    }
  }

  return {
    take(source) {
      forgetOld();
      const { key, times } = entryOf(source);
      const [oldest] = times;
      if (oldest !== undefined && times.length >= MAX_BAD_REVIEWS)
        return { retryAfterSeconds: Math.ceil((oldest + WINDOW_MS - clock.monotonicMs()) / 1000) };
      taken.delete(key);
      taken.set(key, [...times, clock.monotonicMs()]);
      return null;
    },
    giveBack(source) {
      const { key, times } = entryOf(source);
      if (times.length > 1) taken.set(key, times.slice(0, -1));
      else taken.delete(key);
    },
  };
}
