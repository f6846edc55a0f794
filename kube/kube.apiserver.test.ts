import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentObservation } from '../core/observation/observation.ts';
import type { InstanceStatus } from '../core/shapes/instance.ts';
import type { ObservationStatus } from '../core/shapes/observation.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { systemClock } from '../runtime/clock.ts';
import { silentLogger } from '../runtime/logger.ts';
import { ApiCluster } from '../testing/cluster/api-cluster.ts';
import { withinLimit } from '../testing/time/real-time.ts';
import { startTcpRelay, type TcpRelay } from '../testing/http/tcp-relay.ts';
import { KubeClient } from './client.ts';
import { loadClusterAccess, type ClusterAccess } from './cluster-access.ts';
import { EventRecorder, EVENTS } from './events.ts';
import { Informer } from './informer.ts';
import { LeaderElection } from './lease.ts';
import { createObject, deleteObject, getObject, listObjects } from './objects.ts';
import { AGENT_OBSERVATIONS, LEASES, objectPath, PODS, SERVICES } from './resources.ts';
import { applyObject } from './server-side-apply.ts';
import { StatusWriter } from './status-writer.ts';
import { reviewToken } from './token-review.ts';
import type { Pod, Service } from './types.ts';
import { until } from '../testing/time/until.ts';

