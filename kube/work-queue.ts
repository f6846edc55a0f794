import { systemClock, type Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { halfJitter } from './backoff.ts';
import { KubeError } from './client.ts';

export interface WorkQueueOptions {
  /** For logs and metrics. */
  name: string;
  /** Brings the object of `key` to where it should be. Asks to be called again after `againInMs`; a rejection is tried again with back-off. */
  work: (key: string, signal: AbortSignal) => Promise<Again | undefined>;
  logger: Logger;
  clock?: Clock;
  /** Keys worked on at the same time; default 4. */
  concurrency?: number;
  /** Per key, after errors. Milliseconds. */
  backoff?: { baseMs: number; maxMs: number };
  observe?: WorkObserver;
}

export interface Again {
  againInMs: number;
}

/** Where metrics hook in. */
export type WorkObserver = (done: {
  queue: string;
  outcome: 'success' | 'requeue_after' | 'error';
  seconds: number;
}) => void;

/**
 * Keys to work on. A key is worked on by one worker at a time; added again meanwhile, it is worked on once more after;
 * added many times while it waits, it is worked on once.
 */
export interface WorkQueue {
  add(key: string): void;
  /** Adds the key later; an earlier time wins over one that is waiting. */
  addAfter(key: string, ms: number): void;
  /** Keys that wait now, without those whose time has not come. */
  readonly length: number;
  start(): void;
  /** Stops taking keys, aborts the signal of running work and waits for it. */
  close(): Promise<void>;
}

const BACKOFF = { baseMs: 200, maxMs: 60_000 };

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  return new KeyedQueue(options);
}

class KeyedQueue implements WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** Insertion order is the order of work. */
  readonly #ready = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #later = new Map<string, { atMs: number; timer: NodeJS.Timeout }>();
  readonly #failures = new Map<string, number>();
  #started = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  get length(): number {
    return this.#ready.size;
  }

  add(key: string): void {
    if (this.#stop.signal.aborted) return;
    this.#forgetTimer(key);
    this.#ready.add(key);
    this.#pump();
  }

  addAfter(key: string, ms: number): void {
    if (this.#stop.signal.aborted || this.#ready.has(key)) return;
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

  async close(): Promise<void> {
    this.#stop.abort();
    for (const key of [...this.#later.keys()]) this.#forgetTimer(key);
    this.#ready.clear();
    await Promise.all(this.#running.values());
  }

  #forgetTimer(key: string): void {
    clearTimeout(this.#later.get(key)?.timer);
    this.#later.delete(key);
  }

  #pump(): void {
    if (!this.#started) return;
    for (const key of this.#ready) {
      if (this.#running.size >= (this.#options.concurrency ?? 4)) return;
      if (this.#running.has(key)) continue;
      this.#ready.delete(key);
      this.#running.set(key, this.#run(key));
    }
  }

  async #run(key: string): Promise<void> {
    const { name, work, observe } = this.#options;
    const began = this.#clock.monotonicMs();
    let outcome: Parameters<WorkObserver>[0]['outcome'] = 'success';
    try {
      const again = await work(key, this.#stop.signal);
      this.#failures.delete(key);
      if (again) {
        outcome = 'requeue_after';
        this.addAfter(key, again.againInMs);
      }
    } catch (error) {
      outcome = 'error';
      this.#retry(key, error);
    } finally {
      observe?.({ queue: name, outcome, seconds: (this.#clock.monotonicMs() - began) / 1000 });
      this.#running.delete(key);
      this.#pump();
    }
  }

  #retry(key: string, error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const delay = Math.max(asked, halfJitter(failures, this.#options.backoff ?? BACKOFF));
    this.#options.logger.warn('work fails', {
      queue: this.#options.name,
      key,
      error: describeError(error),
      retryInMs: Math.round(delay),
    });
    this.addAfter(key, delay);
  }
}
