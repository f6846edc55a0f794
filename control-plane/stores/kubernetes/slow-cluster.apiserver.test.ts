import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Heartbeat } from '../../../core/shapes/heartbeat.ts';
import { whyNoControlPlane } from '../../../e2e/cluster/control.ts';
import { KubeClient, type KubeRequest, type KubeResponse } from '../../../kube/client.ts';
import { loadClusterAccess } from '../../../kube/cluster-access.ts';
import { getObject } from '../../../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../../../kube/resources.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { silentLogger } from '../../../runtime/logger.ts';
import { createMetrics, type Metrics } from '../../../runtime/metrics.ts';
import { ApiCluster } from '../../../testing/cluster/api-cluster.ts';
import { aHeartbeat } from '../../../testing/fleet/heartbeat.ts';
import { stopProcess } from '../../../testing/machine/stop-process.ts';
import { IN_SOAK, withinLimit } from '../../../testing/time/real-time.ts';
import type { HeartbeatOutcome, Store } from '../store.ts';
import { KubernetesStore } from './kubernetes-store.ts';

const AGENTS = Array.from({ length: 16 }, (_, index) => `agent-${index}`);
/** Additional delay of each request, in milliseconds. */
const DELAY_MS = IN_SOAK ? 2_000 : 500;
/** How long the store may take to write pending heartbeats, in milliseconds: 12 s as in the product in soak, else 120 s. */
const CLOSE_MS = IN_SOAK ? 12_000 : 120_000;

/** A client whose requests all wait for `late` first. */
class LateClient extends KubeClient {
  late: () => Promise<void> = () => Promise.resolve();

  override async send<T>(request: KubeRequest): Promise<KubeResponse<T>> {
    await this.late();
    return super.send<T>(request);
  }
}

(whyNoControlPlane() ? describe.skip : describe)('while the API server is slow', () => {
  let cluster: ApiCluster;
  let client: KubeClient;
  let lateClient: LateClient;
  let apiServer: number;
  let store: Store;
  let metrics: Metrics;
  let problems: string[];
  let aheadMs: number;
  let namespace = '';
  let namespaces = 0;

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    ({ client } = cluster);
    const { kubeconfig } = cluster.control;
    lateClient = new LateClient({ access: loadClusterAccess(kubeconfig), part: 'late' });
    const directory = join(dirname(kubeconfig), '..');
    apiServer = Number(readFileSync(join(directory, 'kube-apiserver.pid'), 'utf8'));
    await cluster.define('agentobservations');
  }, 300_000);

  afterEach(() => store.close());

  afterAll(async () => {
    await lateClient?.close();
    await cluster?.close();
  });

  /** Opens a store whose requests all wait for `late` first, and creates an observation for each agent. */
  async function open(late: () => Promise<void>): Promise<void> {
    namespace = `slow-${(namespaces += 1)}`;
    await cluster.post('/api/v1/namespaces', { metadata: { name: namespace } });
    for (const name of AGENTS)
      await cluster.post(collectionPath(AGENT_OBSERVATIONS, namespace), {
        ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation', metadata: { name } },
        spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
      });
    [aheadMs, problems, metrics] = [0, [], createMetrics()];
    const collect = (message: string): void => void problems.push(message);
    lateClient.late = late;
    store = new KubernetesStore({
      client: lateClient,
      clock: { ...systemClock, monotonicMs: () => performance.now() + aheadMs },
      logger: { ...silentLogger, warn: collect, error: collect },
      metrics,
      rateLimitSeconds: 0,
      closeMs: CLOSE_MS,
    });
    await store.start();
    while (store.unready() !== null) await sleep(20);
  }

  function beat(name: string, seq: number, overrides: Partial<Heartbeat> = {}): Promise<HeartbeatOutcome> {
    const totals = { tokensToday: seq, costTodayUsd: 0 };
    const heartbeat = aHeartbeat({ seq, intervalSeconds: 1, sentAt: null, totals, ...overrides });
    const sender = { source: 'sidecar' as const, instance: `${name}-1`, uid: 'u-1' };
    return store.heartbeat({ namespace, name, ...sender, heartbeat, at: new Date() });
  }

  /** The outcome, or the status of the error. */
  const outcomeOf = (result: Promise<HeartbeatOutcome>): Promise<string> =>
    result.then(
      (outcome) => outcome.kind,
      (error: { status?: number }) => String(error.status),
    );

  const pending = (): number =>
    Number(/platform_control_plane_pending_heartbeats (\d+)/.exec(metrics.render())?.[1]);

  async function storedTokens(): Promise<unknown[]> {
    const keys = AGENTS.map((name) => ({ namespace, name }));
    const found = await Promise.all(keys.map((key) => getObject(client, AGENT_OBSERVATIONS, key)));
    return found.map((observation) => observation?.status?.tokens);
  }

  test(`by ${DELAY_MS} ms per request, heartbeats are accepted immediately, and a stop loses none of them`, async () => {
    let late = () => Promise.resolve();
    await open(() => late());
    // No request reaches the API server until all heartbeats are accepted.
    const gate = Promise.withResolvers<void>();
    late = () => gate.promise;
    const outcomes = await Promise.all(AGENTS.map((name) => outcomeOf(beat(name, 7))));
    expect(outcomes).toEqual(AGENTS.map(() => 'accepted'));
    late = () => sleep(DELAY_MS);
    gate.resolve();
    await store.close();
    expect(await storedTokens()).toEqual(AGENTS.map(() => 7));
    expect(problems).toEqual([]);
  }, 300_000);

  test('or hangs, every response arrives in time, few heartbeats are held, and all are stored after it resumes', async () => {
    await open(() => Promise.resolve());
    for (const name of AGENTS) await beat(name, 1);
    while (pending() > 0) await sleep(20);
    await stopProcess(apiServer);
    try {
      const many = AGENTS.flatMap((name) => Array.from({ length: 20 }, (_, index) => beat(name, 2 + index)));
      expect(new Set(await Promise.all(many.map(outcomeOf)))).toEqual(new Set(['accepted']));
      // One heartbeat per process, for any number of accepted heartbeats.
      expect(pending()).toBe(AGENTS.length);
      const proof = { ruleId: 'MEM-01', verifiedBy: 'qa', method: 'm', verifiedAt: new Date().toISOString() };
      const arriveInTime = withinLimit('a response while the API server hangs');
      const slow = [beat('agent-0', 22, { proof: [proof] }), beat('unknown', 1)].map(outcomeOf);
      expect(await Promise.all(slow)).toEqual(['503', '503']);
      arriveInTime();
      // After a window no more heartbeats are accepted, because a crash would lose them.
      aheadMs = 18_000;
      const rejected = await Promise.all(AGENTS.map((name) => outcomeOf(beat(name, 23))));
      expect(new Set(rejected)).toEqual(new Set(['503']));
      // One log line per outage, not one per request.
      expect(problems).toEqual(['API server requests failing']);
    } finally {
      process.kill(apiServer, 'SIGCONT');
    }
    const end = performance.now() + 120_000;
    while (pending() > 0 && performance.now() < end) await sleep(50);
    // A heartbeat that returned 503 may still have been written. The sender repeats it, and a repeat changes nothing.
    const [first, ...others] = await storedTokens();
    expect([21, 22]).toContain(first);
    expect(others).toEqual(AGENTS.slice(1).map(() => 21));
    expect(await outcomeOf(beat('agent-0', 24))).toBe('accepted');
  }, 300_000);
});
