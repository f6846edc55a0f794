import type { Clock } from '../../runtime/clock.ts';
import type { FleetChanges, Store } from '../stores/store.ts';

/** Age up to which the last poll is recent, in milliseconds. */
export const POLL_MS = 2_000;

type Listener = (changes: FleetChanges) => void;

/**
 * The changes of a store, for several listeners with one poll. Without listeners there is no position, so the next listener
 * starts with the changes from then on.
 */
export class FleetFeed {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();
  #position: string | null = null;
  /** Start of the last complete poll, monotonic. */
  #polledMs = -Infinity;
  #running: Promise<void> | null = null;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Calls `listener` with everything that changes after the next poll. Returns a function that ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#position = null;
      this.#polledMs = -Infinity;
    };
  }

  /** Passes the changes to the listeners, or joins a poll that is running. Rejects if the store is unavailable. */
  poll(): Promise<void> {
    this.#running ??= this.#read().finally(() => (this.#running = null));
    return this.#running;
  }

  /** Like `poll`, unless a poll is recent. */
  async refresh(): Promise<void> {
    const isRecent = this.#clock.monotonicMs() - this.#polledMs < POLL_MS;
    if (this.#running !== null || !isRecent) await this.poll();
  }

  async #read(): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const changes = await this.#store.changes(this.#position, this.#clock.now());
    if (this.#listeners.size === 0) return;
    this.#position = changes.position;
    for (const listener of this.#listeners) listener(changes);
    this.#polledMs = startedMs;
  }
}
