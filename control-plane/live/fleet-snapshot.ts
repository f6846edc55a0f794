import { setImmediate } from 'node:timers/promises';
import type { AgentExcerpt } from '../../core/fleet/excerpt.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import type { AgentKey, AgentPage, Store } from '../stores/store.ts';
import { FleetCopy } from './fleet-copy.ts';
import type { FleetFeed } from './fleet-feed.ts';

/** How long the snapshot is kept after its last use, in milliseconds. */
const KEEP_MS = 300_000;
/** Agents per read. */
const PAGE = 500;

export interface SnapshotOptions {
  store: Pick<Store, 'list'>;
  /** The changes of the same store. */
  feed: FleetFeed;
  clock: Clock;
  /** Ends the wait for the end of the snapshot's use. */
  signal: AbortSignal;
}

/**
 * Excerpts of all agents of a store, so that a request does not read every status. The first use reads the store in pages;
 * later uses read only the changes. Not used for five minutes, it is dropped.
 */
export class FleetSnapshot {
  readonly #options: SnapshotOptions;
  #copy: Promise<FleetCopy> | null = null;
  #usedMs = 0;

  constructor(options: SnapshotOptions) {
    this.#options = options;
  }

  /** All agents, ordered by namespace and name, as of at most two seconds ago. Rejects if the store is unavailable. */
  async agents(): Promise<AgentExcerpt[]> {
    const { feed, clock } = this.#options;
    this.#usedMs = clock.monotonicMs();
    // Concurrent requests share one load.
    this.#copy ??= this.#load().catch((error: unknown) => {
      this.#copy = null;
      throw error;
    });
    const copy = await this.#copy;
    await feed.refresh();
    return copy.list();
  }

  async #load(): Promise<FleetCopy> {
    const copy = new FleetCopy();
    const unsubscribe = this.#options.feed.subscribe((changes) => copy.apply(changes));
    try {
      await this.#fill(copy);
    } catch (error) {
      unsubscribe();
      throw error;
    }
    void this.#dropUnused(unsubscribe);
    return copy;
  }

  async #fill(copy: FleetCopy): Promise<void> {
    const { store, feed, clock } = this.#options;
    // First the position, then the pages: a change in between is in both.
    await feed.refresh();
    let after: AgentKey | null = null;
    do {
      const page: AgentPage = await store.list({ limit: PAGE, after, namespaces: null }, clock.now());
      copy.addPage(page.agents);
      after = page.next;
      // Requests are served between two pages.
      await setImmediate();
    } while (after !== null);
    copy.complete();
  }

  async #dropUnused(unsubscribe: () => void): Promise<void> {
    const { clock, signal } = this.#options;
    let leftMs = KEEP_MS;
    while (leftMs > 0 && (await slept(clock, leftMs, signal)))
      leftMs = this.#usedMs + KEEP_MS - clock.monotonicMs();
    unsubscribe();
    this.#copy = null;
  }
}
