import type { AgentStop } from '../../core/organisation/stops.ts';
import type { AgentStops } from '../../kube/agent-stops.ts';
import { KubeError } from '../../kube/client.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { Problem } from '../../runtime/problem.ts';
import type { ApiServerOutage } from '../outage-log.ts';
import { unavailable } from '../stores/kubernetes/problems.ts';
import type { AgentKey, StopRows } from '../stores/store.ts';

/** Where stops are kept. Methods reject with a Problem: 503 if the storage is unavailable. */
export interface StopStorage {
  /** @param onChange called after each change of the list */
  start(onChange: () => void): Promise<void>;
  close(): Promise<void>;
  /** null: not known yet. While the storage is unavailable: the last known ones. */
  list(): readonly AgentStop[] | null;
  /** Stores a stop, unless it is stored. */
  create(stop: AgentStop): Promise<AgentStop>;
  /** false: there is no such stop. */
  remove(key: AgentKey): Promise<boolean>;
}

/** Without a cluster and without a database. */
export const NO_STOPS: StopStorage = {
  start: () => Promise.resolve(),
  close: () => Promise.resolve(),
  list: () => [],
  create: (stop) => Promise.resolve(stop),
  remove: () => Promise.resolve(false),
};

/** The AgentStops of a cluster. */
export function clusterStops(stops: AgentStops, apiServer: ApiServerOutage): StopStorage {
  /** Rejections of the API server are for the caller; all other failures are an outage. */
  const guarded = async <T>(request: Promise<T>): Promise<T> => {
    try {
      const result = await request;
      apiServer.succeeded();
      return result;
    } catch (error) {
      const isRejected = error instanceof KubeError && REJECTIONS.has(error.status);
      if (isRejected) throw new Problem(409, `the API server rejected the request: ${error.message}`);
      apiServer.failed(error);
      throw unavailable('the API server is unavailable; try again');
    }
  };
  return {
    start: (onChange) => {
      stops.start(onChange);
      return Promise.resolve();
    },
    close: () => stops.close(),
    list: () => stops.list(),
    create: (stop) => guarded(stops.create(stop)),
    remove: (key) => guarded(stops.remove(key)),
  };
}

/** An admission policy or a missing permission, a missing namespace, an invalid object. */
const REJECTIONS: ReadonlySet<number> = new Set([400, 403, 404, 409, 413, 422]);

/** How often the rows are read, in milliseconds: other replicas change them. */
const POLL_MS = 1_000;

/** The stops of a database. */
export class SqlStops implements StopStorage {
  readonly #rows: StopRows;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  #known: { revision: string; stops: AgentStop[] } | null = null;
  #onChange: () => void = () => undefined;
  /** The last read. Reads are sequential, so that none replaces the result of a newer one. */
  #reading: Promise<void> = Promise.resolve();
  #polling: Promise<void> | null = null;

  constructor(rows: StopRows, clock: Clock) {
    this.#rows = rows;
    this.#clock = clock;
  }

  async start(onChange: () => void): Promise<void> {
    this.#onChange = onChange;
    await this.refresh();
    this.#polling = this.#poll();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#polling;
    await this.#reading;
  }

  list(): readonly AgentStop[] | null {
    return this.#known?.stops ?? null;
  }

  async create(stop: AgentStop): Promise<AgentStop> {
    await this.#rows.add(stop);
    await this.refresh();
    return stop;
  }

  async remove(key: AgentKey): Promise<boolean> {
    const isRemoved = await this.#rows.remove(key);
    await this.refresh();
    return isRemoved;
  }

  /** Reads the rows that changed. While the database is unavailable, whose log has the cause, the known ones stay. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      const read = await this.#rows.read(this.#known?.revision ?? null).catch(() => null);
      if (read === null) return;
      this.#known = read;
      this.#onChange();
    });
    return this.#reading;
  }

  async #poll(): Promise<void> {
    while (await slept(this.#clock, POLL_MS, this.#stop.signal)) await this.refresh();
  }
}
