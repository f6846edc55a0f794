/** Work on demand that concurrent callers share; a failure rejects for all of them. */
export class SharedRun<T> {
  readonly #run: () => Promise<T>;
  #running: Promise<T> | null = null;

  constructor(run: () => Promise<T>) {
    this.#run = run;
  }

  /** Joins the current run, else starts a new run. */
  join(): Promise<T> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Resolves with the current run; null: there is none. */
  async current(): Promise<T | null> {
    return this.#running;
  }

  /** A run that starts after this call, for callers that know of a change. */
  async startNew(): Promise<T> {
    await this.#running?.catch(() => undefined);
    return this.join();
  }
}
