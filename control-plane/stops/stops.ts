import { hasEnded, stopFinder, stopId, type AgentStop } from '../../core/organisation/stops.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import { Problem } from '../../runtime/problem.ts';
import type { AgentKey } from '../stores/store.ts';
import type { StopStorage } from './stop-storage.ts';

/** The namespace of the release if neither a pod nor a kubeconfig names one. */
export const DEFAULT_ROOT_NAMESPACE = 'platform-system';
/** How long a request waits for the storage, in milliseconds. Then the stop applies without it. */
const STORE_MS = 2_000;
/** Pause between two attempts to store, in milliseconds. */
const RETRY_MS = 2_000;
/** How long a stored stop applies without being in the list of the storage, in milliseconds. A watch may be late. */
const LISTED_MS = 30_000;

export interface StopsOptions {
  storage: StopStorage;
  /** The namespace of the release, whose stops may be about several namespaces. */
  rootNamespace: string;
  clock: Clock;
  logger: Logger;
}

export interface StopState {
  stop: AgentStop;
  isStored: boolean;
}

/** A stop that was requested here, until the list of the storage has it. */
interface Kept {
  stop: AgentStop;
  /** `withdrawn`: it does not apply any more, but an attempt to store it may have succeeded. */
  state: 'waiting' | 'stored' | 'withdrawn';
  /** When it was stored, monotonic. */
  storedMs: number;
  /** The log says that the storage rejected it. */
  isRejected?: true;
}

interface Known {
  states: readonly StopState[];
  find: ReturnType<typeof stopFinder>;
}

/**
 * The stops of the fleet. A stop that the storage does not accept in time applies at once, in the memory of this process, and is
 * stored later.
 */
export class Stops {
  readonly rootNamespace: string;
  readonly #options: StopsOptions;
  readonly #kept = new Map<string, Kept>();
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  /** null: changed since its last use. */
  #known: Known | null = null;
  #isSettling = false;

  constructor(options: StopsOptions) {
    this.#options = options;
    this.rootNamespace = options.rootNamespace;
  }

  start(): Promise<void> {
    return this.#options.storage.start(() => this.#changed());
  }

  async close(): Promise<void> {
    this.#stop.abort();
    const lost = [...this.#kept.values()].filter(({ state }) => state === 'waiting').length;
    if (lost > 0) this.#options.logger.warn('stopped with agent stops that are not stored', { stops: lost });
    await this.#options.storage.close();
  }

  /** Calls `listener` after each change, but not when a stop ends. Returns a function that ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The stops that have not ended; null: not known. */
  list(at: Date): StopState[] | null {
    if (!this.#isKnown()) return null;
    return this.#all().states.filter(({ stop }) => !hasEnded(stop, at));
  }

  /** The stop of an agent; null: it may run; undefined: the stops are not known. */
  of(agent: AgentKey, at: Date): AgentStop | null | undefined {
    return this.#all().find(agent, at) ?? (this.#isKnown() ? null : undefined);
  }

  /** When the next stop ends by itself, in milliseconds since the epoch; Infinity: none does. */
  nextEndMs(at: Date): number {
    let next = Infinity;
    for (const { stop } of this.#all().states) {
      const ms = stop.spec.until === undefined ? Infinity : Date.parse(stop.spec.until);
      if (ms > at.getTime() && ms < next) next = ms;
    }
    return next;
  }

  /** Adds a stop. Rejects if the storage does not accept it. */
  async add(stop: AgentStop): Promise<StopState> {
    const kept: Kept = { stop, state: 'waiting', storedMs: 0 };
    const isStored = await this.#inTime(this.#store(kept));
    this.#kept.set(stopId(stop), kept);
    if (!isStored)
      this.#options.logger.warn('agent stop applies in memory only, storage unavailable', {
        stop: stopId(stop),
      });
    this.#changed();
    this.#settle();
    return { stop: kept.stop, isStored };
  }

