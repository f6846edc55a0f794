import type { PushClock, PushLogger } from '../push/clock.ts';
import { describe } from '../push/push-heartbeat.ts';

export interface RefresherOptions<R> {
  /** Makes a report; concurrent wishes share one run. */
  check(): Promise<R>;
  /** After each new report. */
  onReport?(report: R): void;
  refreshIntervalMs: number;
  staleAfterMs: number;
  clock: PushClock;
  logger: PushLogger;
}

/** Reporter lifecycle of the contract: a report that is renewed on a timer and kept. */
export interface Refresher<R> {
  /** stopped → running: first check at once, without blocking, then one every `refreshIntervalMs`. Running: no effect. */
  start(): void;
  /**
   * Running: the cached report, or a new one when it is older than `staleAfterMs` or there is none.
   * Stopped: the last cached report without new checks; null when there never was one.
   */
  getReport(): Promise<R | null>;
  /** The timer is cleared; a check that runs comes to its end. */
  stop(): void;
}

export function createRefresher<R>(options: RefresherOptions<R>): Refresher<R> {
  return new TimedRefresher(options);
}

class TimedRefresher<R> implements Refresher<R> {
  readonly #options: RefresherOptions<R>;
  #running: AbortController | null = null;
  #cached: { report: R; atMs: number } | null = null;
  #check: Promise<R> | null = null;

  constructor(options: RefresherOptions<R>) {
    this.#options = options;
  }

  start(): void {
    if (this.#running) return;
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  stop(): void {
    this.#running?.abort();
    this.#running = null;
  }

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
        logger.warn('health check fails', { reason: describe(error) });
      });
      // The sleep ends early only when it was stopped.
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
