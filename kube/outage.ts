import type { Clock } from '../runtime/clock.ts';
import { halfJitter } from './backoff.ts';
import { KubeError } from './client.ts';

const PAUSE = { baseMs: 200, maxMs: 5_000 };

/** The API server did not respond, is overloaded or failed, so other keys probably fail as well. */
export function isOutage(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

/** The API server throttles all requests, independent of the key. */
export function isThrottled(error: unknown): boolean {
  return error instanceof KubeError && error.status === 429;
}

/** Limits the concurrent keys: none during a growing pause after a failure, then one, and all after a success. */
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

  /** `retryAfterMs`: the Retry-After of the server. Work in progress that fails in the same pause counts as one failure. */
  begin(retryAfterMs: number): void {
    if (this.#pause) return;
    const pause = (this.#pause = new AbortController());
    const ms = Math.max(retryAfterMs, halfJitter(this.#failures, PAUSE));
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
