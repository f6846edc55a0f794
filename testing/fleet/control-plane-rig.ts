import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createControlPlaneApp } from '../../control-plane/app.ts';
import { readConfig } from '../../control-plane/config.ts';
import { createContext, type ControlPlaneContext } from '../../control-plane/context.ts';
import type { Access } from '../../control-plane/auth/access/access.ts';
import type { Identifier } from '../../control-plane/auth/principal.ts';
import type { Organisation } from '../../control-plane/organisation/organisation.ts';
import { SqlStore } from '../../control-plane/stores/sql/sql-store.ts';
import { SqliteDatabase } from '../../control-plane/stores/sqlite/sqlite-database.ts';
import { stopsOf } from '../../control-plane/stores/open-stores.ts';
import { Stops } from '../../control-plane/stops/stops.ts';
import type { Store } from '../../control-plane/stores/store.ts';
import { listen, type Listener, type ListenOptions } from '../../runtime/http-listener.ts';
import type { Environment } from '../../runtime/env.ts';
import { silentLogger, type Logger } from '../../runtime/logger.ts';
import { createMetrics, type Metrics } from '../../runtime/metrics.ts';
import { aHeartbeat } from './heartbeat.ts';
import { ManualClock } from '../time/manual-clock.ts';

export const ADMIN_KEY = 'admin-key-of-the-rig';
/** With it, no test waits for the key that is derived from the admin key. */
export const JWT_SECRET = 'jwt-secret-of-the-rig-with-32-characters';

export interface RigResponse {
  status: number;
  headers: Headers;
  /** The parsed JSON, else the text. */
  body: unknown;
}

export interface RigRequest {
  headers?: Record<string, string>;
  /** Sent as JSON unless it is text or bytes. */
  body?: unknown;
}

export interface RegisteredAgent {
  agentId: string;
  apiKey: string;
}

const START = '2026-03-01T10:00:00.000Z';
const KEYS: Environment = { PLATFORM_ADMIN_KEY: ADMIN_KEY, JWT_SECRET };

/** A control plane with the SQLite store in this process. */
export interface ControlPlaneRig {
  readonly listener: Listener;
  readonly context: ControlPlaneContext;
  store: Store;
  clock: ManualClock;
  metrics: Metrics;
  send(method: string, path: string, request?: RigRequest): Promise<RigResponse>;
  /** With the admin key; `path` below `/api/v1`. */
  admin(method: string, path: string, body?: unknown): Promise<RigResponse>;
  register(agentName: string): Promise<RegisteredAgent>;
  heartbeat(apiKey: string, heartbeat?: Parameters<typeof aHeartbeat>[0]): Promise<RigResponse>;
  /** Everything that the store has, as text. */
  stored(): Promise<string>;
  /** Starts the API again, with other variables or on another store. */
  restart(env?: Environment, store?: Store): Promise<void>;
  close(): Promise<void>;
}

export interface ControlPlaneRigOptions {
  pods?: ControlPlaneContext['pods'];
  logger?: Logger;
  isStopping?: () => boolean;
  listen?: (metrics: Metrics) => Partial<ListenOptions>;
  rateLimitSeconds?: number;
  organisation?: Organisation;
  /** Credentials of persons other than the keys, and what these persons may do. */
  signOn?: readonly Identifier[];
  access?: Access;
}

export async function startControlPlaneRig(options: ControlPlaneRigOptions = {}): Promise<ControlPlaneRig> {
  const directory = await mkdtemp(join(tmpdir(), 'control-plane-'));
  const clock = new ManualClock(START);
  const store = new SqlStore({
    database: new SqliteDatabase(directory),
    clock,
    rateLimitSeconds: options.rateLimitSeconds ?? 0,
  });
  await store.start();
  const metrics = createMetrics();
  let context: ControlPlaneContext;
  let listener: Listener;
  let stops: Stops;
  const serve = async (env: Environment = KEYS, of: Store = store): Promise<void> => {
    const read = readConfig({ DATA_DIR: directory, STORE: 'sqlite', ...env });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const { listen: listenOptions, rateLimitSeconds: _, ...given } = options;
    // Their storage polls with a clock that stands still: each change through the API is read at once.
    const standing = new ManualClock(START);
    stops = new Stops({
      ...{ storage: stopsOf(of, standing), rootNamespace: 'platform-system' },
      ...{ clock, logger: silentLogger },
    });
    await stops.start();
    context = createContext({
      ...{ config: read.config, logger: silentLogger, metrics, store: of, clock, stops },
      pods: { identify: () => Promise.resolve({ kind: 'unauthenticated', reason: 'there is no cluster' }) },
      ...given,
    });
    const handler = createControlPlaneApp(context);
    listener = await listen({ handler, port: 0, host: '127.0.0.1', ...listenOptions?.(metrics) });
  };
  await serve();
  const send = (method: string, path: string, request: RigRequest = {}): Promise<RigResponse> =>
    sendTo(`http://127.0.0.1:${listener.port}${path}`, method, request);
  const admin = (method: string, path: string, body?: unknown): Promise<RigResponse> =>
    send(method, `/api/v1${path}`, { headers: { 'x-admin-key': ADMIN_KEY }, body });
  return {
    ...{ store, clock, metrics, send, admin },
    get listener() {
      return listener;
    },
    get context() {
      return context;
    },
    restart: async (env, of) => {
      await listener.close();
      await stops.close();
      await serve(env, of);
    },
    register: async (agentName) =>
      (await admin('POST', '/register', { agentName, runtime: 'docker' })).body as RegisteredAgent,
    heartbeat: (apiKey, heartbeat) =>
      send('POST', '/api/v1/heartbeat', {
        headers: { authorization: `Bearer ${apiKey}` },
        body: aHeartbeat(heartbeat),
      }),
    stored: async () => {
      const page = await store.list({ limit: 1_000, after: null, namespaces: null }, clock.now());
      const reports = page.agents.map((agent) => store.report(agent, null, clock.now()));
      return JSON.stringify([page, await Promise.all(reports), await store.stops.read(null)]);
    },
    close: async () => {
      await listener.close(0);
      await stops.close();
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

async function sendTo(url: string, method: string, { headers, body }: RigRequest): Promise<RigResponse> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json') && text !== '';
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}
