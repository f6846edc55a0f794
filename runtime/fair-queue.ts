interface Task {
  signal: AbortSignal;
  start(): void;
  cancel(): void;
}

/**
 * Runs tasks one after the other, those of different keys in turns, so that a tenant with many tasks delays each other tenant by one task.
 * A task whose signal aborts before its turn is not run.
 */
export class FairQueue {
  readonly #max: { waiting: number; ofOneKey: number };
  /** The key whose turn is next is first. */
  readonly #waiting = new Map<string, Task[]>();
  #isBusy = false;
  #size = 0;

  /** @param max tasks that may wait, and those of one key: fewer, so that a tenant cannot fill the queue */
  constructor(max: { waiting: number; ofOneKey: number }) {
    this.#max = max;
  }

  /** null: aborted, or too many tasks wait. */
  run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T | null> {
    const ofKey = this.#waiting.get(key)?.length ?? 0;
    if (this.#size >= this.#max.waiting || ofKey >= this.#max.ofOneKey) return Promise.resolve(null);
    this.#size += 1;
    return new Promise((resolve, reject) => {
      const start = (): void =>
        void work()
          .then(resolve, reject)
          .finally(() => this.#next());
      const tasks = this.#waiting.get(key) ?? [];
      this.#waiting.set(key, [...tasks, { signal, start, cancel: () => resolve(null) }]);
      if (!this.#isBusy) this.#next();
    });
  }

  #next(): void {
    this.#isBusy = false;
    for (const [key, [task, ...others]] of this.#waiting) {
      this.#waiting.delete(key);
      if (others.length > 0) this.#waiting.set(key, others);
      if (task === undefined) continue;
      this.#size -= 1;
      if (task.signal.aborted) {
        task.cancel();
        continue;
      }
      this.#isBusy = true;
      task.start();
      return;
    }
  }
}
