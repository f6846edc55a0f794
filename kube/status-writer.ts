import { systemClock, type Clock } from '../runtime/clock.ts';
import { fullJitter } from './backoff.ts';
import { KubeError, type KubeClient } from './client.ts';
import { mergePatchOf } from './merge-patch.ts';
import { getObject } from './objects.ts';
import { keyText, objectPath, type ObjectKey, type Resource } from './resources.ts';
import { Semaphore } from './semaphore.ts';
import type { ObjectMeta } from './types.ts';

interface WithStatus<S> {
  metadata: ObjectMeta;
  status?: S;
}

/**
 * Computes the complete status that `current` should have; null: no change.
 * It must be pure, because it runs again on a newer object after a write conflict.
 */
export type StatusUpdate<T, S> = (current: T) => S | null;

/** `object` is what the API server stored. */
export type WriteResult<T> = { outcome: 'written' | 'unchanged'; object: T } | { outcome: 'missing' };

export interface StatusWriterOptions<T> {
  client: KubeClient;
  resource: Resource<T>;
  fieldManager: string;
  clock?: Clock;
  /** Called when another process wrote between the read and the write, before the retry. */
  onConflict?: () => void;
}

interface Waiting<T, S> extends PromiseWithResolvers<WriteResult<T>> {
  update: StatusUpdate<T, S>;
}

/** Objects written concurrently. */
const CONCURRENCY = 8;
/** With full jitter of 0..20 ms·2^n, eight writers of one object need up to 18 attempts. */
const MAX_TRIES = 30;
const CONFLICT_DELAY = { baseMs: 20, maxMs: 2_000 };

/**
 * Every process writes a status through this class.
 * Reads, computes, compares and sends a merge patch with the resourceVersion that was read; retries on 409.
 * Does not use server-side apply: replicas share aggregates (worst phase, sum of tokens), and the API server would delete
 * the fields that one replica omits. Per object one write is in progress; later updates are merged into the next write.
 */
export class StatusWriter<T extends WithStatus<S>, S extends object> {
  readonly #options: StatusWriterOptions<T>;
  readonly #queues = new Map<string, Waiting<T, S>[]>();
  readonly #semaphore = new Semaphore(CONCURRENCY);

  constructor(options: StatusWriterOptions<T>) {
    this.#options = options;
  }

  /** Resolves when the update is stored. Throws a KubeError when the API server returns an error or is unreachable. */
  write(key: ObjectKey, update: StatusUpdate<T, S>): Promise<WriteResult<T>> {
    const waiting = { update, ...Promise.withResolvers<WriteResult<T>>() };
    const queue = this.#queues.get(keyText(key));
    if (queue) queue.push(waiting);
    else void this.#drain(key, [waiting]);
    return waiting.promise;
  }

  async #drain(key: ObjectKey, queue: Waiting<T, S>[]): Promise<void> {
    this.#queues.set(keyText(key), queue);
    while (queue.length > 0) await this.#storeAll(key, queue);
    this.#queues.delete(keyText(key));
  }

  async #storeAll(key: ObjectKey, queue: Waiting<T, S>[]): Promise<void> {
    const batch: Waiting<T, S>[] = [];
    try {
      const result = await this.#store(key, batch, queue);
      for (const waiting of batch) waiting.resolve(result);
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }

  async #store(key: ObjectKey, batch: Waiting<T, S>[], queue: Waiting<T, S>[]): Promise<WriteResult<T>> {
    const { clock = systemClock, onConflict } = this.#options;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      // Not while it waits: an object that other clients change all the time must not delay others.
      const result = await this.#semaphore.run(() => {
        batch.push(...queue.splice(0));
        return this.#tryToStore(key, batch);
      });
      if (result.outcome !== 'conflict') return result;
      onConflict?.();
      await clock.sleep(fullJitter(tries, CONFLICT_DELAY));
    }
    const message = `the status of ${keyText(key)} could not be written in ${MAX_TRIES} attempts`;
    throw new KubeError({ status: 409, reason: 'Conflict', message, retryAfterMs: null });
  }

  async #tryToStore(
    key: ObjectKey,
    batch: readonly Waiting<T, S>[],
  ): Promise<WriteResult<T> | { outcome: 'conflict' }> {
    const { client, resource, fieldManager } = this.#options;
    // Read from the API server, not from an informer: compared with a stale copy, a needed write could look like no change.
    const current = await getObject(client, resource, key);
    if (!current) return { outcome: 'missing' };
    const next = batch.reduce<T>((object, { update }) => {
      const status = update(object);
      return status === null ? object : { ...object, status };
    }, current);
    const patch = mergePatchOf(current.status, next.status);
    if (!patch) return { outcome: 'unchanged', object: current };
    const response = await client.send<T>({
      method: 'PATCH',
      path: objectPath(resource, key, 'status'),
      query: { fieldManager },
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion: current.metadata.resourceVersion }, status: patch },
    });
    if (response.ok) return { outcome: 'written', object: response.body };
    if (response.status === 404) return { outcome: 'missing' };
    if (response.status === 409) return { outcome: 'conflict' };
    throw new KubeError(response);
  }
}
