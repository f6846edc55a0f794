import type { Clock } from '../runtime/clock.ts';

/** An outage is over after this time without failures, in milliseconds. Single successes do not end an outage. */
const QUIET_MS = 5_000;

/** Counts the failures of an outage, so that an outage is one log line and not one per request. */
export class OutageCount {
  readonly #clock: Clock;
  #outage: { failures: number; lastMs: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns whether an outage begins. */
  failed(): boolean {
    const isFirst = this.#outage === null;
    this.#outage = { failures: (this.#outage?.failures ?? 0) + 1, lastMs: this.#clock.monotonicMs() };
    return isFirst;
  }

  /** Returns the number of failures if this success ends an outage. */
  succeeded(): number | null {
    if (this.#outage === null || this.#clock.monotonicMs() - this.#outage.lastMs < QUIET_MS) return null;
    const { failures } = this.#outage;
    this.#outage = null;
    return failures;
  }
}