  /** Ends a stop; false: there is no such stop. Rejects while the storage is unavailable. */
  async remove(key: AgentKey): Promise<boolean> {
    const kept = this.#kept.get(stopId(key));
    if (kept?.state === 'withdrawn') return false;
    if (kept?.state === 'waiting') {
      kept.state = 'withdrawn';
      this.#changed();
      return true;
    }
    const isRemoved = await this.#options.storage.remove(key);
    if (this.#kept.delete(stopId(key))) this.#changed();
    return isRemoved;
  }

  #changed(): void {
    this.#known = null;
    const listed = new Set(this.#options.storage.list()?.map(stopId));
    for (const [id, { state }] of this.#kept)
      if (state !== 'withdrawn' && listed.has(id)) this.#kept.delete(id);
    for (const listener of this.#listeners) listener();
  }

  #isKnown(): boolean {
    return this.#options.storage.list() !== null;
  }

  #all(): Known {
    this.#known ??= this.#merge();
    return this.#known;
  }

  #merge(): Known {
    const stored = (this.#options.storage.list() ?? []).filter((stop) => !this.#kept.has(stopId(stop)));
    const kept = [...this.#kept.values()].filter(({ state }) => state !== 'withdrawn');
    const states = [
      ...stored.map((stop) => ({ stop, isStored: true })),
      ...kept.map(({ stop, state }) => ({ stop, isStored: state === 'stored' })),
    ];
    const all = states.map(({ stop }) => stop);
    return { states, find: stopFinder(all, this.rootNamespace) };
  }

  async #store(kept: Kept): Promise<void> {
    const { storage, clock } = this.#options;
    kept.stop = await storage.create(kept.stop);
    kept.storedMs = clock.monotonicMs();
    if (kept.state === 'waiting') kept.state = 'stored';
  }

  /** Whether the work was done in time. Rejects if it is rejected for another reason than an outage. */
  async #inTime(work: Promise<void>): Promise<boolean> {
    const timer = new AbortController();
    const timeout = slept(this.#options.clock, STORE_MS, timer.signal).then(() => false);
    try {
      return await Promise.race([work.then(() => true), timeout]);
    } catch (error) {
      if (isOutage(error)) return false;
      throw error;
    } finally {
      timer.abort();
    }
  }

  /** Works until the storage has every kept stop. */
  #settle(): void {
    if (this.#isSettling || this.#kept.size === 0 || this.#stop.signal.aborted) return;
    this.#isSettling = true;
    void this.#retry().finally(() => {
      this.#isSettling = false;
      this.#settle();
    });
  }

  async #retry(): Promise<void> {
    const { clock } = this.#options;
    while (this.#kept.size > 0 && (await slept(clock, RETRY_MS, this.#stop.signal)))
      for (const [id, kept] of [...this.#kept]) await this.#settleOne(id, kept);
  }

  async #settleOne(id: string, kept: Kept): Promise<void> {
    const { clock, logger, storage } = this.#options;
    const isLate = clock.monotonicMs() - kept.storedMs > LISTED_MS;
    const isOver = kept.state === 'stored' ? isLate : hasEnded(kept.stop, clock.now());
    try {
      if (kept.state === 'withdrawn') {
        await storage.remove(kept.stop);
        // The watch may show it for a moment.
        if (storage.list()?.some((stop) => stopId(stop) === id) !== true) this.#kept.delete(id);
        return;
      }
      if (isOver) this.#kept.delete(id);
      else if (kept.state === 'waiting') {
        await this.#store(kept);
        logger.info('agent stop stored after an outage', { stop: id });
      } else return;
      this.#changed();
    } catch (error) {
      // A server that starts rejects what it accepts a moment later, so no rejection ends a stop.
      if (isOutage(error) || kept.isRejected === true) return;
      kept.isRejected = true;
      logger.error('agent stop rejected by the storage, applies in memory only', {
        ...{ stop: id, error: describeError(error) },
      });
    }
  }
}

const isOutage = (error: unknown): boolean => error instanceof Problem && error.status === 503;