(whyNoControlPlane() ? describe.skip : describe)('on a real API server', () => {
  let cluster: ApiCluster;
  let access: ClusterAccess;
  let client: KubeClient;
  let namespace = '';
  let count = 0;

  beforeAll(async () => {
    cluster = await ApiCluster.start({ controllers: true });
    access = loadClusterAccess(cluster.control.kubeconfig);
    ({ client } = cluster);
    await cluster.define('agentobservations');
  }, 300_000);
  afterAll(() => cluster?.close());
  beforeEach(async () => {
    namespace = await cluster.controlledNamespace(`test-${(count += 1)}`);
  });

  const service = (name: string): Service => ({
    metadata: { name, namespace },
    spec: { ports: [{ port: 80 }] },
  });

  describe('an informer behind an unreliable network', () => {
    let relay: TcpRelay;
    let distant: KubeClient;
    let informer: Informer<Service>;
    let changes: string[];

    beforeEach(async () => {
      const { hostname, port } = new URL(access.server);
      relay = await startTcpRelay({ host: hostname, port: Number(port) });
      distant = new KubeClient({
        access: { ...access, server: `https://127.0.0.1:${relay.port}` },
        part: 'test',
      });
      changes = [];
      for (const name of ['a', 'b', 'c']) await createObject(client, SERVICES, service(name));
      informer = new Informer({
        client: distant,
        resource: SERVICES,
        selection: { namespace, pageSize: 2 },
        logger: silentLogger,
        clock: systemClock,
        timing: {
          watchMs: 500,
          openMs: 700,
          lateMs: 200,
          freshMs: 2_500,
          backoff: { baseMs: 50, maxMs: 200 },
        },
        onChange: (change) => changes.push(`${change.type} ${change.object.metadata.name}`),
      });
      informer.start();
      await informer.synced();
    });

    async function end(): Promise<void> {
      await informer.close();
      await distant.close();
      await relay.close();
    }

    test('misses no change when connections are cut', async () => {
      for (let round = 0; round < 5; round += 1) {
        relay.cut();
        await createObject(client, SERVICES, service(`r${round}`));
        await delay(round * 30);
      }
      await until(() => changes.length === 8);
      expect(changes.slice(3)).toEqual([0, 1, 2, 3, 4].map((round) => `added r${round}`));
      await end();
    });

    test('is not fresh while the network drops all data, and catches up afterwards', async () => {
      relay.hang();
      await createObject(client, SERVICES, service('d'));
      await deleteObject(client, SERVICES, { namespace, name: 'b' });
      await until(() => !informer.isFresh());
      expect(changes).toHaveLength(3);
      relay.heal();
      relay.cut();
      await until(() => changes.length === 5);
      expect(changes.slice(3).sort()).toEqual(['added d', 'deleted b']);
      await until(() => informer.isFresh());
      await end();
    });
  });

  describe('the status of an AgentObservation', () => {
    const instance = (name: string): InstanceStatus => ({
      name,
      startedAt: '2026-11-21T00:00:00Z',
      seq: 1,
      phase: 'Healthy',
      score: 100,
      lastHeartbeat: '2026-11-21T00:00:00Z',
      intervalSeconds: 30,
      tokensToday: 1,
      costTodayUsd: 0,
      day: '2026-11-21',
      violations: 0,
      criticalIssues: 0,
      deniedInWindow: 0,
    });
    const add =
      (name: string) =>
      (current: AgentObservation): ObservationStatus => {
        const instances = [...(current.status?.instances ?? []), instance(name)];
        return { ...(current.status ?? { phase: 'Pending' }), instances, tokens: instances.length };
      };
    const writerOf = (of: KubeClient) =>
      new StatusWriter<AgentObservation, ObservationStatus>({
        client: of,
        resource: AGENT_OBSERVATIONS,
        fieldManager: 'platform-control-plane',
      });
    const make = () =>
      createObject(client, AGENT_OBSERVATIONS, {
        apiVersion: 'platform.io/v1',
        kind: 'AgentObservation',
        metadata: { name: 'x', namespace },
        spec: { source: 'remote' },
      } satisfies AgentObservation);
    const key = () => ({ namespace, name: 'x' });

    test('keeps all fifty instances that eight processes report at once, and conditions that another process applies', async () => {
      await make();
      const clients = Array.from(
        { length: 8 },
        (_, index) => new KubeClient({ access, part: `test-${index}` }),
      );
      const condition = {
        type: 'Injected',
        status: 'True',
        reason: 'SidecarPresent',
        message: 'm',
        lastTransitionTime: '2026-11-21T00:00:00Z',
      };
      const applies = Array.from({ length: 10 }, async (_, index) => {
        await delay(index * 20);
        const object = { metadata: key(), status: { conditions: [condition] } };
        const options = { fieldManager: 'platform-operator', subresource: 'status' as const };
        return applyObject(client, AGENT_OBSERVATIONS, object, options);
      });
      await Promise.all(
        clients.map(async (each, writer) => {
          const statusWriter = writerOf(each);
          for (let index = writer; index < 50; index += 8)
            await statusWriter.write(key(), add(`pod-${index}`));
        }),
      );
      expect((await Promise.all(applies)).map((response) => response.ok)).toEqual(Array(10).fill(true));
      const status = (await getObject(client, AGENT_OBSERVATIONS, key()))?.status;
      const names = status?.instances?.map((each) => each.name).sort();
      expect(names).toEqual(Array.from({ length: 50 }, (_, index) => `pod-${index}`).sort());
      expect(status?.tokens).toBe(50);
      expect(status?.conditions).toEqual([condition]);
      await Promise.all(clients.map((each) => each.close()));
    }, 300_000);

    test('is rejected with the reason when the value violates the CRD schema', async () => {
      await make();
      const bad = () => ({ phase: 'Pending' as const, score: 101 });
      await expect(writerOf(client).write(key(), bad)).rejects.toMatchObject({
        status: 422,
        message: expect.stringContaining('status.score'),
      });
    });
  });

  describe('a server-side apply', () => {
    const object = (ports: object[]) => ({ metadata: { name: 'x', namespace }, spec: { ports } });
    const apply = (fieldManager: string, port: number, force = false) =>
      applyObject(client, SERVICES, object([{ port: 80, targetPort: port }]), { fieldManager, force });

    test('creates a missing object, keeps fields of another manager, and acquires them by force', async () => {
      expect(await apply('one', 1)).toMatchObject({ ok: true, status: 201 });
      expect(await apply('one', 2)).toMatchObject({ ok: true, status: 200 });
      expect(await apply('two', 3)).toMatchObject({ ok: false, status: 409, reason: 'Conflict' });
      expect(await apply('two', 3, true)).toMatchObject({ body: { spec: { ports: [{ targetPort: 3 }] } } });
    });
  });

  test('a released lease is acquired by another candidate immediately', async () => {
    const leading: string[] = [];
    const candidate = (identity: string) =>
      new LeaderElection({
        client,
        lease: { namespace, name: 'lead' },
        identity,
        logger: silentLogger,
        clock: systemClock,
        lead: async (signal) => {
          leading.push(identity);
          await delay(60_000, undefined, { signal }).catch(() => undefined);
        },
      });
    const [first, second] = [candidate('first'), candidate('second')];
    first.start();
    await until(() => first.isLeader());
    second.start();
    await first.close();
    const acquired = withinLimit('hand-over by a leader that stops');
    await until(() => second.isLeader());
    acquired();
    expect(leading).toEqual(['first', 'second']);
    expect((await getObject(client, LEASES, { namespace, name: 'lead' }))?.spec).toMatchObject({
      holderIdentity: 'second',
      leaseDurationSeconds: 15,
      leaseTransitions: 1,
    });
    await second.close();
  }, 300_000);

  test('occurrences of a series are counted in one Event, each once, even from several replicas', async () => {
    const options = { controller: 'platform.io/test', clock: systemClock, logger: silentLogger };
    const replicas = ['a', 'b'].map((instance) => new EventRecorder({ client, instance, ...options }));
    const regarding = { apiVersion: 'v1', kind: 'Service', name: 'counted', namespace, uid: 'u' };
    const about = { regarding, type: 'Normal', action: 'Test', note: 'n'.repeat(2_000) } as const;
    for (const version of [1, 2, 3, 4])
      for (const replica of replicas)
        replica.record({ ...about, reason: 'Counted', series: 'it', occurrence: `u/${version}` });
    await Promise.all(replicas.map((replica) => replica.flush()));
    const { items } = await listObjects(client, EVENTS, { namespace, fieldSelector: 'reason=Counted' });
    expect(items.map(({ note, series }) => [note?.length, series?.count])).toEqual([[1_024, 4]]);
  });

  describe('a token review', () => {
    const audience = 'platform.io';
    const spec = { containers: [{ name: 'agent', image: 'agent' }] };

    async function tokenFor(pod: Pod | null, audiences = [audience]): Promise<string> {
      const boundObjectRef = pod && {
        apiVersion: 'v1',
        kind: 'Pod',
        name: pod.metadata.name,
        uid: pod.metadata.uid,
      };
      return cluster.token(namespace, 'default', { audiences, ...(boundObjectRef && { boundObjectRef }) });
    }

    test("returns the pod of a pod's token until the pod is deleted", async () => {
      const created = await createObject(client, PODS, { metadata: { name: 'agent-1', namespace }, spec });
      const pod = created.outcome === 'created' ? created.object : null;
      const [token, other] = [await tokenFor(pod), await tokenFor(pod)];
      expect(await reviewToken(client, { token, audience })).toEqual({
        kind: 'pod',
        namespace,
        podName: 'agent-1',
        podUid: pod?.metadata.uid,
      });
      await deleteObject(client, PODS, { namespace, name: 'agent-1' });
      // The API server caches a successful authentication for ten seconds, so this is a token that it has not seen.
      await until(async () => (await reviewToken(client, { token: other, audience })).kind === 'rejected');
    });

    test('reports an unbound token, which any client with permission to create tokens may have created', async () => {
      expect(await reviewToken(client, { token: await tokenFor(null), audience })).toEqual({
        kind: 'unbound',
      });
    });

    test.each<[string, () => Promise<string>, string]>([
      ['for the API server itself', () => tokenFor(null, ['https://kubernetes.default.svc']), 'audience'],
      ['of another issuer', () => Promise.resolve('eyJhbGciOiJSUzI1NiJ9.e30.c2ln'), 'invalid bearer token'],
      ['that is not a JWT', () => Promise.resolve('x'), 'invalid bearer token'],
    ])('rejects a token %s', async (_, make, reason) => {
      const token = await make();
      const result = await reviewToken(client, { token, audience });
      expect(result).toEqual({ kind: 'rejected', reason: expect.stringContaining(reason) });
    });
  });

  test('a missing permission is reported with its reason', async () => {
    const weak = await cluster.clientOf(namespace, 'default');
    expect(
      await weak.send({ method: 'GET', path: objectPath(PODS, { namespace, name: 'x' }) }),
    ).toMatchObject({
      ok: false,
      status: 403,
      reason: 'Forbidden',
    });
    await expect(reviewToken(weak, { token: 'x', audience: 'platform.io' })).rejects.toMatchObject({
      status: 403,
    });
  });
});
