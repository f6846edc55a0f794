import type { Clock } from '../runtime/clock.ts';
import { halfJitter } from './backoff.ts';
import { KubeError } from './client.ts';

const PAUSE = { baseMs: 200, maxMs: 5_000 };

/** The API server did not answer, is overloaded or broken: nothing that another key would not meet, too, as it seems. */
export function isOutage(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

/** Whoever asks, and for whatever: the API server wants fewer requests. */
export function isThrottled(error: unknown): boolean {
  return error instanceof KubeError && error.status === 429;
}

/** How many keys may be worked on: none for a growing while after a failure, then one, and all after a success. */
export class Outage {
  readonly #clock: Clock;
  readonly #resume: () => void;
  #failures = 0;
  #pause: AbortController | null = null;

  constructor(clock: Clock, resume: () => void) {
    this.#clock = clock;
    this.#resume = resume;
  }

  limit(concurrency: number): number {
    if (this.#pause) return 0;
    return this.#failures > 0 ? 1 : concurrency;
  }

  /** `askedMs`: how long the server wants to be left alone. Work that was under way fails with it, and counts as one. */
  begin(askedMs: number): void {
    if (this.#pause) return;
    const pause = (this.#pause = new AbortController());
    const ms = Math.max(askedMs, halfJitter(this.#failures, PAUSE));
    this.#failures += 1;
    void this.#clock
      .sleep(ms, pause.signal)
      .catch(() => undefined)
      .then(() => {
        if (this.#pause !== pause) return;
        this.#pause = null;
        this.#resume();
      });
  }

  end(): void {
    this.#failures = 0;
    const pause = this.#pause;
    this.#pause = null;
    pause?.abort();
  }
}
