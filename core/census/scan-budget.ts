/**
 * Largest share of one core that scans may use in the long run. What they cause (attribution, timers, garbage collection) comes on
 * top: they were measured at 1.2 % in total.
 */
const SHARE = 0.008;
/** Unused milliseconds that are kept: a burst of connections after a quiet time is scanned without a delay. */
const MAX_SAVED_MS = 150;
/**
 * Longer than any scan. The duration of a scan includes the time for which the process was stopped (`docker pause`): without a limit, an
 * hour would prevent scans for five days.
 */
const MAX_COST_MS = 5_000;

/** Limits the processor time of scans. Every scan that is not affordable waits until enough time has passed. */
export class ScanBudget {
  #savedMs = MAX_SAVED_MS;
  #atMs: number;

  /** `nowMs`: monotonic milliseconds. */
  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** Whether a scan may start now. Its cost is not known before: the next scan waits for a scan that was too expensive. */
  allows(nowMs: number): boolean {
    this.#savedMs = Math.min(MAX_SAVED_MS, this.#savedMs + (nowMs - this.#atMs) * SHARE);
    this.#atMs = nowMs;
    return this.#savedMs > 0;
  }

  /** Takes the milliseconds of a scan from the budget. */
  spend(ms: number): void {
    this.#savedMs -= Math.min(ms, MAX_COST_MS);
  }
}
