import type { IncomingMessage, ServerResponse } from 'node:http';
import { createControlPlaneApp } from '../../control-plane/app.ts';
import type { Access } from '../../control-plane/auth/access/access.ts';
import type { Identifier } from '../../control-plane/auth/principal.ts';
import { readConfig } from '../../control-plane/config.ts';
import { createContext } from '../../control-plane/context.ts';
import { KubernetesStore } from '../../control-plane/stores/kubernetes/kubernetes-store.ts';
import type { Store } from '../../control-plane/stores/store.ts';
import type { EgressSummary } from '../../core/shapes/egress.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import { mergeHeartbeat } from '../../core/observation/merge-heartbeat.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { KubeClient } from '../../kube/client.ts';
import { systemClock } from '../../runtime/clock.ts';
import { listen } from '../../runtime/http-listener.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { openEventStream, type EventStream } from '../http/event-stream.ts';
import { startFakeApiServer } from '../cluster/fake-api-server.ts';
import { aHeartbeat } from './heartbeat.ts';
import { SteppingClock } from '../time/stepping-clock.ts';
import { until } from '../time/until.ts';

export const RIG_START = '2026-03-01T10:00:00.000Z';
export const RIG_KEY = 'admin-key-of-a-test';
const collectionIn = (namespace: string): string =>
  `/apis/platform.io/v1/namespaces/${namespace}/agentobservations`;
const COLLECTION = collectionIn('team');

const EGRESS: EgressSummary = {
  ...{ lanes: ['openai'], calls: 0, models: [], tools: [], undeclared: 0, undeclaredNames: [] },
  ...{ neverSeen: 0, misreported: 0 },
};

/** The status after one heartbeat of one instance at RIG_START, of an agent without gaps in its coverage. */
export function aStatus(overrides: Partial<Heartbeat> = {}): ObservationStatus {
  const seen: Partial<Heartbeat> = { policyState: 'answered', policyMode: 'track', egress: EGRESS };
  const heartbeat = aHeartbeat({ ...seen, ...overrides });
  return mergeHeartbeat(undefined, heartbeat, { instance: 'shop-1' }, new Date(RIG_START));
}

/** AgentObservations, by default of the namespace `team`, in an API server, and the Kubernetes store that reads them. */
export async function startObservations(agents: Readonly<Record<string, ObservationStatus>> = {}) {
  const server = await startFakeApiServer();
  const put = (name: string, status: ObservationStatus, namespace = 'team'): void =>
    void server.put(collectionIn(namespace), {
      apiVersion: 'platform.io/v1',
      kind: 'AgentObservation',
      metadata: { namespace, name, uid: `uid-of-${name}` },
      spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
      status,
    });
  for (const [name, status] of Object.entries(agents)) put(name, status);
  const client = new KubeClient({ access: server.access, part: 'control-plane' });
  const store: Store = new KubernetesStore({
    ...{ client, clock: systemClock, logger: silentLogger, metrics: createMetrics() },
    rateLimitSeconds: 0,
  });
  await store.start();
  await until(() => store.unready() === null, 'the list of observations');
  const stored = async (name: string, namespace = 'team'): Promise<string | null> => {
    const found = await store.find({ namespace, name }, new Date(RIG_START));
    return found && JSON.stringify(found.status);
  };
  return {
    store,
    /** Writes a status, and resolves when the store has it. */
    async put(name: string, status: ObservationStatus, namespace = 'team'): Promise<void> {
      put(name, status, namespace);
      const wanted = JSON.stringify(status);
      await until(async () => (await stored(name, namespace)) === wanted, `the status of ${name}`);
    },
    /** Writes the same object again. */
    touch(name: string): void {
      const object = server.get(`${COLLECTION}/${name}`);
      if (object) server.put(COLLECTION, object);
    },
    async remove(name: string): Promise<void> {
      server.remove(COLLECTION, name);
      await until(async () => (await stored(name)) === null, `the removal of ${name}`);
    },
    async close(): Promise<void> {
      await store.close();
      await client.close();
      await server.close();
    },
  };
}

export type Observations = Awaited<ReturnType<typeof startObservations>>;

/** The control plane on a Kubernetes store, with a clock that the test advances. */
export async function startFleetRig(
  agents: Readonly<Record<string, ObservationStatus>> = {},
  persons: { signOn?: readonly Identifier[]; access?: Access } = {},
) {
  const observations = await startObservations(agents);
  const { store } = observations;
  const clock = new SteppingClock(RIG_START);
  const stopping = new AbortController();
  const read = readConfig({ PLATFORM_ADMIN_KEY: RIG_KEY, STORE: 'sqlite' });
  if (!read.ok) throw new Error('the configuration of the rig is not valid');
  const context = createContext({
    ...{ config: read.config, logger: silentLogger, metrics: createMetrics(), store, pods: null, clock },
    stopping: stopping.signal,
    ...persons,
  });
  const listener = await listen({
    handler: createControlPlaneApp(context),
    port: 0,
    host: '127.0.0.1',
    // The grace period of a stop never ends: a response that does not end by itself is not hidden.
    clock: new SteppingClock(RIG_START),
  });
  const url = `http://127.0.0.1:${listener.port}/api/v1`;
  let openStreams = 0;
  listener.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.endsWith('/stream') !== true) return;
    openStreams += 1;
    response.once('close', () => (openStreams -= 1));
  });
  const withKey = { 'x-admin-key': RIG_KEY };
  return {
    ...observations,
    clock,
    url,
    get: (path: string, headers: Record<string, string> = withKey): Promise<Response> =>
      fetch(`${url}${path}`, { headers }),
    /** Number of requests for the stream whose responses are not closed. */
    openStreams: () => openStreams,
    stream: (headers: Record<string, string> = withKey): Promise<EventStream> =>
      openEventStream(`${url}/stream`, headers),
    /** Like the stop of the process: the signal, then the listener. */
    async stop(): Promise<void> {
      stopping.abort();
      await listener.close();
    },
    async close(): Promise<void> {
      stopping.abort();
      listener.server.closeAllConnections();
      await listener.close();
      await observations.close();
    },
  };
}

export type FleetRig = Awaited<ReturnType<typeof startFleetRig>>;
