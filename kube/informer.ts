import { describeError } from '../runtime/logger.ts';
import { halfJitter } from './backoff.ts';
import { KubeError } from './client.ts';
import type { ClusterParts } from './cluster-parts.ts';
import { NamespaceBudget, partOfHeap } from './namespace-budget.ts';
import { expectOk, listObjects, type ListSelection } from './objects.ts';
import { collectionPath, keyText, type ObjectKey, type Resource } from './resources.ts';

/** One line of a watch. */
interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

/** A change of one object. `before` is the previous copy in the cache. */
export type Change<T> =
  | { type: 'added'; object: T }
  | { type: 'modified'; object: T; before: T }
  | { type: 'deleted'; object: T };

export interface InformerOptions<T> extends ClusterParts {
  resource: Resource<T>;
  selection?: ListSelection;
  /** Called once per change, after the cache is updated. It must be quick and must not throw; typically it queues a key. */
  onChange?: (change: Change<T>) => void;
  /** Returns the part of an object to keep in the cache; null: do not cache an object that no selector can exclude. */
  keep?: (object: T) => T | null;
  /** Part of the heap for the objects of one namespace; further objects are not cached. Default: 1/16. */
  namespacePart?: number;
  timing?: Partial<InformerTiming>;
}

/** All in milliseconds. */
export interface InformerTiming {
  /** Requested duration of a watch; varied by ±25 % and rounded up to whole seconds. */
  watchMs: number;
  /** Limit for opening a watch. Longer than the longest delay, so that no delay follows when it ends. */
  openMs: number;
  /** A watch that has not ended this long after its duration is dead. A quiet watch differs in nothing else. */
  lateMs: number;
  /** The cache is fresh for this long after a watch delivered an event or ended in time. */
  freshMs: number;
  /** First and longest delay after an error. Short, because the delay also limits how late the end of an outage is detected. */
  backoff: { baseMs: number; maxMs: number };
}

const TIMING: InformerTiming = {
  watchMs: 4_500,
  openMs: 8_000,
  lateMs: 2_000,
  freshMs: 15_000,
  backoff: { baseMs: 500, maxMs: 5_000 },
};

const FAILURES_UNTIL_LIST = 5;
/** A deletion in a full namespace leads to a list, which caches objects that were ignored, but not more often than this. */
const RELIST_MS = 60_000;
/** A watch that the server ends sooner than this is treated as an error, to avoid a tight loop. */
const SHORTEST_WATCH_MS = 500;

/**
 * A cache of all objects of one kind, kept up to date by a watch. Lists once in pages, then watches with bookmarks. Lists
 * again when the version is too old (410) or failures repeat.
 */
