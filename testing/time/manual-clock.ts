/** A clock that only the test advances, with the interface of the processes' and senders' clocks. */
export class ManualClock {
  #nowMs: number;
  #sleeps: { ms: number; wake: () => void }[] = [];
  #waiting: ((sleep: { ms: number; wake: () => void }) => void)[] = [];

  constructor(start: string) {
    this.#nowMs = Date.parse(start);
  }

  now(): Date {
    return new Date(this.#nowMs);
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  advance(ms: number): void {
    this.#nowMs += ms;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const aborted = (): void => reject(new DOMException('aborted', 'AbortError'));
      if (signal?.aborted) {
        aborted();
        return;
      }
      signal?.addEventListener('abort', aborted, { once: true });
      const sleep = {
        ms,
        wake: () => {
          signal?.removeEventListener('abort', aborted);
          this.advance(ms);
          resolve();
        },
      };
      const waiter = this.#waiting.shift();
      if (waiter) waiter(sleep);
      else this.#sleeps.push(sleep);
    });
  }

  /** The next sleep that was or will be started, to inspect and resolve. */
  nextSleep(): Promise<{ ms: number; wake: () => void }> {
    const sleep = this.#sleeps.shift();
    if (sleep) return Promise.resolve(sleep);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
