import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Check } from '../../../core/shapes/health.ts';
import { parseHeartbeat } from '../../../core/observation/parse-heartbeat.ts';
import type { AgentObservation } from '../../../core/observation/observation.ts';
import { RULE_IDS } from '../../../core/audit/rules.ts';
import { whyNoControlPlane } from '../../../e2e/cluster/control.ts';
import { KubeClient } from '../../../kube/client.ts';
import { loadClusterAccess } from '../../../kube/cluster-access.ts';
import { getObject } from '../../../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath, objectPath } from '../../../kube/resources.ts';
import type { Clock } from '../../../runtime/clock.ts';
import { silentLogger } from '../../../runtime/logger.ts';
import { createMetrics } from '../../../runtime/metrics.ts';
import { ApiCluster } from '../../../testing/cluster/api-cluster.ts';
import { aHeartbeat } from '../../../testing/fleet/heartbeat.ts';
import { CONTRACT_RATE_LIMIT_SECONDS, storeContract } from '../../../testing/fleet/store-contract.ts';
import type { AgentKey, Arrival, Store } from '../store.ts';
import { KubernetesStore } from './kubernetes-store.ts';
import { until } from '../../../testing/time/until.ts';

const START = '2026-03-01T10:00:00.000Z';
const at = (seconds: number): Date => new Date(Date.parse(START) + seconds * 1000);

/** A clock with the wall time of the contract's heartbeats and real durations. */
function clockAt(time: () => Date): Clock {
  return {
    now: time,
    monotonicMs: () => performance.now(),
    sleep: async (ms, signal) => {
      await delay(ms, undefined, signal ? { signal, ref: false } : { ref: false });
    },
  };
}

let cluster: ApiCluster;
let client: KubeClient;
let namespaces = 0;
const opened: { store: Store; client: KubeClient }[] = [];

async function open(overrides: { clock?: Clock; sweepMs?: number } = {}): Promise<Store> {
  const own = new KubeClient({
    access: loadClusterAccess(cluster.control.kubeconfig),
    part: 'control-plane',
  });
  const store: Store = new KubernetesStore({
    client: own,
    clock: clockAt(() => at(0)),
    logger: silentLogger,
    metrics: createMetrics(),
    rateLimitSeconds: CONTRACT_RATE_LIMIT_SECONDS,
    ...overrides,
  });
  await store.start();
  opened.push({ store, client: own });
  await until(() => store.unready() === null, 'the list');
  return store;
}

async function closeAll(): Promise<void> {
  for (const each of opened.splice(0)) {
    await each.store.close();
    await each.client.close();
  }
}

async function makeNamespace(): Promise<string> {
  const name = `store-${(namespaces += 1)}`;
  await cluster.post('/api/v1/namespaces', { metadata: { name } });
  return name;
}

async function makeWorkload({ namespace, name }: AgentKey, spec: object = {}): Promise<void> {
  const body = {
    apiVersion: 'platform.io/v1',
    kind: 'AgentObservation',
    metadata: { name },
    spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name }, ...spec },
  };
  await cluster.post(collectionPath(AGENT_OBSERVATIONS, namespace), body);
}

const observed = (key: AgentKey): Promise<AgentObservation | null> =>
  getObject(client, AGENT_OBSERVATIONS, { namespace: key.namespace, name: key.name });

