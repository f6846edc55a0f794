import type { Clock } from '../runtime/clock.ts';

/** Time that passes only when a test says so; what sleeps wakes in the order in which it is due. */
export class SteppingClock implements Clock {
  /** How many loops sleep on this clock when nothing is at work. */
  loops: number;
  #nowMs: number;
  #sleeping: { dueMs: number; wake: () => void }[] = [];

  /** `loops` 0: time passes whoever is at work. */
  constructor(start: string, loops = 0) {
    this.loops = loops;
    this.#nowMs = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#nowMs);
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

  /** How long each of those that sleep has left, in milliseconds, the shortest first. */
  left(): number[] {
    return this.#sleeping.map(({ dueMs }) => dueMs - this.#nowMs).sort((a, b) => a - b);
  }

  /** Lets `ms` milliseconds pass in steps of `stepMs`; time stands still while one of the loops is at work. */
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
    const deadline = Date.now() + 30_000;
    while (this.#sleeping.length < this.loops) {
      if (Date.now() > deadline) throw new Error(`only ${this.#sleeping.length} of ${this.loops} sleep`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}
