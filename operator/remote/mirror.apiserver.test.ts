import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isMirrored } from '../../core/observation/mirrored.ts';
import type { Heartbeat } from '../../core/shapes/heartbeat.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { whyNoControlPlane } from '../../e2e/cluster/control.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import type { KubeClient } from '../../kube/client.ts';
import { Informer } from '../../kube/informer.ts';
import { listObjects } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath } from '../../kube/resources.ts';
import { StatusWriter } from '../../kube/status-writer.ts';
import { exchange } from '../../probe/http-exchange.ts';
import { systemClock } from '../../runtime/clock.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { Secret } from '../../runtime/secret.ts';
import { aHeartbeat } from '../../testing/fleet/heartbeat.ts';
import { ApiCluster, found as until } from '../../testing/cluster/api-cluster.ts';
import { configOf } from '../../testing/cluster/operator-config.ts';
import { ProcessRig, type RunningPart } from '../../testing/machine/process-rig.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import { startOperator, type Operator } from '../start.ts';
import { Mirror } from './mirror.ts';

const NAMESPACE = 'platform-remote';
const ADMIN = { 'x-admin-key': 'admin-key-of-a-test' };
const UNHEALTHY: Partial<Heartbeat> = {
  health: { ...aHeartbeat().health, status: 'unhealthy' },
  gap: { score: 55, grade: 'D', source: 'agent-sdk', issues: [] },
};

interface EventItem {
  reason: string;
  regarding: { name: string };
}

