import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AgentObservation } from '../core/observation/observation.ts';
import type { ObservationStatus } from '../core/shapes/observation.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import type { KubeClient } from '../kube/client.ts';
import { deleteObject, getObject } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath, DEPLOYMENTS, PODS, REPLICA_SETS } from '../kube/resources.ts';
import { startOperator, type Operator } from '../operator/start.ts';
import { silentLogger } from '../runtime/logger.ts';
import { diceOf } from '../testing/random/dice.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { injectedSpec } from '../testing/cluster/injected-spec.ts';
import { ApiCluster } from '../testing/cluster/api-cluster.ts';
import { configOf } from '../testing/cluster/operator-config.ts';
import { ProcessRig, type RunningPart } from '../testing/machine/process-rig.ts';
import { IN_SOAK, withinLimit } from '../testing/time/real-time.ts';

const INSTANCES = 50;
/** Heartbeat interval, in seconds; a coalescing window is twice as long. */
const INTERVAL = 1;
const PAUSE_MS = 400;
/** How long all instances report before and after pods are replaced. */
const TRAFFIC_MS = IN_SOAK ? 4_000 : 2_000;
const ADMIN = { 'x-admin-key': 'admin-key-of-a-test' };

interface Replica extends RunningPart {
  url: string;
}

/** One instance of the agent: a pod with its token and the heartbeats that were accepted. */
interface Instance {
  pod: string;
  token: string;
  seq: number;
  /** Every seq with a 2xx response. */
  accepted: { seq: number }[];
}

