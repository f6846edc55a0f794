import type { Clock } from '../../runtime/clock.ts';

/** A clock that only a test advances; sleeps resolve in due order. */
export class SteppingClock implements Clock {
  /** Number of loops that sleep on this clock when idle. */
  loops: number;
  /** How far the wall clock, which can be set, is ahead of the monotonic one. */
  aheadMs = 0;
  #nowMs: number;
  #sleeping: { dueMs: number; wake: () => void }[] = [];

  /** `loops` 0: time passes independent of running loops. */
  constructor(start: string, loops = 0) {
    this.loops = loops;
    this.#nowMs = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#nowMs + this.aheadMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#sleeping = this.#sleeping.filter((each) => each !== sleeper);
        reject(new DOMException('aborted', 'AbortError'));
      };
      const sleeper = {
        dueMs: this.#nowMs + ms,
        wake: () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
      };
      if (signal?.aborted) {
        reject(new DOMException('aborted', 'AbortError'));
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      this.#sleeping.push(sleeper);
    });
  }

  /** Remaining milliseconds of each sleep, shortest first. */
  left(): number[] {
    return this.#sleeping.map(({ dueMs }) => dueMs - this.#nowMs).sort((a, b) => a - b);
  }

  /** Advances the time by `ms` in steps of `stepMs`; waits while a loop is running. */
  async pass(ms: number, stepMs = 1_000): Promise<void> {
    const untilMs = this.#nowMs + ms;
    while (this.#nowMs < untilMs) {
      await this.#allAsleep();
      this.#nowMs = Math.min(this.#nowMs + stepMs, untilMs);
      const due = this.#sleeping.filter((each) => each.dueMs <= this.#nowMs);
      this.#sleeping = this.#sleeping.filter((each) => each.dueMs > this.#nowMs);
      for (const each of due.sort((a, b) => a.dueMs - b.dueMs)) each.wake();
      await new Promise((resolve) => setTimeout(resolve, due.length > 0 ? 5 : 0));
    }
    await this.#allAsleep();
  }

  async #allAsleep(): Promise<void> {
    const deadline = Date.now() + 120_000;
    while (this.#sleeping.length < this.loops) {
      if (Date.now() > deadline) throw new Error(`only ${this.#sleeping.length} of ${this.loops} sleep`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}
