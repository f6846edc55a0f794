import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { halfJitter } from './backoff.ts';
import { KubeError, type KubeClient } from './client.ts';
import { TIMING, type InformerTiming } from './informer-timing.ts';
import { jsonLines } from './json-lines.ts';
import { expectOk, listObjects, type ListSelection } from './objects.ts';
import { collectionPath, keyText, type ObjectKey, type Resource } from './resources.ts';
import type { KubeObject } from './types.ts';
import { errorOf, type WatchEvent } from './watch-event.ts';

/** What happened to one object. `before` is the copy that the cache held. */
export type Change<T> =
  | { type: 'added'; object: T }
  | { type: 'modified'; object: T; before: T }
  | { type: 'deleted'; object: T };

export interface InformerOptions<T> {
  client: KubeClient;
  resource: Resource<T>;
  selection?: ListSelection;
  logger: Logger;
  clock: Clock;
  /** Called once per change, after the cache has it; it must be quick and must not throw: put a key in a queue. */
  onChange?: (change: Change<T>) => void;
  /** Keeps only the part of an object that is needed, or nothing (null) of one that no selector can leave out. */
  keep?: (object: T) => T | null;
  timing?: Partial<InformerTiming>;
}

const FAILURES_UNTIL_LIST = 5;
/** A watch that the server ends sooner than this is treated as an error, so that no loop spins. */
const SHORTEST_WATCH_MS = 500;

/** A cache of all objects of one kind that follows the API server. */
export interface Informer<T> {
  start(): void;
  close(): Promise<void>;
  /** Resolves when the first list is in the cache. */
  synced(): Promise<void>;
  /** False before the first list, and when no watch has shown for `freshMs` that nothing was missed. */
  isFresh(): boolean;
  /** The API server says that this process has no right to list or watch; it is asked again and again. */
  isForbidden(): boolean;
  get(key: ObjectKey): T | undefined;
  list(): T[];
}

/** Lists once in pages, then watches from there with bookmarks; lists again only when the version is too old (410). */
export function createInformer<T extends KubeObject | (object & { metadata: ObjectKey })>(
  options: InformerOptions<T>,
): Informer<T> {
  return new ListWatch(options);
}