export class Informer<T extends { metadata: ObjectKey & { resourceVersion?: string } }> {
  readonly #options: InformerOptions<T>;
  readonly #timing: InformerTiming;
  readonly #stop = new AbortController();
  /** Of the current watch. AbortSignal.any would leave a reference in `#stop` for every watch. */
  #watching: AbortController | null = null;
  readonly #firstList = Promise.withResolvers<void>();
  #cache = new Map<string, T>();
  #budget: NamespaceBudget;
  /** An object of a full namespace was deleted since the last list, at `#listedMs`. */
  #mayHaveRoom = false;
  #listedMs = -Infinity;
  /** The resourceVersion for the next watch; null: a list is needed first. */
  #version: string | null = null;
  /** When the cache was last known to be complete: after the first list, a watch event or a watch that ended in time. */
  #confirmedMs: number | null = null;
  #isForbidden = false;
  #failures = 0;
  /** Consecutive failures that the resourceVersion may have caused. */
  #versionFailures = 0;
  #loop: Promise<void> | null = null;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#budget = this.#newBudget();
  }

  start(): void {
    this.#loop ??= this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#watching?.abort();
    await this.#loop;
  }

  /** Resolves when the cache contains the first list. */
  synced(): Promise<void> {
    return this.#firstList.promise;
  }

  /** Whether the cache contains the first list, or a later one. */
  isSynced(): boolean {
    return this.#confirmedMs !== null;
  }

  /** False before the first list, and when no watch has confirmed the cache for `freshMs`. */
  isFresh(): boolean {
    const sinceMs = this.#options.clock.monotonicMs() - (this.#confirmedMs ?? -Infinity);
    return sinceMs < this.#timing.freshMs;
  }

  /** True while the API server returns 403 for list or watch. The informer keeps retrying. */
  isForbidden(): boolean {
    return this.#isForbidden;
  }

  /** The namespaces whose objects are not all cached, because they exceed their part of the memory. */
  get fullNamespaces(): ReadonlySet<string> {
    return this.#budget.full;
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
      const startedMs = this.#options.clock.monotonicMs();
      try {
        this.#version ??= await this.#list();
        await this.#watch(this.#version);
        if (this.#mayHaveRoom && this.#options.clock.monotonicMs() - this.#listedMs >= RELIST_MS)
          this.#version = null;
      } catch (error) {
        if (!signal.aborted) await this.#backOff(error, startedMs);
      }
    }
  }

  /** Waits after an error: exponential backoff with jitter, and at least the Retry-After of the server. */
  async #backOff(error: unknown, startedMs: number): Promise<void> {
    const { clock, logger, resource } = this.#options;
    const retryAfterMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    this.#isForbidden = error instanceof KubeError && error.status === 403;
    // An expired version also waits here, so that the list that follows does not run in a tight loop.
    // An attempt that took longer than the longest delay needs no longer backoff.
    const isSlow = clock.monotonicMs() - startedMs > this.#timing.backoff.maxMs;
    const delay = Math.max(retryAfterMs, halfJitter(isSlow ? 0 : this.#failures, this.#timing.backoff));
    this.#failures += 1;
    // A version unknown to the server (its store was restored) always fails, so repeated failures also lead to a new list.
    // An unavailable or overloaded server has not checked the version, and lists from all clients would add load.
    const isUnavailable = error instanceof KubeError && [0, 429, 503].includes(error.status);
    if (!isUnavailable) this.#versionFailures += 1;
    if (this.#versionFailures >= FAILURES_UNTIL_LIST) this.#version = null;
    const fields = { resource: resource.plural, error: describeError(error), retryInMs: Math.round(delay) };
    // Warns on the second, fourth, eighth, ... consecutive failure, so that a lasting failure does not fill the log.
    if (this.#failures > 1 && Number.isInteger(Math.log2(this.#failures)))
      logger.warn('list or watch failed', fields);
    else logger.debug('list or watch interrupted', fields);
    await clock.sleep(delay, this.#stop.signal).catch(() => undefined);
  }

  #newBudget(): NamespaceBudget {
    const { logger, resource, namespacePart = 1 / 16 } = this.#options;
    const maxBytes = partOfHeap(namespacePart);
    return new NamespaceBudget(maxBytes, (namespace) =>
      logger.warn('namespace exceeds its part of the memory, objects ignored', {
        ...{ resource: resource.plural, namespace, maxBytes },
      }),
    );
  }

  async #list(): Promise<string> {
    const { client, clock, resource, selection } = this.#options;
    const before = this.#cache;
    const budget = this.#newBudget();
    const keep = (item: T): T | null => {
      const old = before.get(keyText(item.metadata));
      // Keeps the old object if the version is the same, so that no second copy is in memory.
      const isKnown = old !== undefined && old.metadata.resourceVersion === item.metadata.resourceVersion;
      const object = isKnown ? old : this.#keep(item);
      return object !== null && budget.admits(object) ? object : null;
    };
    const all = { ...selection, keep };
    const { items, resourceVersion } = await listObjects(client, resource, all, this.#stop.signal);
    this.#budget = budget;
    this.#mayHaveRoom = false;
    this.#listedMs = clock.monotonicMs();
    this.#cache = new Map(items.map((item) => [keyText(item.metadata), item]));
    for (const [key, object] of this.#cache) this.#announce(before.get(key), object);
    for (const [key, object] of before)
      if (!this.#cache.has(key)) this.#options.onChange?.({ type: 'deleted', object });
    this.#confirmedMs ??= this.#listedMs;
    this.#versionFailures = 0;
    this.#firstList.resolve();
    return resourceVersion;
  }

  #keep(object: T): T | null {
    return this.#options.keep ? this.#options.keep(object) : object;
  }

  #announce(before: T | undefined, object: T): void {
    if (!before) this.#options.onChange?.({ type: 'added', object });
    else if (before.metadata.resourceVersion !== object.metadata.resourceVersion)
      this.#options.onChange?.({ type: 'modified', object, before });
  }

  /**
   * Returns when the server closes the watch. Throws when the watch breaks, is rejected, ends immediately or not in time.
   * Watches are short, because only the missing end distinguishes a dead watch from a quiet one.
   */
  async #watch(resourceVersion: string): Promise<void> {
    const { client, clock, resource, selection = {} } = this.#options;
    const { namespace, labelSelector, fieldSelector, only } = selection;
    // After a failure the watch is as short as possible, because its end shows that the failure is over.
    const ms = this.#failures > 0 ? 1 : this.#timing.watchMs * (0.75 + Math.random() / 2);
    const seconds = Math.ceil(ms / 1_000);
    const watchQuery = { watch: true, allowWatchBookmarks: true, timeoutSeconds: seconds, resourceVersion };
    const opened = clock.monotonicMs();
    const watching = (this.#watching = new AbortController());
    if (this.#stop.signal.aborted) return;
    let timer: NodeJS.Timeout | undefined;
    try {
      const stream = await client.stream({
        method: 'GET',
        path: collectionPath(resource, namespace),
        query: { labelSelector, fieldSelector, ...watchQuery },
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
      timer = setTimeout(() => {
        stream.reconnect();
        watching.abort(new Error('the watch did not end in time'));
      }, limitMs);
      for await (const event of jsonLines(stream.chunks)) this.#receive(event as WatchEvent<T>);
      if (clock.monotonicMs() - opened < SHORTEST_WATCH_MS)
        throw new Error('the server closed the watch immediately');
      this.#confirm();
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
    // Not when the watch opens: a server whose watches open and then break must not be called in a tight loop.
    this.#confirm();
    const version = event.object.metadata.resourceVersion;
    if (version) this.#version = version;
    if (event.type === 'BOOKMARK') return;
    const key = keyText(event.object.metadata);
    const before = this.#cache.get(key);
    const object = event.type === 'DELETED' ? null : this.#keep(event.object);
    if (event.type === 'DELETED')
      this.#mayHaveRoom ||= this.#budget.full.has(event.object.metadata.namespace ?? '');
    if (before) this.#budget.release(before);
    if (object === null || !this.#budget.admits(object)) {
      this.#cache.delete(key);
      if (before) this.#options.onChange?.({ type: 'deleted', object: before });
      return;
    }
    this.#cache.set(key, object);
    this.#announce(before, object);
  }

  #confirm(): void {
    this.#confirmedMs = this.#options.clock.monotonicMs();
    this.#failures = this.#versionFailures = 0;
    this.#isForbidden = false;
  }
}

/** Converts the object of an ERROR event, a Status, to a KubeError. */
function errorOf(object: object): KubeError {
  const status: { code?: number; reason?: string; message?: string } = object;
  const { code = 500, reason = '', message = 'the watch ended with an error' } = status;
  return new KubeError({ status: code, reason, message, retryAfterMs: null });
}

/** Parses each line of a watch as JSON. A last line without a line feed is incomplete and is dropped. */
export async function* jsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  // Pieces are joined once per line, because an object of a megabyte arrives in many chunks.
  let pieces: string[] = [];
  for await (const chunk of chunks) {
    const lines = decoder.decode(chunk, { stream: true }).split('\n');
    const rest = lines.pop() ?? '';
    for (const line of lines) {
      const text = pieces.join('') + line;
      pieces = [];
      if (text.trim() !== '') yield JSON.parse(text);
    }
    if (rest !== '') pieces.push(rest);
  }
}
