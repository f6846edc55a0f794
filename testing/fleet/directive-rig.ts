import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createControlPlaneApp } from '../../control-plane/app.ts';
import { readConfig } from '../../control-plane/config.ts';
import { createContext } from '../../control-plane/context.ts';
import { NO_RULES, Organisation } from '../../control-plane/organisation/organisation.ts';
import { Stops } from '../../control-plane/stops/stops.ts';
import { SqlStore } from '../../control-plane/stores/sql/sql-store.ts';
import { SqliteDatabase } from '../../control-plane/stores/sqlite/sqlite-database.ts';
import type { AgentPolicy } from '../../core/organisation/finding.ts';
import type { Directives } from '../../core/shapes/directive.ts';
import { listen } from '../../runtime/http-listener.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { openEventStream, type EventStream } from '../http/event-stream.ts';
import { SteppingClock } from '../time/stepping-clock.ts';
import { until } from '../time/until.ts';
import { HeldStops } from './held-stops.ts';

const START = '2026-03-01T10:00:00.000Z';
export const RIG_KEY = 'admin-key-of-a-test';

/** A reader of directives. */
export interface DirectiveReader extends EventStream {
  directives(): Directives[];
  /** The last received one. */
  last(): Directives | undefined;
}

/** The control plane with streams of directives, whose time, stops and rules the test decides. A token is `POD.AGENT`. */
export async function startDirectiveRig() {
  const directory = await mkdtemp(join(tmpdir(), 'directives-'));
  const clock = new SteppingClock(START);
  const storage = new HeldStops();
  const worker = new ManifestWorker();
  // The store sleeps on a clock of its own, so that `clock` has the waits of the streams only.
  const store = new SqlStore({
    ...{ database: new SqliteDatabase(directory), clock: new SteppingClock(START), rateLimitSeconds: 0 },
  });
  await store.start();
  let policies: AgentPolicy[] | null = [];
  const organisation = new Organisation({ ...NO_RULES, policies: () => policies }, worker);
  const stops = new Stops({ storage, rootNamespace: 'platform-system', clock, logger: silentLogger });
  await stops.start();
  const stopping = new AbortController();
  const read = readConfig({ PLATFORM_ADMIN_KEY: RIG_KEY, STORE: 'sqlite', DATA_DIR: directory });
  if (!read.ok) throw new Error('the configuration of the rig is not valid');
  const metrics = createMetrics();
  const context = createContext({
    ...{ config: read.config, logger: silentLogger, metrics, store, clock, organisation, stops },
    pods: {
      identify: (token: string) => {
        const [pod = '', agentName = ''] = token.split('.');
        return Promise.resolve({ kind: 'pod', namespace: 'team', pod, uid: `uid-of-${pod}`, agentName });
      },
    },
    stopping: stopping.signal,
  });
  // The grace period of a stop never ends: a response that does not end by itself is not hidden.
  const listener = await listen({
    ...{
      handler: createControlPlaneApp(context),
      port: 0,
      host: '127.0.0.1',
      clock: new SteppingClock(START),
    },
  });
  const url = `http://127.0.0.1:${listener.port}/api/v1`;
  const get = (token: string, { query = '', method = 'GET' } = {}): Promise<Response> =>
    fetch(`${url}/directives${query}`, { method, headers: { authorization: `Bearer ${token}` } });
  return {
    ...{ clock, storage, stops, url, get },
    /** A stream that has received its first event. */
    async open(token = 'pod.shop', query = ''): Promise<DirectiveReader> {
      const stream = await openEventStream(`${url}/directives${query}`, { authorization: `Bearer ${token}` });
      await until(() => stream.events.length > 0, 'the first event');
      const directives = () => stream.events.map(({ data }) => data as Directives);
      return Object.assign(stream, { directives, last: () => directives().at(-1) });
    },
    admin: (method: string, path: string, body?: unknown): Promise<Response> =>
      fetch(`${url}${path}`, {
        ...{ method, headers: { 'x-admin-key': RIG_KEY, 'content-type': 'application/json' } },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    setPolicies(to: AgentPolicy[] | null): void {
      policies = to;
      organisation.changed();
    },
    /** Number of open streams, as the metric has it. */
    openStreams: (): number =>
      Number(/^platform_control_plane_directive_streams (\d+)$/m.exec(metrics.render())?.[1]),
    /** Like the stop of the process: the signal, then the listener. */
    async stop(): Promise<void> {
      stopping.abort();
      await listener.close();
    },
    async close(): Promise<void> {
      stopping.abort();
      listener.server.closeAllConnections();
      await listener.close();
      await stops.close();
      await store.close();
      await worker.close();
      await rm(directory, { recursive: true });
    },
  };
}

export type DirectiveRig = Awaited<ReturnType<typeof startDirectiveRig>>;
