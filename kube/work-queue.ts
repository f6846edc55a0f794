import { systemClock, type Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { halfJitter } from './backoff.ts';
import { KubeError } from './client.ts';

export interface WorkQueueOptions {
  /** For logs and metrics. */
  name: string;
  /** Reconciles the object of `key`. The result may request another call; a rejection is retried with backoff. */
  work: (key: string, signal: AbortSignal) => Promise<Requeue | undefined>;
  logger: Logger;
  clock?: Clock;
  /** Keys processed concurrently; default 5. */
  concurrency?: number;
  /** The namespace of a key. One namespace never has all workers, and its waiting keys do not delay those of others. Default: none. */
  namespaceOf?: (key: string) => string;
  /** Per key, after errors. Milliseconds. */
  backoff?: { baseMs: number; maxMs: number };
  observe?: WorkObserver;
}

export interface Requeue {
  requeueAfterMs: number;
}

/** Hook for metrics; `queue` is the queue's name, `key` is the processed key. */
export interface WorkObserver {
  created(queue: string, concurrency: number): void;
  added(queue: string): void;
  /** Work starts `waitedSeconds` after the key was added. */
  began(queue: string, key: string, waitedSeconds: number): void;
  done(work: { queue: string; key: string; outcome: WorkOutcome; seconds: number }): void;
}

/** After `error` the key is retried. */
export type WorkOutcome = 'success' | 'requeue_after' | 'error';

/** The failures of one key since its last success. */
interface Failures {
  /** Failures during an outage of the API server. */
  outage: number;
  /** Failures of the key itself. */
  own: number;
  /** The total number of successes, of any key, at the time of the last failure. */
  successes: number;
}

const BACKOFF = { baseMs: 200, maxMs: 60_000 };
/** For failures in an outage: the key must be due soon after the outage is over. */
const OUTAGE_BACKOFF = { baseMs: 200, maxMs: 5_000 };
/** Spreads keys that keep failing while others succeed: all of them together cause about forty requests per second. */
const BETWEEN_FAILING_MS = 25;

/**
 * A queue of keys. One worker at a time processes a key. A key that is added during its processing is processed once more.
 * A key that is added several times while it waits is processed once.
 * While the API server is unavailable, one key is tried from time to time and all others wait. If one key keeps failing
 * in the same manner while others succeed, only that key waits.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** By namespace, key and the time since which it waits. Insertion order is the processing order; namespaces take turns. */
  readonly #ready = new Map<string, Map<string, number>>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #later = new Map<string, { atMs: number; timer: NodeJS.Timeout }>();
  readonly #failures = new Map<string, Failures>();
  #successes = 0;
  readonly #outage: Outage;
  readonly #concurrency: number;
  #started = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#concurrency = options.concurrency ?? 5;
    this.#outage = new Outage(this.#clock, () => this.#pump());
    options.observe?.created(options.name, this.#concurrency);
  }

  get name(): string {
    return this.#options.name;
  }

  /** Number of keys that are due and wait; scheduled keys are not counted. */
  get length(): number {
    return [...this.#ready.values()].reduce((sum, keys) => sum + keys.size, 0);
  }

  add(key: string): void {
    if (this.#stop.signal.aborted) return;
    this.#forgetTimer(key);
    if (!this.#isReady(key)) {
      const namespace = this.#namespaceOf(key);
      const keys = this.#ready.get(namespace) ?? new Map<string, number>();
      this.#ready.set(namespace, keys.set(key, this.#clock.monotonicMs()));
      this.#options.observe?.added(this.#options.name);
    }
    this.#pump();
  }

  /** Adds the key later. If the key is already scheduled, the earlier time applies. */
  addAfter(key: string, ms: number): void {
    if (this.#stop.signal.aborted || this.#isReady(key)) return;
    const atMs = this.#clock.monotonicMs() + ms;
    const waiting = this.#later.get(key);
    if (waiting && waiting.atMs <= atMs) return;
    this.#forgetTimer(key);
    this.#later.set(key, { atMs, timer: setTimeout(() => this.add(key), ms).unref() });
  }

  start(): void {
    this.#started = true;
    this.#pump();
  }

  /** Stops accepting keys, aborts the signal of running work and waits for the work to end. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const key of [...this.#later.keys()]) this.#forgetTimer(key);
    this.#ready.clear();
    this.#outage.end();
    await Promise.all(this.#running.values());
  }

  #forgetTimer(key: string): void {
    clearTimeout(this.#later.get(key)?.timer);
    this.#later.delete(key);
  }

  #namespaceOf(key: string): string {
    return this.#options.namespaceOf?.(key) ?? '';
  }

  #isReady(key: string): boolean {
    return this.#ready.get(this.#namespaceOf(key))?.has(key) ?? false;
  }

  #pump(): void {
    if (!this.#started) return;
    while (this.#running.size < this.#outage.limit(this.#concurrency)) {
      const next = this.#next();
      if (next === null) return;
      this.#running.set(next.key, this.#run(next.key, next.sinceMs));
    }
  }

  /** Removes and returns the first key that may run, of the namespace that has waited longest for its turn; null: there is none. */
  #next(): { key: string; sinceMs: number } | null {
    for (const [namespace, keys] of this.#ready) {
      if (this.#hasMostWorkers(namespace)) continue;
      const key = firstOf(keys, (each) => !this.#running.has(each));
      if (key === undefined) continue;
      const sinceMs = keys.get(key) ?? 0;
      keys.delete(key);
      this.#ready.delete(namespace);
      if (keys.size > 0) this.#ready.set(namespace, keys);
      return { key, sinceMs };
    }
    return null;
  }

  /** Another namespace must not wait until one of many slow keys of this namespace has ended. */
  #hasMostWorkers(namespace: string): boolean {
    if (this.#options.namespaceOf === undefined) return false;
    const running = [...this.#running.keys()].filter((key) => this.#namespaceOf(key) === namespace);
    return running.length >= Math.max(this.#concurrency - 1, 1);
  }

  async #run(key: string, sinceMs: number): Promise<void> {
    const { name, work, observe } = this.#options;
    const began = this.#clock.monotonicMs();
    observe?.began(name, key, (began - sinceMs) / 1000);
    let outcome: WorkOutcome = 'success';
    try {
      const requeue = await work(key, this.#stop.signal);
      this.#failures.delete(key);
      this.#successes += 1;
      this.#outage.end();
      if (requeue) {
        outcome = 'requeue_after';
        this.addAfter(key, requeue.requeueAfterMs);
      }
    } catch (error) {
      outcome = 'error';
      this.#retry(key, error);
    } finally {
      observe?.done({ queue: name, key, outcome, seconds: (this.#clock.monotonicMs() - began) / 1000 });
      this.#running.delete(key);
      this.#pump();
    }
  }

  #retry(key: string, error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const successes = this.#successes;
    const before = this.#failures.get(key) ?? { outage: 0, own: 0, successes };
    // If other keys have succeeded since the last failure of this key, the API server is available and rejects only this key.
    const isInOutage = isOutage(error) && (isThrottled(error) || before.successes === successes);
    const failures = {
      ...before,
      successes,
      ...(isInOutage ? { outage: before.outage + 1 } : { own: before.own + 1 }),
    };
    this.#failures.set(key, failures);
    const retryAfterMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const backoff = this.#options.backoff ?? this.#backoffFor(error, isInOutage);
    const delay = Math.max(retryAfterMs, halfJitter(isInOutage ? before.outage : before.own, backoff));
    if (isInOutage) this.#outage.begin(retryAfterMs);
    this.#options.logger.warn('reconcile failed', {
      queue: this.#options.name,
      key,
      error: describeError(error),
      retryInMs: Math.round(delay),
    });
    this.addAfter(key, delay);
  }

  #backoffFor(error: unknown, isInOutage: boolean): { baseMs: number; maxMs: number } {
    if (!isOutage(error)) return BACKOFF;
    if (isInOutage) return OUTAGE_BACKOFF;
    const { baseMs, maxMs } = OUTAGE_BACKOFF;
    const spreadMs = this.#failures.size * BETWEEN_FAILING_MS;
    return { baseMs, maxMs: Math.min(BACKOFF.maxMs, Math.max(maxMs, spreadMs)) };
  }
}

function firstOf(keys: ReadonlyMap<string, number>, fits: (key: string) => boolean): string | undefined {
  // Without a list of all keys.
  for (const key of keys.keys()) if (fits(key)) return key;
  return undefined;
}

/** Between two attempts during an outage. */
const PAUSE = { baseMs: 200, maxMs: 5_000 };

/** The API server did not respond, is overloaded or failed, so other keys probably fail as well. */
function isOutage(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

/** The API server throttles all requests, independent of the key. */
function isThrottled(error: unknown): boolean {
  return error instanceof KubeError && error.status === 429;
}

/** Limits the concurrent keys: none during a growing pause after a failure, then one, and all after a success. */
class Outage {
  readonly #clock: Clock;
  readonly #resume: () => void;
  #failures = 0;
  #pause: AbortController | null = null;

  constructor(clock: Clock, resume: () => void) {
    this.#clock = clock;
    this.#resume = resume;
  }

  limit(concurrency: number): number {
    if (this.#pause) return 0;
    return this.#failures > 0 ? 1 : concurrency;
  }

  /** `retryAfterMs`: the Retry-After of the server. Work in progress that fails in the same pause counts as one failure. */
  begin(retryAfterMs: number): void {
    if (this.#pause) return;
    const pause = (this.#pause = new AbortController());
    const ms = Math.max(retryAfterMs, halfJitter(this.#failures, PAUSE));
    this.#failures += 1;
    void this.#clock
      .sleep(ms, pause.signal)
      .catch(() => undefined)
      .then(() => {
        if (this.#pause !== pause) return;
        this.#pause = null;
        this.#resume();
      });
  }

  end(): void {
    this.#failures = 0;
    const pause = this.#pause;
    this.#pause = null;
    pause?.abort();
  }
}
