// The control plane on SQLite in a volume, and then on PostgreSQL in the network of the pods: what moves with the store, and that
// a killed replica loses nothing.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Agent, request } from 'undici';
import type { AgentHistory, HistoryPoint, HistoryStep } from '../core/shapes/history.ts';
import { whyNoDebianServers } from '../testing/machine/debian-server.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import type { Forward } from './cluster/forward.ts';
import { canKill } from './container-killer.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl } from './kubectl.ts';
import { startNodePostgres, type NodePostgres } from './node-postgres.ts';
import { ADMIN_KEY, installProduct, RELEASE, SYSTEM_NAMESPACE, valuesFor } from './product.ts';

jest.setTimeout(TEST_MS);

const NAME = `${RELEASE}-agent-compliance-control-plane`;
const SELECTOR = 'app.kubernetes.io/component=control-plane';
const VOLUME = 'e2e-control-plane';
const SQLITE = { type: 'sqlite', sqlite: { size: '1Gi', storageClass: VOLUME } };
const POSTGRES = { type: 'postgres', postgres: { existingSecret: 'database', caKey: 'ca.crt' } };
const AGENT = 'far-away';
/** Heartbeats before and after the kill of a replica. */
const BEATS = 10;

interface Registration {
  agentId: string;
  apiKey: string;
}

interface ControlPlanePod {
  metadata: { name: string; deletionTimestamp?: string };
  spec: { volumes: { name: string }[] };
}

let cluster: Cluster;
let system: Kubectl;
let remote: Kubectl;
let forward: Forward;
let dispatcher: Agent;
let postgres: NodePostgres;
let folder = '';
let agent: Registration;
let seq = 0;
const startedAt = new Date().toISOString();

/** Installs or upgrades the release with this store. */
const useStore = (store: object) => {
  const controlPlane = { ...valuesFor(cluster)['controlPlane'], rateLimitSeconds: 0, store };
  return installProduct(cluster, { values: { controlPlane } });
};

/** One request to the Service. `key`: of a registered agent, instead of the admin key. Rejects if no replica responds. */
async function ask<T>(
  path: string,
  { method = 'GET', key, body }: { method?: 'GET' | 'POST' | 'DELETE'; key?: string; body?: object } = {},
): Promise<{ status: number; body: T }> {
  const credential = key === undefined ? { 'x-admin-key': ADMIN_KEY } : { authorization: `Bearer ${key}` };
  const response = await request(new URL(path, forward.url.replace('http:', 'https:')), {
    ...{ method, dispatcher },
    headers: { ...credential, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.body.text();
  return { status: response.statusCode, body: (text === '' ? null : JSON.parse(text)) as T };
}

const register = () =>
  ask<Registration>('/api/v1/register', { method: 'POST', body: { agentName: AGENT, runtime: 'other' } });

/** The status of the response to a heartbeat; 0: no response. */
async function beat(): Promise<number> {
  const body = aHeartbeat({ seq, startedAt, sentAt: null });
  const sent = ask('/api/v1/heartbeat', { method: 'POST', key: agent.apiKey, body });
  return sent.then(
    ({ status }) => status,
    () => 0,
  );
}

/** Sends heartbeats, each until it is accepted. */
async function report(count: number): Promise<void> {
  for (let left = count; left > 0; left -= 1) {
    seq += 1;
    for (let status = await beat(); status !== 204; status = await beat()) {
      // Any other response would stay the same.
      expect([0, 503]).toContain(status);
      await sleep(200);
    }
  }
}

/** Retried while a replica is not available. */
async function points(step: HistoryStep): Promise<HistoryPoint[]> {
  const path = `/api/v1/agents/${AGENT}/history?step=${step}`;
  const { result } = await eventually(
    'the history',
    () => ask<AgentHistory>(path),
    ({ status }) => status === 200,
  );
  return result.body.points;
}

const observation = async () =>
  (await remote.get<{ status: { agentId: string; score?: number; phase: string } }>('ao', AGENT)).status;

const pods = async () => (await system.get<{ items: ControlPlanePod[] }>('pods', '-l', SELECTOR)).items;

/** Kills the process of a pod's only container. */
async function kill(pod: string): Promise<void> {
  const filter = `labels."io.kubernetes.container.name"==control-plane,labels."io.kubernetes.pod.name"==${pod}`;
  const script = 'ctr -n k8s.io tasks kill -s SIGKILL $(ctr -n k8s.io containers ls -q "$1")';
  const { code, stderr } = await cluster.exec(['sh', '-c', script, 'kill', filter]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}

/** A directory of the node as a volume. Like block storage, the kubelet gives it the group of the pod. */
function localVolume(path: string) {
  const onNode = [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['node1'] }];
  return {
    ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: VOLUME } },
    spec: {
      ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: VOLUME },
      ...{ persistentVolumeReclaimPolicy: 'Retain', local: { path } },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: onNode }] } },
    },
  };
}