(whyNoControlPlane() ? describe.skip : describe)('the agents of a control plane outside the cluster', () => {
  let cluster: ApiCluster;
  let client: KubeClient;
  let rig: ProcessRig;
  let port: number;
  let outside: RunningPart;
  let ca: string;
  let serving: Record<string, string>;
  let settings: Record<string, string>;
  const operators: { operator: Operator; warnings: string[] }[] = [];
  const keys = new Map<string, string>();

  beforeAll(async () => {
    [cluster, rig] = await Promise.all([ApiCluster.start(), ProcessRig.open()]);
    ({ client } = cluster);
    await cluster.define('agentobservations');
    await cluster.namespaces(NAMESPACE, 'platform-system');
    await cluster.post('/apis/coordination.k8s.io/v1/namespaces/platform-system/leases', {
      metadata: { name: 'platform-operator' },
    });
    const validity = { now: new Date(), days: 1 };
    const issuer = await issueCa(validity);
    const leaf = await issueLeaf(issuer, ['127.0.0.1'], validity);
    ca = issuer.cert;
    [port = 0] = await freePorts(1);
    serving = {
      ...{ STORE: 'sqlite', DATA_DIR: join(rig.folder, 'data'), PORT: String(port) },
      ...{ PLATFORM_ADMIN_KEY: 'admin-key-of-a-test', RATE_LIMIT_SECONDS: '0' },
      TLS_CERT_FILE: await rig.file('tls.crt', leaf.cert),
      TLS_KEY_FILE: await rig.file('tls.key', leaf.key),
    };
    settings = {
      PLATFORM_CONTROL_PLANE_URL: `https://127.0.0.1:${port}`,
      PLATFORM_ADMIN_KEY: 'admin-key-of-a-test',
      PLATFORM_CA_FILE: await rig.file('ca.crt', ca),
      REMOTE_POLL_SECONDS: '1',
    };
    outside = await rig.start('control-plane', /listening/, serving);
  }, 300_000);

  afterAll(async () => {
    await closeOperators();
    await cluster?.close();
    await rig?.close();
  });

  async function closeOperators(): Promise<void> {
    await Promise.all(operators.splice(0).map(({ operator }) => operator.close()));
  }

  async function startReplica(overrides: Record<string, string> = {}): Promise<void> {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const config = configOf({
      ...{ KUBECONFIG: cluster.control.kubeconfig, POD_NAMESPACE: 'platform-system' },
      ...settings,
      ...overrides,
    });
    const operator = await startOperator(config, logger, new AbortController().signal);
    operators.push({ operator, warnings });
  }

  /** Sends a request to the remote control plane. */
  async function request(method: 'GET' | 'POST' | 'DELETE', path: string, headers: object, body?: object) {
    const url = new URL(`https://127.0.0.1:${port}/api/v1/${path}`);
    const response = await exchange(url, {
      ...{ method, ca, maxBytes: 100_000 },
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.answered || response.status > 299) throw new Error(JSON.stringify(response));
    return JSON.parse(response.status === 204 ? 'null' : String(response.body)) as unknown;
  }

  async function register(agentName: string): Promise<void> {
    const body = { agentName, runtime: 'docker' };
    const { apiKey } = (await request('POST', 'register', ADMIN, body)) as { apiKey: string };
    keys.set(agentName, apiKey);
  }

  const report = (agentName: string, seq: number, overrides: Partial<Heartbeat> = {}) =>
    request(
      'POST',
      'heartbeat',
      { authorization: `Bearer ${keys.get(agentName)}` },
      aHeartbeat({ seq, sentAt: null, totals: { tokensToday: 42, costTodayUsd: 0 }, ...overrides }),
    );

  const observed = async (): Promise<AgentObservation[]> =>
    (await listObjects(client, AGENT_OBSERVATIONS, { namespace: NAMESPACE })).items;
  const one = async (name: string): Promise<AgentObservation | undefined> =>
    (await observed()).find(({ metadata }) => metadata.name === name);
  const phaseOf = async (name: string) => (await one(name))?.status?.phase;

  /** The value of a metric for each operator; undefined if the operator does not export it. */
  async function metric(name: string): Promise<(number | undefined)[]> {
    return Promise.all(
      operators.map(async ({ operator }) => {
        const text = await (await fetch(`http://127.0.0.1:${operator.port}/metrics`)).text();
        const line = text
          .split('\n')
          .find((each) => each.startsWith(`${name} `) || each.startsWith(`${name}{`));
        return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
      }),
    );
  }

  async function polls(more: number): Promise<void> {
    const sum = async () =>
      (await metric('platform_operator_mirror_polls_total{result="read"}')).map((n) => n ?? 0);
    const before = Math.max(...(await sum()));
    await until('the polls', async () => Math.max(...(await sum())) >= before + more);
  }

  test('are mirrored under their names with the listed state, by the leader only', async () => {
    await cluster.post(collectionPath(AGENT_OBSERVATIONS, NAMESPACE), {
      ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation' },
      ...{ metadata: { name: 'search' }, spec: { source: 'remote' } },
    });
    for (const name of ['shop', 'search', 'idle']) await register(name);
    await report('shop', 1);
    await report('search', 1, UNHEALTHY);
    await startReplica();
    await startReplica();
    const shown = async () => (await observed()).filter(({ status }) => status?.agentId !== undefined);
    await until('all', async () => (await shown()).length === 3);
    const shop = (await one('shop'))!;
    expect(shop).toMatchObject({
      metadata: {
        labels: { 'platform.io/mirrored': 'true' },
        annotations: {
          'platform.io/mirrored-from': `https://127.0.0.1:${port}`,
          'platform.io/mirrored-namespace': 'platform-remote',
        },
      },
      spec: { source: 'remote' },
      status: { phase: 'Healthy', grade: 'A', score: 100, tokens: 42, runtime: 'docker' },
    });
    const [listed] = (await request('GET', 'agents?limit=1&phase=Healthy', ADMIN)) as {
      agentId: string;
      lastSeen: string;
    }[];
    expect(shop.status).toMatchObject({ agentId: listed!.agentId, lastChecked: listed!.lastSeen });
    expect(await phaseOf('idle')).toBe('Pending');
    const other = (await observed()).find(({ metadata }) => /^search-[0-9a-f]{8}$/.test(metadata.name));
    expect(other?.status).toMatchObject({ phase: 'Unhealthy', grade: 'D', score: 55 });
    // An agent that is registered in this cluster is not changed.
    expect((await one('search'))!.status?.agentId).toBeUndefined();
    expect(
      (await metric('platform_operator_mirror_polls_total')).filter((n) => n !== undefined),
    ).toHaveLength(1);
  }, 300_000);

  test('cause no write while nothing changes, and an Event for a change', async () => {
    const versions = async () => (await observed()).map(({ metadata }) => metadata.resourceVersion);
    // The second poll begins after the writes of the first.
    await polls(2);
    const before = await versions();
    await polls(3);
    expect(await versions()).toEqual(before);
    await report('shop', 2, UNHEALTHY);
    await until('the phase', async () => (await phaseOf('shop')) === 'Unhealthy');
    const path = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
    const reasons = async () => {
      const { items } = await cluster.get<{ items: EventItem[] }>(path);
      const own = items.filter(({ regarding }) => regarding.name === 'shop');
      return own.map(({ reason }) => reason).sort();
    };
    await until('the Events', async () => (await reasons()).length >= 4);
    expect(await reasons()).toEqual(['GradeChanged', 'GradeChanged', 'Healthy', 'Unhealthy']);
  }, 300_000);

  test('are removed when they are no longer listed, and keep their names when they are registered again', async () => {
    const [before] = (await observed()).filter(({ metadata }) => metadata.name.startsWith('search-'));
    for (const name of ['idle', 'shop']) await request('DELETE', `agents/${name}`, ADMIN);
    await register('shop');
    await until('the end', async () => (await one('idle')) === undefined);
    await until('the new observation', async () => (await phaseOf('shop')) === 'Pending');
    await report('shop', 1);
    await until('its report', async () => (await phaseOf('shop')) === 'Healthy');
    expect((await observed()).map(({ metadata }) => metadata.name).sort()).toEqual(
      ['search', before!.metadata.name, 'shop'].sort(),
    );
  }, 300_000);

  test('stay during an outage, which is logged once and counted and does not affect readiness', async () => {
    const before = await observed();
    process.kill(outside.pid, 'SIGKILL');
    await until('the outage', async () => (await metric('platform_operator_mirror_up')).includes(0));
    const failed = () => metric('platform_operator_mirror_polls_total{result="failed"}');
    await until('two more failures', async () => Math.max(...(await failed()).map((n) => n ?? 0)) > 2);
    expect(await observed()).toEqual(before);
    for (const { operator } of operators)
      expect((await fetch(`http://127.0.0.1:${operator.port}/readyz`)).status).toBe(200);
    const warnings = operators.flatMap(({ warnings: each }) => each);
    expect(warnings.filter((each) => each.includes('remote control plane'))).toEqual([
      'failed to list agents of remote control plane, retrying',
    ]);
    await closeOperators();
  }, 300_000);

  test('are Unknown after two minutes without a response, and up to date when the control plane is back', async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => performance.now() + aheadMs };
    const informer = new Informer<AgentObservation>({
      ...{ client, clock: systemClock, logger: silentLogger, resource: AGENT_OBSERVATIONS },
    });
    informer.start();
    await informer.synced();
    const mirror = new Mirror({
      ...{
        client,
        clock,
        logger: silentLogger,
        metrics: createMetrics(),
        namespace: NAMESPACE,
        pollSeconds: 1,
      },
      source: {
        url: new URL(settings['PLATFORM_CONTROL_PLANE_URL']!),
        adminKey: new Secret('admin-key-of-a-test'),
        caFile: settings['PLATFORM_CA_FILE']!,
      },
      statusWriter: new StatusWriter<AgentObservation, ObservationStatus>({
        ...{ client, resource: AGENT_OBSERVATIONS, fieldManager: 'platform-operator' },
      }),
      allObservations: () => informer.list(),
    });
    const stop = new AbortController();
    const running = mirror.run(stop.signal);
    try {
      aheadMs = 121_000;
      await until('Unknown', async () => (await phaseOf('shop')) === 'Unknown');
      const { status } = (await one('shop'))!;
      expect(status).toMatchObject({ grade: 'A', score: 100 });
      expect(status!.conditions!.find(({ type }) => type === 'Reporting')).toMatchObject({
        ...{ status: 'False', reason: 'ControlPlaneUnreachable' },
      });
      outside = await rig.start('control-plane', /listening/, serving);
      await until('its return', async () => (await phaseOf('shop')) === 'Healthy');
    } finally {
      stop.abort();
      await running;
      await informer.close();
    }
  }, 300_000);

  test('are removed when mirroring is disabled', async () => {
    await startReplica({ PLATFORM_CONTROL_PLANE_URL: '', LEADER_ELECT: 'false' });
    await until('the end', async () => !(await observed()).some(isMirrored));
    expect((await observed()).map(({ metadata }) => metadata.name)).toEqual(['search']);
  }, 300_000);

  test('are removed when they are no longer listed, even by a control plane that mirrors its own agents', async () => {
    await closeOperators();
    const [own = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${own}`;
    await rig.start('control-plane', `${url}/readyz`, {
      ...{ STORE: 'kubernetes', KUBECONFIG: cluster.control.kubeconfig, PORT: String(own) },
      PLATFORM_ADMIN_KEY: 'admin-key-of-a-test',
    });
    const headers = { ...ADMIN, 'content-type': 'application/json' };
    const body = JSON.stringify({ agentName: 'circle', runtime: 'docker' });
    expect((await fetch(`${url}/api/v1/register`, { method: 'POST', headers, body })).status).toBe(201);
    await startReplica({
      ...{ PLATFORM_CONTROL_PLANE_URL: url, LEADER_ELECT: 'false' },
      PLATFORM_CA_FILE: '',
    });
    const mirrored = async () => (await observed()).filter(isMirrored);
    const isCircle = ({ metadata }: AgentObservation) => metadata.name.startsWith('circle-');
    await until('the mirrored agent', async () => (await mirrored()).some(isCircle));
    await polls(2);
    expect((await fetch(`${url}/api/v1/agents/circle`, { method: 'DELETE', headers })).status).toBe(204);
    await until('the end', async () => !(await mirrored()).some(isCircle));
  }, 90_000);
});