(whyNoControlPlane() ? describe.skip : describe)('on a real API server', () => {
  beforeAll(async () => {
    cluster = await ApiCluster.start();
    ({ client } = cluster);
    await cluster.define('agentobservations');
  }, 90_000);

  afterAll(async () => {
    await closeAll();
    await cluster?.close();
  });

  storeContract('The Kubernetes store', async () => {
    let current = await open();
    return {
      hasCluster: true,
      get store() {
        return current;
      },
      async restart() {
        await closeAll();
        current = await open();
      },
      namespace: makeNamespace,
      async workload(key) {
        await makeWorkload(key);
        await until(async () => (await current.find(key, at(0))) !== null, 'the workload');
      },
      close: closeAll,
    };
  });

  describe('The Kubernetes store', () => {
    const arrival = (key: AgentKey, overrides: Partial<Arrival> = {}): Arrival => ({
      ...key,
      source: 'sidecar',
      instance: 'shop-1',
      uid: 'u-1',
      heartbeat: aHeartbeat(),
      at: at(0),
      ...overrides,
    });
    const aKey = async (): Promise<AgentKey> => ({ namespace: await makeNamespace(), name: 'shop' });

    test('writes the first heartbeat to the cluster immediately, with its conditions', async () => {
      const store = await open();
      const key = await aKey();
      await makeWorkload(key);
      // The watch may not have delivered the object yet; then the store reads it from the API server.
      expect(await store.heartbeat(arrival(key))).toMatchObject({ kind: 'accepted' });
      await until(async () => (await observed(key))?.status?.score === 100, 'the status');
      const { status } = (await observed(key))!;
      expect(status).toMatchObject({
        phase: 'Healthy',
        grade: 'A',
        reportedBy: 'shop-1',
        instances: [{ name: 'shop-1', uid: 'u-1', seq: 1 }],
        lastChecked: START,
      });
      expect(status!.conditions!.find((each) => each.type === 'Ready')).toMatchObject({
        status: 'True',
        reason: 'Healthy',
      });
      await closeAll();
    });

    test('with two replicas keeps every instance, proof and token', async () => {
      const [one, two] = [await open(), await open()];
      const key = await aKey();
      const outcome = await one.register({ ...key, runtime: 'docker', manifest: null }, at(0));
      if (outcome.kind !== 'created') throw new Error(outcome.kind);
      const { agentId } = outcome.record;
      const indexes = Array.from({ length: 12 }, (_, index) => index);
      await Promise.all(
        indexes.flatMap((index) => {
          const store = index % 2 === 0 ? one : two;
          const token = { hash: `t-${index}`, expiresAt: at(3600).toISOString() };
          const proof = {
            ruleId: RULE_IDS[index]!,
            verifiedBy: 'qa',
            method: 'm',
            verifiedAt: at(index).toISOString(),
          };
          return [
            store.heartbeat(arrival(key, { source: 'remote', instance: `i-${index}`, at: at(index) })),
            store.addToken({ ...key, agentId, token, at: at(0) }),
            store.putProof({ ...key, record: proof, at: at(index) }),
          ];
        }),
      );
      // A token issued by one replica is valid at the other immediately.
      const token = { hash: 't-0', expiresAt: at(3600).toISOString() };
      expect(await two.hasToken({ ...key, agentId, token, at: at(0) })).toBe(true);
      await closeAll();
      const { status } = (await observed(key))!;
      expect(status!.instances!.map((each) => each.name)).toEqual(indexes.map((i) => `i-${i}`).sort());
      expect(status!.proofs!.map((each) => each.ruleId)).toEqual(RULE_IDS.slice(0, 12).sort());
      expect(status!.tokenHashes!.map((each) => each.hash).sort()).toEqual(
        indexes.map((i) => `t-${i}`).sort(),
      );
      expect(status).toMatchObject({ instanceCount: 12, proofRevision: 12 });
    });

    test('finds a recent registration and token of another replica', async () => {
      const [one, two] = [await open(), await open()];
      const key = await aKey();
      const outcome = await one.register({ ...key, runtime: 'docker', manifest: null }, at(0));
      if (outcome.kind !== 'created') throw new Error(outcome.kind);
      const grant = {
        ...key,
        agentId: outcome.record.agentId,
        token: { hash: 'a', expiresAt: at(3600).toISOString() },
        at: at(0),
      };
      await one.replaceTokens(grant);
      expect(await two.hasToken(grant)).toBe(true);
      expect(await two.heartbeat(arrival(key, { source: 'remote' }))).toMatchObject({ kind: 'accepted' });
      expect(await two.register({ ...key, runtime: 'local', manifest: null }, at(0))).toMatchObject({
        kind: 'exists',
        record: { agentId: grant.agentId },
      });
      await closeAll();
    });

    test('marks stale remote agents itself, and leaves workloads to the operator', async () => {
      let now = at(0);
      const store = await open({ clock: clockAt(() => now), sweepMs: 50 });
      const remote = await aKey();
      const workload = { ...remote, name: 'work' };
      await store.register({ ...remote, runtime: 'docker', manifest: null }, at(0));
      await makeWorkload(workload);
      await store.heartbeat(arrival(remote, { source: 'remote' }));
      await store.heartbeat(arrival(workload));
      await until(async () => (await observed(workload))?.status?.phase === 'Healthy', 'the workload');
      await until(async () => (await observed(remote))?.status?.phase === 'Healthy', 'the remote agent');
      now = at(121);
      await until(async () => (await observed(remote))?.status?.phase === 'Unknown', 'the phase Unknown');
      const { status } = (await observed(remote))!;
      expect(status!.conditions!.find((each) => each.type === 'Reporting')).toMatchObject({
        status: 'False',
        reason: 'Stale',
      });
      expect((await observed(workload))?.status?.phase).toBe('Healthy');
      await closeAll();
    });

    test('does not remove the observation of a workload', async () => {
      const store = await open();
      const key = await aKey();
      await makeWorkload(key);
      expect(await store.remove(key)).toBe('workload');
      expect(await observed(key)).not.toBeNull();
      await closeAll();
    });

    test('returns the interval from the observation, also an explicit 30', async () => {
      const store = await open();
      const key = await aKey();
      await makeWorkload(key, { heartbeatSeconds: 30 });
      await makeWorkload({ ...key, name: 'other' });
      const secondsOf = async (name: string) => {
        await until(async () => (await store.find({ ...key, name }, at(0))) !== null, 'the agent');
        return (await store.find({ ...key, name }, at(0)))?.heartbeatSeconds;
      };
      expect([await secondsOf('shop'), await secondsOf('other')]).toEqual([30, null]);
      const path = objectPath(AGENT_OBSERVATIONS, { ...key, name: 'other' });
      await cluster.patch(path, { spec: { heartbeatSeconds: 30 } });
      await until(async () => (await secondsOf('other')) === 30, 'the explicit interval');
      await closeAll();
    });

    test('accepts the largest heartbeat that the parser accepts', async () => {
      const text = '𝕏'.repeat(250);
      const check = (index: number): Check => ({
        id: `env:${'V'.repeat(300)}${index}`,
        category: 'env',
        status: 'fail',
        severity: 'error',
        latencyMs: 1e6,
        message: text,
        remediation: text,
      });
      const count = Number.MAX_SAFE_INTEGER;
      const model = (index: number) => ({
        modelId: `${'m'.repeat(190)}${index}`,
        promptTokens: count,
        completionTokens: count,
        totalTokens: count,
        callCount: count,
      });
      const parsed = parseHeartbeat(
        {
          ...aHeartbeat(),
          instance: 'i'.repeat(253),
          seq: count - 1,
          intervalSeconds: 3_600,
          health: { status: 'unhealthy', checks: Array.from({ length: 300 }, (_, index) => check(index)) },
          gap: {
            score: 0.4,
            issues: Array.from({ length: 300 }, (_, index) => ({
              severity: 'critical',
              property: `${'p'.repeat(490)}${index}`,
              description: text,
              recommendation: text,
              message: text,
              source: 'policy',
            })),
          },
          proof: RULE_IDS.map((ruleId) => ({
            ruleId,
            verifiedBy: 'v'.repeat(2048),
            method: '𝕄'.repeat(1024),
            verifiedAt: START,
            expiresAt: '2999-01-01T00:00:00Z',
          })),
          proofRevision: count - 2,
          usage: {
            windowStartedAt: START,
            models: Array.from({ length: 100 }, (_, index) => model(index)),
            totalTokens: count,
            totalCalls: count,
          },
          totals: { tokensToday: count, costTodayUsd: 1e12 },
          outcomes: { allow: count, deny: count, failOpen: count, notEvaluated: count },
          policyMode: 'off',
          policyState: 'not-loaded',
          manifestHash: 'h'.repeat(128),
          model: { provider: 'p'.repeat(200), id: 'm'.repeat(200) },
          sidecarVersion: 'v'.repeat(64),
        },
        { agentName: 'shop', at: new Date(START) },
      );
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
      const store = await open();
      const key = await aKey();
      await makeWorkload(key);
      const outcome = await store.heartbeat(
        arrival(key, { heartbeat: parsed.heartbeat, uid: 'u'.repeat(36) }),
      );
      expect(outcome.kind).toBe('accepted');
      await closeAll();
      expect((await observed(key))?.status).toMatchObject({
        phase: 'Unhealthy',
        score: 0,
        issuesTotal: 300,
        tokens: count,
        instanceCount: 1,
      });
    });
  });
});
