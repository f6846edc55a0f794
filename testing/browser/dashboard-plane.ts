import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createControlPlaneApp } from '../../control-plane/app.ts';
import type { PodIdentification } from '../../control-plane/auth/pod-identity.ts';
import { readConfig } from '../../control-plane/config.ts';
import { createContext } from '../../control-plane/context.ts';
import type { Organisation } from '../../control-plane/organisation/organisation.ts';
import { stopsOf } from '../../control-plane/stores/open-stores.ts';
import { Stops } from '../../control-plane/stops/stops.ts';
import { SqlStore } from '../../control-plane/stores/sql/sql-store.ts';
import { SqliteDatabase } from '../../control-plane/stores/sqlite/sqlite-database.ts';
import type { Store } from '../../control-plane/stores/store.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { sendProblem } from '../../runtime/http-app.ts';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { Problem } from '../../runtime/problem.ts';
import { FLEET, heartbeatOf, HOURS, type ExampleAgent } from './fleet-data.ts';

export const ADMIN_KEY = 'admin-key-of-a-test';
/** The time of the example fleet. */
export const NOW = new Date('2026-03-02T14:30:00.000Z');
const HOUR_MS = 3_600_000;
/** Timers of the control plane run so much faster, so that no test waits for its next look at the store. */
const FASTER = 10;

/** An agent that sends heartbeats: a pod of a workload, or an agent that is registered first. */
export interface Sender {
  namespace: string;
  name: string;
  isRegistered?: true;
}

export interface PlaneOptions {
  /** null: the control plane has no admin key. */
  adminKey?: string | null;
  /** false: as on the Kubernetes store, which keeps none. */
  hasHistory?: boolean;
  /** The rules of the organisation; default: none. */
  organisation?: Organisation;
}

/** A response that replaces the one of the control plane, such as the caller that another sign-in would have. */
export interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

interface PlaneParts {
  store: Store;
  stops: Stops;
  directory: string;
  setNow: (date: Date) => void;
  stopping: AbortController;
  listener: Listener;
}

/** Reads the sender from a token that `tokenOf` made; replaces TokenReview. */
function identify(token: string): Promise<PodIdentification> {
  const [kind, namespace = '', agentName = '', pod = ''] = token.split('/');
  return Promise.resolve(
    kind === 'pod'
      ? { kind: 'pod', namespace, agentName, pod, uid: pod }
      : { kind: 'unauthenticated', reason: 'not a token of these tests' },
  );
}

/**
 * A control plane in this process, with the SQLite store and a date that only the test changes. It serves the dashboard from
 * dist/dashboard. Data arrive through its API.
 */
export class DashboardPlane {
  readonly url: string;
  readonly store: Store;
  /**
   * Called for each request: null lets the control plane respond; a promise delays the request, and its Problem or Reply is the
   * response instead.
   */
  intercept: (request: IncomingMessage) => Promise<Problem | Reply | null> | null = () => null;
  readonly #listener: Listener;
  readonly #directory: string;
  readonly #stops: Stops;
  readonly #setNow: (date: Date) => void;
  readonly #keys = new Map<string, Promise<string>>();
  readonly #stopping: AbortController;

  private constructor(parts: PlaneParts) {
    this.store = parts.store;
    this.#stopping = parts.stopping;
    this.#directory = parts.directory;
    this.#stops = parts.stops;
    this.#setNow = parts.setNow;
    this.#listener = parts.listener;
    this.url = `http://127.0.0.1:${parts.listener.port}`;
  }

  static async open({
    adminKey = ADMIN_KEY,
    hasHistory = true,
    organisation,
  }: PlaneOptions = {}): Promise<DashboardPlane> {
    const directory = await mkdtemp(join(tmpdir(), 'agent-compliance-plane-'));
    let now = NOW;
    const clock: Clock = {
      now: () => now,
      monotonicMs: () => systemClock.monotonicMs() * FASTER,
      sleep: (ms, signal) => systemClock.sleep(ms / FASTER, signal),
    };
    const read = readConfig({
      STORE: 'sqlite',
      DATA_DIR: directory,
      RATE_LIMIT_SECONDS: '0',
      JWT_SECRET: 'a secret of these tests that is long enough',
      ...(adminKey !== null && { PLATFORM_ADMIN_KEY: adminKey }),
    });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const database = new SqliteDatabase(directory);
    const opened = new SqlStore({ database, clock, rateLimitSeconds: 0 });
    await opened.start();
    const store = hasHistory ? opened : withoutHistory(opened);
    const stops = new Stops({
      ...{ storage: stopsOf(opened, clock), rootNamespace: 'platform-system', clock, logger: silentLogger },
    });
    await stops.start();
    const stopping = new AbortController();
    const context = createContext({
      config: read.config,
      logger: silentLogger,
      metrics: createMetrics(),
      store,
      pods: { identify },
      clock,
      stops,
      ...(organisation && { organisation }),
      stopping: stopping.signal,
    });
    const app = createControlPlaneApp(context);
    let plane: DashboardPlane | null = null;
    const listener = await listen({
      port: 0,
      host: '127.0.0.1',
      handler: (request, response) => {
        const intercepted = plane?.intercept(request) ?? null;
        if (intercepted === null) app(request, response);
        else
          void intercepted.then((given) => {
            if (given === null) app(request, response);
            else if (given instanceof Problem) sendProblem(response, given);
            else response.writeHead(given.status, given.headers).end(JSON.stringify(given.body));
          });
      },
    });
    plane = new DashboardPlane({
      stops,
      store,
      directory,
      setNow: (date) => (now = date),
      stopping,
      listener,
    });
    return plane;
  }