class ListWatch<T extends { metadata: ObjectKey & { resourceVersion?: string } }> implements Informer<T> {
  readonly #options: InformerOptions<T>;
  readonly #timing: InformerTiming;
  readonly #stop = new AbortController();
  /** Of the present watch. AbortSignal.any would leave a trace in `#stop` for each watch there ever was. */
  #watching: AbortController | null = null;
  readonly #firstList = Promise.withResolvers<void>();
  #cache = new Map<string, T>();
  /** Where the next watch begins; null: a list must come first. */
  #version: string | null = null;
  /** When nothing was missed for certain: the first list, something from a watch, its end in time. Null: no list yet. */
  #followedMs: number | null = null;
  #isForbidden = false;
  #failures = 0;
  /** Failures in a row for which the version may be the reason. */
  #refusals = 0;
  #loop: Promise<void> | null = null;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#watching?.abort();
    await this.#loop;
  }

  synced(): Promise<void> {
    return this.#firstList.promise;
  }

  isFresh(): boolean {
    const sinceMs = this.#options.clock.monotonicMs() - (this.#followedMs ?? -Infinity);
    return sinceMs < this.#timing.freshMs;
  }

  isForbidden(): boolean {
    return this.#isForbidden;
  }

  get(key: ObjectKey): T | undefined {
    return this.#cache.get(keyText(key));
  }

  list(): T[] {
    return [...this.#cache.values()];
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const askedMs = this.#options.clock.monotonicMs();
      try {
        this.#version ??= await this.#list();
        await this.#watch(this.#version);
      } catch (error) {
        if (!signal.aborted) await this.#rest(error, askedMs);
      }
    }
  }

  /** After an error: a jittered delay that doubles, and never less than the server asked for. */
  async #rest(error: unknown, askedMs: number): Promise<void> {
    const { clock, logger, resource } = this.#options;
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    this.#isForbidden = error instanceof KubeError && error.status === 403;
    // An expired version is no failure: the list that follows is the remedy, yet not in a tight loop.
    // What took longer than the longest delay has rested already.
    const isSlow = clock.monotonicMs() - askedMs > this.#timing.backoff.maxMs;
    const delay = Math.max(asked, halfJitter(isSlow ? 0 : this.#failures, this.#timing.backoff));
    this.#failures += 1;
    // A version that the server does not know (its store was restored) fails for ever: the list is the remedy for that too.
    // A server that is away or overloaded has not looked at the version, and a list from everybody would not help it.
    const isAway = error instanceof KubeError && [0, 429, 503].includes(error.status);
    if (!isAway) this.#refusals += 1;
    if (this.#refusals >= FAILURES_UNTIL_LIST) this.#version = null;
    const fields = { resource: resource.plural, error: describeError(error), retryInMs: Math.round(delay) };
    // The second failure in a row, the fourth, the eighth: one that lasts must not fill the log.
    if (this.#failures > 1 && Number.isInteger(Math.log2(this.#failures))) logger.warn('watch fails', fields);
    else logger.debug('watch is interrupted', fields);
    await clock.sleep(delay, this.#stop.signal).catch(() => undefined);
  }

  async #list(): Promise<string> {
    const { client, resource, selection, keep } = this.#options;
    const { items, resourceVersion } = await listObjects(
      client,
      resource,
      { ...selection, keep },
      this.#stop.signal,
    );
    const before = this.#cache;
    const known = (item: T) => {
      const old = before.get(keyText(item.metadata));
      // The same version is the same object: whoever holds the old one holds it no second time.
      return old?.metadata.resourceVersion === item.metadata.resourceVersion ? (old ?? item) : item;
    };
    this.#cache = new Map(items.map((item) => [keyText(item.metadata), known(item)]));
    for (const [key, object] of this.#cache) this.#announce(before.get(key), object);
    for (const [key, object] of before)
      if (!this.#cache.has(key)) this.#options.onChange?.({ type: 'deleted', object });
    this.#followedMs ??= this.#options.clock.monotonicMs();
    this.#refusals = 0;
    this.#firstList.resolve();
    return resourceVersion;
  }

  #announce(before: T | undefined, object: T): void {
    if (!before) this.#options.onChange?.({ type: 'added', object });
    else if (before.metadata.resourceVersion !== object.metadata.resourceVersion)
      this.#options.onChange?.({ type: 'modified', object, before });
  }

  /**
   * Ends when the server closes the watch; throws when it breaks, is refused, ends at once or not in time. A watch is
   * short, since a dead one is silent as a quiet one is: only its end must come, whatever lies between.
   */
  async #watch(resourceVersion: string): Promise<void> {
    const { client, clock, resource, selection = {} } = this.#options;
    const { namespace, labelSelector, fieldSelector, only } = selection;
    // After a failure as short as can be: its end shows that all is well again.
    const ms = this.#failures > 0 ? 1 : this.#timing.watchMs * (0.75 + Math.random() / 2);
    const seconds = Math.ceil(ms / 1_000);
    const asked = { watch: true, allowWatchBookmarks: true, timeoutSeconds: seconds, resourceVersion };
    const opened = clock.monotonicMs();
    const watching = (this.#watching = new AbortController());
    if (this.#stop.signal.aborted) return;
    let timer: NodeJS.Timeout | undefined;
    try {
      const stream = await client.stream({
        method: 'GET',
        path: collectionPath(resource, namespace),
        query: { labelSelector, fieldSelector, ...asked },
        only,
        timeoutMs: this.#timing.openMs,
        signal: watching.signal,
      });
      if (!stream.ok) {
        if (stream.status === 410) this.#version = null;
        expectOk(stream);
        return;
      }
      const limitMs = seconds * 1_000 + this.#timing.lateMs;
      timer = setTimeout(() => watching.abort(new Error('the watch hangs')), limitMs);
      for await (const event of jsonLines(stream.chunks)) this.#receive(event as WatchEvent<T>);
      if (clock.monotonicMs() - opened < SHORTEST_WATCH_MS)
        throw new Error('the server ends the watch at once');
      this.#follows();
    } finally {
      clearTimeout(timer);
    }
  }

  #receive(event: WatchEvent<T>): void {
    if (event.type === 'ERROR') {
      const error = errorOf(event.object);
      if (error.status === 410) this.#version = null;
      throw error;
    }
    // Not before: a server whose watches open and then break must not be asked in a tight loop.
    this.#follows();
    const version = event.object.metadata.resourceVersion;
    if (version) this.#version = version;
    if (event.type === 'BOOKMARK') return;
    const key = keyText(event.object.metadata);
    const before = this.#cache.get(key);
    const object = this.#options.keep ? this.#options.keep(event.object) : event.object;
    if (event.type === 'DELETED' || object === null) {
      this.#cache.delete(key);
      if (before) this.#options.onChange?.({ type: 'deleted', object: before });
      return;
    }
    this.#cache.set(key, object);
    this.#announce(before, object);
  }

  #follows(): void {
    this.#followedMs = this.#options.clock.monotonicMs();
    this.#failures = this.#refusals = 0;
    this.#isForbidden = false;
  }
}