(whyNoControlPlane() ? describe.skip : describe)(
  'two replicas, the operator, and fifty instances of one agent',
  () => {
    let cluster: ApiCluster;
    let client: KubeClient;
    let rig: ProcessRig;
    let operator: Operator | undefined;
    let replicas: [Replica, Replica];
    let namespaces = 0;
    let namespace = '';
    let owner: object;

    beforeAll(async () => {
      cluster = await ApiCluster.start();
      ({ client } = cluster);
      await cluster.define('agentobservations');
      await cluster.namespaces('platform-remote');
    }, 300_000);

    afterAll(() => cluster?.close(), 300_000);

    beforeEach(async () => {
      rig = await ProcessRig.open();
      namespace = `team-${(namespaces += 1)}`;
      await cluster.namespaces(namespace);
      owner = await makeWorkload();
      const config = configOf({ KUBECONFIG: cluster.control.kubeconfig, LEADER_ELECT: 'false' });
      operator = await startOperator(config, silentLogger, new AbortController().signal);
      const ports = await freePorts(2);
      replicas = (await Promise.all(ports.map((port) => startReplica(port)))) as [Replica, Replica];
    }, 300_000);

    afterEach(async () => {
      await operator?.close();
      await rig.close();
    }, 300_000);

    async function startReplica(port: number): Promise<Replica> {
      const url = `http://127.0.0.1:${port}`;
      const part = await rig.start('control-plane', `${url}/readyz`, {
        ...{ STORE: 'kubernetes', KUBECONFIG: cluster.control.kubeconfig, PORT: String(port) },
        ...{ PLATFORM_ADMIN_KEY: 'admin-key-of-a-test', RATE_LIMIT_SECONDS: '0' },
      });
      return { ...part, url };
    }

    const post = (path: string, body: unknown) => cluster.post<{ metadata: { uid: string } }>(path, body);

    async function until<T>(check: () => Promise<T>): Promise<NonNullable<T>> {
      const end = performance.now() + 120_000;
      while (performance.now() < end) {
        const found = await check();
        if (found) return found;
        await sleep(100);
      }
      throw new Error('timeout while waiting for a condition');
    }

    /** Creates a Deployment with its ReplicaSet; only this test creates its pods. */
    async function makeWorkload(): Promise<object> {
      const labels = { app: 'shop', 'platform.io/agent': 'shop' };
      const template = {
        metadata: { labels, annotations: { 'platform.io/inject': 'true' } },
        spec: { containers: [{ name: 'agent', image: 'agent' }] },
      };
      const spec = { replicas: INSTANCES, selector: { matchLabels: labels }, template };
      const deployment = await post(collectionPath(DEPLOYMENTS, namespace), {
        metadata: { name: 'shop' },
        spec,
      });
      const controller = { apiVersion: 'apps/v1', controller: true };
      const ofDeployment = { ...controller, kind: 'Deployment', name: 'shop', uid: deployment.metadata.uid };
      const metadata = { name: 'shop-1', labels, ownerReferences: [ofDeployment] };
      const set = await post(collectionPath(REPLICA_SETS, namespace), { metadata, spec });
      return { ...controller, kind: 'ReplicaSet', name: 'shop-1', uid: set.metadata.uid };
    }

    async function makeInstance(pod: string): Promise<Instance> {
      const { metadata } = await post(collectionPath(PODS, namespace), {
        metadata: {
          name: pod,
          labels: { app: 'shop', 'platform.io/agent': 'shop' },
          annotations: { 'platform.io/inject': 'true' },
          ownerReferences: [owner],
        },
        spec: {
          automountServiceAccountToken: false,
          ...injectedSpec('shop'),
          containers: [{ name: 'agent', image: 'agent' }],
        },
      });
      const spec = {
        ...{ audiences: ['platform.io'], expirationSeconds: 600 },
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: pod, uid: metadata.uid },
      };
      return { pod, token: await cluster.token(namespace, 'default', spec), seq: 0, accepted: [] };
    }

    const makeInstances = (from: number, to: number): Promise<Instance[]> =>
      Promise.all(
        Array.from({ length: to - from }, (_, index) =>
          makeInstance(`shop-1-${String(from + index).padStart(2, '0')}`),
        ),
      );

    /** The heartbeat of an instance for its `seq`. Every fifth heartbeat changes the score, so it is written immediately. */
    function beat(instance: Instance, index: number) {
      const { seq } = instance;
      const score = seq % 5 === 0 ? 60 + ((index + seq) % 30) : 100;
      return aHeartbeat({
        ...{ seq, intervalSeconds: INTERVAL, sentAt: null, instance: instance.pod },
        totals: { tokensToday: 10 * seq + index, costTodayUsd: 0 },
        outcomes: { allow: seq, deny: 0, failOpen: 1, notEvaluated: 0 },
        gap: { score, grade: 'A', source: 'agent-sdk', issues: [] },
      });
    }

    async function send(instance: Instance, index: number, { url }: Replica): Promise<number> {
      const response = await fetch(`${url}/api/v1/heartbeat`, {
        method: 'POST',
        headers: { authorization: `Bearer ${instance.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(beat(instance, index)),
        signal: AbortSignal.timeout(10_000),
      }).catch(() => null);
      await response?.body?.cancel();
      return response?.status ?? 0;
    }

    /** Sends heartbeats until `options.until` aborts. Each goes to a random replica and is retried until it is accepted. */
    async function report(
      instance: Instance,
      index: number,
      options: { dice: () => number; until: AbortSignal },
    ) {
      while (!options.until.aborted) {
        instance.seq += 1;
        for (let status = 0; status < 200 || status > 299;) {
          const replica = replicas[options.dice() < 0.5 ? 0 : 1];
          status = await send(instance, index, replica);
          if (status >= 200 && status <= 299) instance.accepted.push({ seq: instance.seq });
          else await sleep(50);
        }
        await sleep(PAUSE_MS * (0.5 + options.dice()));
      }
    }

    const observed = async (): Promise<AgentObservation> =>
      (await getObject(client, AGENT_OBSERVATIONS, { namespace, name: 'shop' }))!;

    async function metric({ url }: Replica, name: string): Promise<number> {
      const text = await (await fetch(`${url}/metrics`)).text();
      const lines = text.split('\n').filter((line) => line.startsWith(name));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    }

    /** Makes the operator write too: creates and deletes a Service that bypasses the sidecar. */
    async function toggleService(stop: AbortSignal): Promise<void> {
      const path = `/api/v1/namespaces/${namespace}/services`;
      const spec = { selector: { app: 'shop' }, ports: [{ port: 80, targetPort: 8000 }] };
      for (let turn = 0; !stop.aborted; turn += 1) {
        if (turn % 2 === 0) await post(path, { metadata: { name: 'bypass' }, spec });
        else await client.send({ method: 'DELETE', path: `${path}/bypass` });
        await sleep(300);
      }
    }

    test('no accepted heartbeat is lost by conflicts, pod replacement or a stop of the replicas', async () => {
      const dice = diceOf(7);
      const first = await makeInstances(0, INSTANCES);
      await until(() => getObject(client, AGENT_OBSERVATIONS, { namespace, name: 'shop' }));
      const stop = new AbortController();
      const early = new AbortController();
      // Ten pods are deleted halfway, and ten others are created.
      const run = first.map((instance, index) =>
        report(instance, index, { dice, until: index < 10 ? early.signal : stop.signal }),
      );
      const noise = toggleService(stop.signal);
      await sleep(TRAFFIC_MS);
      early.abort();
      const leaving = first.slice(0, 10);
      await Promise.all(run.slice(0, 10));
      // A heartbeat that is written after its pod was deleted lists the instance again until the operator removes it.
      const isStored = ({ pod, accepted }: Instance, { instances = [] }: ObservationStatus) =>
        instances.some(({ name, seq }) => name === pod && seq === accepted.at(-1)?.seq);
      await until(async () => {
        const { status = { phase: 'Pending' } } = await observed();
        return leaving.every((instance) => isStored(instance, status));
      });
      for (const { pod } of leaving) await deleteObject(client, PODS, { namespace, name: pod });
      const later = await makeInstances(INSTANCES, INSTANCES + 10);
      const more = later.map((instance, index) =>
        report(instance, INSTANCES + index, { dice, until: stop.signal }),
      );
      await sleep(TRAFFIC_MS);
      // The list has no room for the new instances until the operator removes the ten deleted pods.
      const alive = [...first, ...later].slice(10);
      const names = alive.map(({ pod }) => pod).join();
      await until(async () => (await observed()).status?.instances?.map(({ name }) => name).join() === names);
      stop.abort();
      await Promise.all([...run, ...more, noise]);
      const counts = await Promise.all(
        ['writes_total', 'writes_total{result="failed"}', 'conflicts_total'].map(async (name) => {
          const each = replicas.map((replica) => metric(replica, `platform_control_plane_status_${name}`));
          return (await Promise.all(each)).reduce((sum, value) => sum + value, 0);
        }),
      );
      const [writes = 0, failed = 0, conflicts = 0] = counts;
      const all = [...first, ...later];
      const heartbeats = all.reduce((sum, { accepted }) => sum + accepted.length, 0);
      process.stdout.write(`heartbeats ${heartbeats}, writes ${writes}, conflicts ${conflicts}\n`);
      // The stop writes all pending heartbeats without waiting for the end of their windows.
      await Promise.all(replicas.map((replica) => replica.stop()));
      const { status } = await observed();
      expect(status!.instances!.map(({ name, seq }) => [name, seq])).toEqual(
        alive.map(({ pod, accepted }) => [pod, accepted.at(-1)!.seq]),
      );
      const tokens = all.map(({ accepted }, index) => 10 * accepted.at(-1)!.seq + index);
      expect(status!.tokens).toBe(tokens.reduce((sum, each) => sum + each, 0));
      expect(status!.outcomes).toEqual({
        allow: alive.reduce((sum, { accepted }) => sum + accepted.at(-1)!.seq, 0),
        ...{ deny: 0, failOpen: INSTANCES, notEvaluated: 0 },
      });
      expect(replicas.map((replica) => replica.output().includes('unwritten heartbeats'))).toEqual([
        false,
        false,
      ]);
      expect(failed).toBe(0);
      // Each retried write means that another write succeeded; a write fails after thirty conflicts in a row.
      expect(conflicts).toBeLessThan(5 * writes);
      expect(writes).toBeLessThan(heartbeats);
    }, 300_000);

    test('a killed replica loses at most one window of state, and no key or proof', async () => {
      const dice = diceOf(8);
      const instances = await makeInstances(0, IN_SOAK ? INSTANCES : 15);
      await until(() => getObject(client, AGENT_OBSERVATIONS, { namespace, name: 'shop' }));
      const [killed, other] = replicas;
      const headers = { ...ADMIN, 'content-type': 'application/json' };
      const registration = { method: 'POST', headers, body: '{"agentName":"lambda","runtime":"other"}' };
      const stop = new AbortController();
      const run = instances.map((instance, index) => report(instance, index, { dice, until: stop.signal }));
      await until(async () => instances.every(({ accepted }) => accepted.length >= 5));
      const { apiKey } = (await (await fetch(`${killed.url}/api/v1/register`, registration)).json()) as {
        apiKey: string;
      };
      const proof = { method: 'POST', headers, body: '{"verifiedBy":"qa","method":"looked"}' };
      const path = `/api/v1/agents/shop/proof/rule/MEM-01?namespace=${namespace}`;
      expect((await fetch(`${killed.url}${path}`, proof)).status).toBe(201);
      // The second write of a replica from now on starts after this point, so it contains all heartbeats accepted so far.
      const durable = instances.map(({ accepted }) => accepted.at(-1)!.seq);
      const written = () =>
        Promise.all(replicas.map((replica) => metric(replica, 'platform_control_plane_status_writes_total')));
      const areWritten = withinLimit('two writes of a status');
      const before = await written();
      await until(async () => (await written()).every((writes, index) => writes >= before[index]! + 2));
      areWritten();
      process.kill(killed.pid, 'SIGKILL');
      stop.abort();
      await Promise.all(run);
      await other.stop();
      const { status } = await observed();
      // Heartbeats accepted before the last window are stored, whichever replica accepted them.
      for (const [index, { pod }] of instances.entries()) {
        const row = status!.instances!.find(({ name }) => name === pod);
        expect([pod, (row?.seq ?? 0) >= durable[index]!]).toEqual([pod, true]);
      }
      expect(status!.proofs).toMatchObject([{ ruleId: 'MEM-01', verifiedBy: 'qa' }]);
      const [port = 0] = await freePorts(1);
      const next = await startReplica(port);
      const lambda = { pod: 'l', token: apiKey, seq: 1, accepted: [] };
      // A 200 contains a longer interval, so the key is known to the new replica.
      expect(await send(lambda, 0, next)).toBe(200);
      // The instances continue with the new replica, and no data is missing.
      replicas = [next, next];
      const resumed = new AbortController();
      const resuming = instances.map((instance, index) =>
        report(instance, index, { dice, until: resumed.signal }),
      );
      await sleep(1_000);
      resumed.abort();
      await Promise.all(resuming);
      await next.stop();
      const after = (await observed()).status!;
      const tokens = instances.map(({ accepted }, index) => 10 * accepted.at(-1)!.seq + index);
      expect(after.tokens).toBe(tokens.reduce((sum, each) => sum + each, 0));
      expect(after.instances!.map(({ name }) => name)).toEqual(instances.map(({ pod }) => pod));
    }, 300_000);
  },
);