  /** Changes the date of the control plane. */
  setNow(date: Date): void {
    this.#setNow(date);
  }

  /** Sends a heartbeat as its agent does. */
  heartbeat(sender: Sender, heartbeat: Heartbeat): Promise<void> {
    return this.#send(sender, heartbeat.instance, ['POST', '/api/v1/heartbeat', JSON.stringify(heartbeat)]);
  }

  /** Sends a manifest as a sidecar does. */
  manifest(sender: Sender, text: string): Promise<void> {
    return this.#send(sender, 'pod', ['PUT', '/api/v1/manifest', text]);
  }

  /** Sends lines of an audit log as a sidecar does. */
  auditEvents(sender: Sender, lines: readonly string[]): Promise<void> {
    const body = lines.map((line) => `${line}\n`).join('');
    return this.#send(sender, 'pod', ['POST', '/api/v1/audit-events', body], 'application/x-ndjson');
  }

  async #send(
    sender: Sender,
    instance: string,
    [method, path, body]: [method: string, path: string, body: string],
    contentType = 'application/json',
  ): Promise<void> {
    const token = await this.#tokenOf(sender, instance);
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': contentType },
      body,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} of ${sender.name}: ${response.status} ${text}`);
  }

  /** Sends a request with the admin key, and returns the body of its response. */
  async admin<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(this.url + path, {
      method,
      headers: { 'x-admin-key': ADMIN_KEY, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  }

  /** Sends the last `hours` of the example fleet, and leaves the date at NOW. */
  async addFleet(hours = HOURS, fleet: readonly ExampleAgent[] = FLEET): Promise<void> {
    const startedAt = new Date(NOW.getTime() - (HOURS + 1) * HOUR_MS);
    this.setNow(startedAt);
    await Promise.all(
      fleet.filter(({ isRegistered }) => isRegistered).map((agent) => this.#tokenOf(agent, '')),
    );
    for (let hoursAgo = hours; hoursAgo >= 0; hoursAgo -= 1) {
      // The last heartbeats were some seconds ago.
      const at = new Date(NOW.getTime() - hoursAgo * HOUR_MS - 12_000);
      this.setNow(at);
      const senders = fleet.filter(({ silentHours = 0 }) => hoursAgo >= silentHours);
      await Promise.all(
        senders.flatMap((agent) =>
          agent.instances.map((instance) =>
            this.heartbeat(agent, heartbeatOf(agent, instance, { at, hoursAgo, startedAt })),
          ),
        ),
      );
    }
    this.setNow(NOW);
  }

  /**
   * Copies the agents in the database until there are `count` more. A copy has the status of its original and no history. The
   * same number of heartbeats would take minutes.
   */
  cloneAgents(count: number): void {
    const database = new DatabaseSync(join(this.#directory, 'control-plane.sqlite'));
    const textsOf = (sql: string): string[] =>
      database
        .prepare(sql)
        .all()
        .map(({ value }) => String(value));
    try {
      const columns = textsOf("SELECT name AS value FROM pragma_table_info('agents')");
      const [agents = '1'] = textsOf('SELECT count(*) AS value FROM agents');
      const copied = columns.map((column) =>
        column === 'name' || column === 'agent_id' ? `${column} || '-' || copy` : column,
      );
      database.exec(
        `WITH RECURSIVE copies (copy) AS
           (SELECT 1 UNION ALL SELECT copy + 1 FROM copies WHERE copy < ${Math.ceil(count / Number(agents))})
         INSERT INTO agents (${columns.join(', ')})
         SELECT ${copied.join(', ')} FROM agents, copies LIMIT ${count}`,
      );
    } finally {
      database.close();
    }
  }

  /** Ends all connections, event streams too. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#listener.close(0);
    await this.#stops.close();
    await this.store.close();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #tokenOf({ namespace, name, isRegistered }: Sender, instance: string): Promise<string> {
    if (isRegistered !== true) return Promise.resolve(`pod/${namespace}/${name}/${instance}`);
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const registered = this.admin<{ apiKey: string }>('POST', '/api/v1/register', {
      agentName: name,
      runtime: 'local',
    }).then(({ apiKey }) => apiKey);
    this.#keys.set(name, registered);
    return registered;
  }
}

/** The same store, without history. */
function withoutHistory(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'history') return null;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