// Needs the node: a directory for the volume, a server in its network, and a process to kill.
(canKill && !whyNoDebianServers() ? describe : describe.skip)('the control plane', () => {
  beforeAll(async () => {
    cluster = await startCluster();
    system = kubectlOf(cluster, SYSTEM_NAMESPACE);
    remote = kubectlOf(cluster, 'platform-remote');
    folder = mkdtempSync(join(tmpdir(), 'control-plane-volume-'));
    await kubectlOf(cluster, 'default').apply([localVolume(folder)]);
    [postgres] = await Promise.all([startNodePostgres(cluster), useStore(SQLITE)]);
    forward = await cluster.forward({ namespace: SYSTEM_NAMESPACE, name: NAME, port: 8080 });
    const { data } = await system.get<{ data: Record<string, string> }>('secret', `${NAME}-tls`);
    const ca = Buffer.from(String(data['ca.crt']), 'base64').toString();
    // Without keep-alive, so that the Service selects a replica for each request.
    const connect = { ca, servername: `${NAME}.${SYSTEM_NAMESPACE}.svc` };
    dispatcher = new Agent({ pipelining: 0, connect });
  });

  afterAll(async () => {
    await dispatcher?.close();
    await forward?.close();
    await postgres?.close();
    // Helm does not reset a number that it did not set.
    await system?.run('scale', `deploy/${NAME}`, '--replicas=1');
    const left = [`pvc/${NAME}-data`, `pv/${VOLUME}`, 'secret/database'];
    await system?.run('delete', ...left, '--ignore-not-found', '--wait=false');
    if (folder !== '') rmSync(folder, { recursive: true, force: true });
    await cluster?.close();
  });

  test('stores registered agents in a volume as a non-root user', async () => {
    const { status, body } = await register();
    expect(status).toBe(201);
    agent = body;
    await report(1);
    const { uid, gid } = statSync(join(folder, 'control-plane.sqlite'));
    expect({ uid, gid }).toEqual({ uid: 65523, gid: 65523 });
    expect(await points('heartbeat')).toHaveLength(1);
  });

  test('moves to PostgreSQL with two replicas, where the agent has to register again', async () => {
    const stringData = { url: postgres.url, 'ca.crt': postgres.ca };
    await system.apply([{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'database' }, stringData }]);
    await useStore(POSTGRES);
    // The chart rejects several replicas in the same step.
    await system.run('scale', `deploy/${NAME}`, '--replicas=2');
    const isOld = ({ metadata, spec }: ControlPlanePod) =>
      metadata.deletionTimestamp === undefined && spec.volumes.some(({ name }) => name === 'data');
    await eventually('the end of the pod with SQLite', pods, (found) => !found.some(isOld));
    // The Service may still select that pod for a moment.
    const several = () => Promise.all(Array.from({ length: 5 }, beat));
    await eventually('responses of PostgreSQL', several, (all) => all.every((status) => status === 401));
    expect((await observation()).agentId).toBe(agent.agentId);
    const { result } = await eventually('a new registration', register, ({ status }) => status === 201);
    expect(result.body.agentId).not.toBe(agent.agentId);
    agent = result.body;
    expect((await observation()).agentId).toBe(agent.agentId);
    await system.rolledOut(`deploy/${NAME}`);
  });

  test('loses no heartbeat when a replica is killed, serves the history, and writes the AgentObservation', async () => {
    await report(BEATS);
    const running = (await pods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    expect(running).toHaveLength(2);
    await kill(String(running[0]?.metadata.name));
    await report(BEATS);
    expect(await points('heartbeat')).toHaveLength(2 * BEATS);
    const hours = await points('hour');
    expect(hours.reduce((sum, { heartbeats }) => sum + heartbeats, 0)).toBe(2 * BEATS);
    expect(await observation()).toMatchObject({ score: 100, phase: 'Healthy' });
  });

  test('removes the agent from the database and from the cluster', async () => {
    const remove = () => ask(`/api/v1/agents/${AGENT}`, { method: 'DELETE' });
    await eventually('the removal', remove, ({ status }) => status === 204 || status === 404);
    const find = () => ask(`/api/v1/agents/${AGENT}/gap`);
    await eventually('no agent', find, ({ status }) => status === 404);
    expect(await remote.run('get', 'ao', AGENT, '--ignore-not-found')).toBe('');
  });
});
