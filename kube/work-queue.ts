import { systemClock, type Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { halfJitter } from './backoff.ts';
import { KubeError } from './client.ts';
import { isOutage, isThrottled, Outage } from './outage.ts';

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

/** Where metrics hook in; `queue` is the queue's name, `key` what is worked on. */
export interface WorkObserver {
  created(queue: string, concurrency: number): void;
  added(queue: string): void;
  /** Work begins `waitedSeconds` after the key was added. */
  began(queue: string, key: string, waitedSeconds: number): void;
  done(work: { queue: string; key: string; outcome: WorkOutcome; seconds: number }): void;
}

/** An error is tried again. */
export type WorkOutcome = 'success' | 'requeue_after' | 'error';

/**
 * Keys to work on. A key is worked on by one worker at a time; added again meanwhile, it is worked on once more after;
 * added many times while it waits, it is worked on once. While the API server is away one key is tried now and then, and
 * all others wait; a key that fails like this again and again while others succeed waits alone.
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

/** Of one key, until it succeeds. */
interface Failures {
  /** That the API server is to blame for, and that nothing else is. */
  away: number;
  own: number;
  /** How often any key had succeeded at the last one. */
  successes: number;
}

const BACKOFF = { baseMs: 200, maxMs: 60_000 };
/** The key is not to blame, and is due as soon as the outage is over. */
const OUTAGE_BACKOFF = { baseMs: 200, maxMs: 5_000 };
/** Of keys that an API server does not take which takes others: all of them together ask it about forty times a second. */
const BETWEEN_REFUSED_MS = 25;

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  return new KeyedQueue(options);
}

class KeyedQueue implements WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  /** Insertion order is the order of work; with each key the time since which it waits. */
  readonly #ready = new Map<string, number>();
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
    this.#concurrency = options.concurrency ?? 4;
    this.#outage = new Outage(this.#clock, () => this.#pump());
    options.observe?.created(options.name, this.#concurrency);
  }

  get length(): number {
    return this.#ready.size;
  }

  add(key: string): void {
    if (this.#stop.signal.aborted) return;
    this.#forgetTimer(key);
    if (!this.#ready.has(key)) {
      this.#ready.set(key, this.#clock.monotonicMs());
      this.#options.observe?.added(this.#options.name);
    }
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
    this.#outage.end();
    await Promise.all(this.#running.values());
  }

  #forgetTimer(key: string): void {
    clearTimeout(this.#later.get(key)?.timer);
    this.#later.delete(key);
  }

  #pump(): void {
    if (!this.#started) return;
    for (const [key, sinceMs] of this.#ready) {
      if (this.#running.size >= this.#outage.limit(this.#concurrency)) return;
      if (this.#running.has(key)) continue;
      this.#ready.delete(key);
      this.#running.set(key, this.#run(key, sinceMs));
    }
  }

  async #run(key: string, sinceMs: number): Promise<void> {
    const { name, work, observe } = this.#options;
    const began = this.#clock.monotonicMs();
    observe?.began(name, key, (began - sinceMs) / 1000);
    let outcome: WorkOutcome = 'success';
    try {
      const again = await work(key, this.#stop.signal);
      this.#failures.delete(key);
      this.#successes += 1;
      this.#outage.end();
      if (again) {
        outcome = 'requeue_after';
        this.addAfter(key, again.againInMs);
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
    const before = this.#failures.get(key) ?? { away: 0, own: 0, successes };
    // Others have succeeded since it failed like this: the API server is there, and does not take this one.
    const isAway = isOutage(error) && (isThrottled(error) || before.successes === successes);
    const failures = {
      ...before,
      successes,
      ...(isAway ? { away: before.away + 1 } : { own: before.own + 1 }),
    };
    this.#failures.set(key, failures);
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const backoff = this.#options.backoff ?? this.#backoffFor(error, isAway);
    const delay = Math.max(asked, halfJitter(isAway ? before.away : before.own, backoff));
    if (isAway) this.#outage.begin(asked);
    this.#options.logger.warn('work fails', {
      queue: this.#options.name,
      key,
      error: describeError(error),
      retryInMs: Math.round(delay),
    });
    this.addAfter(key, delay);
  }

  #backoffFor(error: unknown, isAway: boolean): { baseMs: number; maxMs: number } {
    if (!isOutage(error)) return BACKOFF;
    if (isAway) return OUTAGE_BACKOFF;
    const { baseMs, maxMs } = OUTAGE_BACKOFF;
    const apartMs = this.#failures.size * BETWEEN_REFUSED_MS;
    return { baseMs, maxMs: Math.min(BACKOFF.maxMs, Math.max(maxMs, apartMs)) };
  }
}
