import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Directives } from '../../core/shapes/directive.ts';
import type { StopEntry } from '../../core/shapes/agent-stop.ts';
import { whyNoControlPlane } from '../../e2e/cluster/control.ts';
import { deleteObject, getObject } from '../../kube/objects.ts';
import { AGENT_STOPS, collectionPath } from '../../kube/resources.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { Secret } from '../../runtime/secret.ts';
import { ApiCluster } from '../../testing/cluster/api-cluster.ts';
import { apiServerOf } from '../../testing/cluster/api-server-process.ts';
import { injectedSpec } from '../../testing/cluster/injected-spec.ts';
import { openEventStream, type EventStream } from '../../testing/http/event-stream.ts';
import { until } from '../../testing/time/until.ts';
import { readConfig } from '../config.ts';
import { CONTROL_PLANE_PERMISSIONS } from '../permissions.ts';
import { startControlPlane, type ControlPlane } from '../start.ts';

const KEY = 'admin-key-of-a-test';
const ROOT = 'platform-system';

(whyNoControlPlane() ? describe.skip : describe)('two control planes on a real API server', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'stops-'));
  let cluster: ApiCluster;
  let kubeconfig = '';
  const processes: ControlPlane[] = [];
  let streams: EventStream[] = [];

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    await cluster.define('agentobservations', 'agentpolicies', 'agentstops');
    await cluster.namespaces(ROOT, 'team');
    const { cluster: everywhere } = CONTROL_PLANE_PERMISSIONS;
    await cluster.account(ROOT, 'control-plane', { cluster: everywhere, namespace: [] });
    kubeconfig = await cluster.kubeconfigOf(ROOT, 'control-plane');
    for (let index = 0; index < 2; index += 1) processes.push(await start());
    const token = await aPodToken('shop-1', 'shop');
    streams = await Promise.all(processes.map((process) => follow(process, token)));
  }, 120_000);

  afterAll(async () => {
    for (const stream of streams) stream.leave();
    for (const process of processes) await process.close();
    await cluster?.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  async function start(): Promise<ControlPlane> {
    const read = readConfig({ STORE: 'kubernetes', KUBECONFIG: kubeconfig, DATA_DIR: scratch });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const config = { ...read.config, PORT: 0, PLATFORM_ADMIN_KEY: new Secret(KEY) };
    const process = await startControlPlane(config, silentLogger, new AbortController().signal);
    await until(async () => (await fetch(`http://127.0.0.1:${process.port}/readyz`)).ok, 'the control plane');
    return process;
  }

  /** The token of an injected pod. */
  async function aPodToken(pod: string, agent: string): Promise<string> {
    const { metadata } = await cluster.post<{ metadata: { uid: string } }>('/api/v1/namespaces/team/pods', {
      metadata: { name: pod, labels: { 'platform.io/agent': agent } },
      spec: { ...injectedSpec(agent), containers: [{ name: 'agent', image: 'agent' }] },
    });
    return cluster.token('team', 'default', {
      ...{ audiences: ['platform.io'], expirationSeconds: 600 },
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod, uid: metadata.uid },
    });
  }

  /** Opens a stream; the stops may not be known yet. */
  async function follow({ port }: ControlPlane, token: string): Promise<EventStream> {
    let stream: EventStream | null = null;
    const url = `http://127.0.0.1:${port}/api/v1/directives`;
    await until(async () => {
      stream = await openEventStream(url, { authorization: `Bearer ${token}` }).catch(() => null);
      return stream !== null;
    }, 'the stream');
    return stream!;
  }

  const admin = (replica: number, method: string, path = '', body?: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${processes[replica]?.port}/api/v1/stops${path}`, {
      ...{ method, headers: { 'x-admin-key': KEY, 'content-type': 'application/json' } },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const idOf = (stream: EventStream): string | null | undefined => {
    const last = stream.events.at(-1);
    return last && ((last.data as Directives).stop?.id ?? null);
  };
  /** Both streams, or one of them, have this stop last. */
  const reached = (id: string | null, of = streams): Promise<void> =>
    until(() => of.every((stream) => idOf(stream) === id), `the stop ${id}`);

  test('push an AgentStop and its deletion to the sidecars of both', async () => {
    await reached(null);
    const spec = { agents: ['shop'], reason: 'leak', by: 'alice' };
    const { metadata } = await cluster.post<{ metadata: { creationTimestamp: string } }>(
      collectionPath(AGENT_STOPS, 'team'),
      { apiVersion: 'platform.io/v1', kind: 'AgentStop', metadata: { name: 'incident' }, spec },
    );
    await reached('team/incident');
    const listed = (await (await admin(1, 'GET')).json()) as StopEntry[];
    expect(listed).toEqual([
      {
        ...{ id: 'team/incident', namespace: 'team', name: 'incident', ...spec },
        ...{ since: metadata.creationTimestamp, stored: true },
      },
    ]);
    await deleteObject(cluster.client, AGENT_STOPS, { namespace: 'team', name: 'incident' });
    await reached(null);
  });

  test('create and delete the AgentStop of a request, each at either of them', async () => {
    const response = await admin(0, 'POST', '', { reason: 'leak', namespaces: ['te*'] });
    const stop = (await response.json()) as StopEntry;
    expect([response.status, stop.namespace, stop.stored]).toEqual([201, ROOT, true]);
    await reached(stop.id);
    const stored = await getObject(cluster.client, AGENT_STOPS, stop);
    expect(stored).toMatchObject({ spec: { reason: 'leak', namespaces: ['te*'], by: 'admin-key' } });
    expect((await admin(1, 'DELETE', `/${stop.id}`)).status).toBe(204);
    await reached(null);
    expect((await admin(0, 'DELETE', `/${stop.id}`)).status).toBe(404);
  });

  test('say why the API server rejects a stop, which then never applies', async () => {
    const response = await admin(0, 'POST', '', { namespace: 'no-such-namespace', reason: 'leak' });
    expect([response.status, await response.json()]).toEqual([
      409,
      expect.objectContaining({
        detail: 'the API server rejected the request: namespaces "no-such-namespace" not found',
      }),
    ]);
    expect(await (await admin(0, 'GET')).json()).toEqual([]);
  });

  test('keep their streams and stops without an API server, push a new one, and store it afterwards', async () => {
    const kept = (await (
      await admin(0, 'POST', '', { reason: 'kept', until: '2126-01-01T00:00:00Z' })
    ).json()) as StopEntry;
    await reached(kept.id);
    const apiServer = await apiServerOf(cluster.control);
    await apiServer.kill();
    const response = await admin(0, 'POST', '', { reason: 'outage' });
    const stop = (await response.json()) as StopEntry;
    expect([response.status, stop.stored]).toEqual([202, false]);
    const [first, second] = streams;
    // It has no end, so it is the one that lasts longest. Only the process that received it knows it.
    await reached(stop.id, [first!]);
    expect(idOf(second!)).toBe(kept.id);
    const refused = await admin(0, 'DELETE', `/${kept.id}`);
    expect([refused.status, await refused.json()]).toEqual([
      503,
      expect.objectContaining({ detail: 'the stop still applies: the API server is unavailable; try again' }),
    ]);
    await apiServer.start();
    await reached(stop.id);
    expect(await getObject(cluster.client, AGENT_STOPS, stop)).toMatchObject({ spec: { reason: 'outage' } });
    for (const { id } of [stop, kept])
      await until(async () => (await admin(1, 'DELETE', `/${id}`)).status === 204, `the end of ${id}`);
    await reached(null);
  });
});
