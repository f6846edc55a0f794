/** Work that is done on demand, and once for all who ask while it is under way; when it fails, it fails for all of them. */
export class SharedRun<T> {
  readonly #run: () => Promise<T>;
  #running: Promise<T> | null = null;

  constructor(run: () => Promise<T>) {
    this.#run = run;
  }

  /** The one under way, else a new one. */
  join(): Promise<T> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** One that begins after this call, for who knows of a change. */
  async anew(): Promise<T> {
    await this.#running?.catch(() => undefined);
    return this.join();
  }
}
