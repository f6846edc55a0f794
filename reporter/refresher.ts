import { describeError } from '../core/untrusted/describe-error.ts';
import type { PushClock, PushLogger } from '../push/clock.ts';

export interface RefresherOptions<R> {
  /** Creates a report; concurrent requests share one run. */
  check(): Promise<R>;
  /** Called after each new report. */
  onReport?(report: R): void;
  refreshIntervalMs: number;
  staleAfterMs: number;
  clock: PushClock;
  logger: PushLogger;
}

/** Reporter lifecycle of the contract: a cached report that a timer renews. */
export class Refresher<R> {
  readonly #options: RefresherOptions<R>;
  #running: AbortController | null = null;
  #cached: { report: R; atMs: number } | null = null;
  #check: Promise<R> | null = null;

  constructor(options: RefresherOptions<R>) {
    this.#options = options;
  }

  /** Starts the first check immediately, without blocking, then one every `refreshIntervalMs`. No effect while running. */
  start(): void {
    if (this.#running) return;
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  /** Clears the timer; a running check completes. */
  stop(): void {
    this.#running?.abort();
    this.#running = null;
  }

  /**
   * Running: the cached report, or a new report if the cached report is missing or older than `staleAfterMs`.
   * Stopped: the last cached report without new checks; null if there is none.
   */
  async getReport(): Promise<R | null> {
    const { clock, staleAfterMs } = this.#options;
    const cached = this.#cached;
    if (this.#running === null) return cached?.report ?? null;
    if (cached !== null && clock.monotonicMs() - cached.atMs <= staleAfterMs) return cached.report;
    return this.#refresh();
  }

  async #run(stopped: AbortSignal): Promise<void> {
    const { clock, logger, refreshIntervalMs } = this.#options;
    while (!stopped.aborted) {
      this.#refresh().catch((error: unknown) => {
        logger.warn('failed to create health report, retrying', { reason: describeError(error) });
      });
      // The sleep rejects only when the refresher is stopped.
      await clock.sleep(refreshIntervalMs, stopped).catch(() => undefined);
    }
  }

  #refresh(): Promise<R> {
    this.#check ??= this.#runCheck().finally(() => {
      this.#check = null;
    });
    return this.#check;
  }

  async #runCheck(): Promise<R> {
    const report = await this.#options.check();
    this.#cached = { report, atMs: this.#options.clock.monotonicMs() };
    this.#options.onReport?.(report);
    return report;
  }
}
