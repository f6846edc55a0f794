import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Heartbeat } from '../../../core/shapes/heartbeat.ts';
import { mergeHeartbeat } from '../../../core/observation/merge-heartbeat.ts';
import type { ObservationStatus } from '../../../core/shapes/observation.ts';
import { KubeClient } from '../../../kube/client.ts';
import { silentLogger } from '../../../runtime/logger.ts';
import { createMetrics, type Metrics } from '../../../runtime/metrics.ts';
import {
  startFakeApiServer,
  type FakeApiServer,
  type Fault,
} from '../../../testing/cluster/fake-api-server.ts';
import { EGRESS, EGRESS_SUMMARY } from '../../../testing/fleet/egress-report.ts';
import { aHeartbeat } from '../../../testing/fleet/heartbeat.ts';
import { aMoment } from '../../../testing/time/moment.ts';
import { SteppingClock } from '../../../testing/time/stepping-clock.ts';
import type { HeartbeatOutcome, Store } from '../store.ts';
import { KubernetesStore } from './kubernetes-store.ts';

const COLLECTION = '/apis/platform.io/v1/namespaces/team/agentobservations';
const KEY = { namespace: 'team', name: 'shop' };
const T0 = Date.parse('2026-03-01T10:00:00.000Z');
const CLOSE_MS = 3_000;

let server: FakeApiServer;
let client: KubeClient;
let store: Store;
let metrics: Metrics;
let log: string[];
let clock: SteppingClock;

beforeEach(async () => {
  clock = new SteppingClock(new Date(T0).toISOString());
  server = await startFakeApiServer();
  server.put(COLLECTION, observation('shop'));
  await open();
  await until(() => store.unready() === null);
});

afterEach(async () => {
  await store.close();
  await client.close();
  await server.close();
});

async function open(): Promise<void> {
  client = new KubeClient({ access: server.access, part: 'control-plane' });
  metrics = createMetrics();
  log = [];
  store = new KubernetesStore({
    client,
    metrics,
    logger: {
      ...silentLogger,
      warn: (message) => log.push(`warn: ${message}`),
      error: (message) => log.push(`error: ${message}`),
    },
    clock,
    rateLimitSeconds: 0,
    closeMs: CLOSE_MS,
  });
  await store.start();
}

function observation(name: string, status: ObservationStatus = { phase: 'Pending' }) {
  return {
    apiVersion: 'platform.io/v1',
    kind: 'AgentObservation',
    metadata: { namespace: 'team', name, uid: `uid-of-${name}` },
    spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name } },
    status,
  };
}

/** Polls until `check` is true. With `stepMs` the store's clock advances by this time before each poll. */
async function until(check: () => boolean, stepMs = 0): Promise<void> {
  const end = performance.now() + 120_000;
  while (!check()) {
    if (performance.now() > end) throw new Error(`timeout; stored: ${JSON.stringify(stored())}`);
    if (stepMs > 0) await clock.pass(stepMs);
    await delay(5);
  }
}

/** Polls while the store's clock advances, for changes that a timer triggers. */
const inTime = (check: () => boolean): Promise<void> => until(check, 100);

const stored = (): ObservationStatus =>
  (server.get(`${COLLECTION}/shop`) as { status: ObservationStatus } | undefined)?.status ?? {
    phase: 'Pending',
  };
const isPatch: Fault['when'] = ({ method }) => method === 'PATCH';
const isSettled = () => metrics.render().includes('\nplatform_control_plane_pending_heartbeats 0\n');
const patches = () => server.requests.filter(isPatch).length;

/** Sends a heartbeat. With this interval a window is two seconds long. */
function beat(seq: number, overrides: Partial<Heartbeat> = {}): Promise<HeartbeatOutcome> {
  const heartbeat = aHeartbeat({
    seq,
    intervalSeconds: 1,
    totals: { tokensToday: seq },
    ...overrides,
  });
  return store.heartbeat({
    ...KEY,
    source: 'sidecar',
    instance: 'shop-1',
    uid: 'u-1',
    heartbeat,
    at: new Date(T0 + seq),
  });
}

const withScore = (score: number): Partial<Heartbeat> => ({
  gap: { score, grade: 'C', source: 'agent-sdk', issues: [] },
});
const withProof: Partial<Heartbeat> = {
  proof: [{ ruleId: 'MEM-01', verifiedBy: 'qa', method: 'looked', verifiedAt: new Date(T0).toISOString() }],
};

test('writes the first heartbeat immediately, and insignificant changes once per window', async () => {
  await beat(1);
  await until(isSettled);
  for (let seq = 2; seq <= 6; seq += 1) await beat(seq);
  expect((await store.find(KEY, new Date(T0)))?.status.tokens).toBe(6);
  await clock.pass(1_999);
  await aMoment();
  expect([patches(), stored().tokens]).toEqual([1, 1]);
  await clock.pass(1);
  await until(() => stored().tokens === 6);
  expect(patches()).toBe(2);
  expect(stored().instances).toMatchObject([{ name: 'shop-1', seq: 6 }]);
});

test('keeps the lists of an egress report in memory only', async () => {
  const egress = async (instance: string | null = null) =>
    (await store.report(KEY, instance, new Date(T0)))?.egress;
  await beat(1, { egress: EGRESS });
  await until(isSettled);
  expect(await egress()).toEqual(EGRESS);
  expect(stored().egress).toEqual(EGRESS_SUMMARY);
  expect(JSON.stringify(server.requests)).not.toContain('OPENAI_BASE_URL');
  await store.close();
  await client.close();
  await open();
  await until(() => store.unready() === null);
  expect(await egress()).toEqual(EGRESS_SUMMARY);
  await beat(2, { egress: EGRESS });
  expect(await egress('shop-1')).toEqual(EGRESS);
});

test('writes a significant change immediately, with the pending heartbeats', async () => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  await beat(3, withScore(60));
  await until(() => stored().score === 60);
  expect(patches()).toBe(2);
  expect(stored()).toMatchObject({ grade: 'C', tokens: 3, instances: [{ seq: 3 }] });
});

test('keeps concurrent changes of another writer', async () => {
  await beat(1);
  await until(isSettled);
  const sender = { instance: 'shop-2', uid: 'u-2' };
  const other = mergeHeartbeat(stored(), aHeartbeat({ totals: { tokensToday: 40 } }), sender, new Date(T0));
  server.put(COLLECTION, observation('shop', other));
  await beat(2, withScore(60));
  await until(() => stored().score === 60);
  expect(stored()).toMatchObject({ tokens: 42, instances: [{ name: 'shop-1' }, { name: 'shop-2' }] });
});

test('retries after a conflict', async () => {
  server.fail({
    when: isPatch,
    response: { status: 409, body: { reason: 'Conflict', message: 'modified' } },
  });
  await beat(1);
  await inTime(() => stored().score === 100);
  expect(patches()).toBe(2);
});

test.each<[string, Fault['response']]>([
  ['fails', { status: 500 }],
  ['throttles', { status: 429, headers: { 'retry-after': '1' } }],
  ['forbids writes', { status: 403 }],
  ['cuts the connection', 'cut'],
])(
  'accepts heartbeats while the API server %s, returns them in reads, and writes them later',
  async (_, response) => {
    for (let index = 0; index < 2; index += 1) server.fail({ when: isPatch, response });
    expect((await beat(1)).kind).toBe('accepted');
    await until(() => log.length > 0);
    expect((await beat(2)).kind).toBe('accepted');
    expect((await store.find(KEY, new Date(T0)))?.status).toMatchObject({ phase: 'Healthy', tokens: 2 });
    expect(stored()).toEqual({ phase: 'Pending' });
    await inTime(() => stored().tokens === 2);
    expect(log).toEqual(['error: API server requests failing']);
  },
);

test('drops heartbeats that the API server rejects for good, logs it, and accepts the next heartbeat', async () => {
  server.fail({ when: isPatch, response: { status: 422 } });
  await beat(1);
  await until(() => log.length > 0);
  expect(log).toEqual(['error: AgentObservation status rejected, heartbeats dropped']);
  await beat(2);
  await until(() => stored().tokens === 2);
});

test('accepts a heartbeat with a proof only after it is stored, and accepts a retry after a failure', async () => {
  await beat(1);
  await until(isSettled);
  server.fail({ when: isPatch, response: { status: 500 } });
  await expect(beat(2, withProof)).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  expect(stored().proofs).toBeUndefined();
  expect(await beat(2, withProof)).toMatchObject({
    kind: 'accepted',
    record: { status: { proofRevision: 1 } },
  });
  expect(stored()).toMatchObject({ proofs: withProof.proof, proofRevision: 1 });
});

test('rejects a proof that cannot be written to the cluster', async () => {
  const [record] = withProof.proof!;
  const write = { ...KEY, record: record!, at: new Date(T0) };
  server.fail({ when: isPatch, response: 'cut' });
  await expect(store.putProof(write)).rejects.toMatchObject({ status: 503 });
  expect(await store.putProof(write)).toBe('stored');
  // Visible immediately, even before the watch delivers the change.
  expect((await store.find(KEY, new Date(T0)))?.status.proofs).toEqual([record]);
});

test('writes pending heartbeats on close', async () => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  await beat(3);
  await store.close();
  expect(stored()).toMatchObject({ tokens: 3, instances: [{ seq: 3 }] });
  expect(patches()).toBe(2);
});

test('closes after its timeout when the API server hangs, and logs the lost heartbeats', async () => {
  server.fail({ when: isPatch, response: 'hang' });
  await beat(1);
  await until(() => patches() === 1);
  let isClosed = false;
  const closed = store.close().then(() => (isClosed = true));
  await until(() => clock.left().includes(CLOSE_MS));
  await clock.pass(CLOSE_MS - 1);
  await aMoment();
  expect(isClosed).toBe(false);
  await clock.pass(1);
  await closed;
  expect(log).toEqual(['warn: stopped with unwritten heartbeats: API server did not accept them in time']);
});

test.each<[string, Fault['response']]>([
  ['fails', { status: 500 }],
  ['cuts the connection', 'cut'],
])('writes pending heartbeats on close, even if the API server %s once', async (_, response) => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  server.fail({ when: isPatch, response });
  const closed = store.close();
  // The second attempt, long before the timeout.
  await until(() => (clock.left()[0] ?? Infinity) <= 500);
  await clock.pass(500);
  await closed;
  expect(stored()).toMatchObject({ tokens: 2, instances: [{ seq: 2 }] });
  expect(log).toEqual([]);
});

test('keeps one pending heartbeat per process, but all heartbeats with windows and no totals', async () => {
  await beat(1);
  await until(isSettled);
  for (let seq = 2; seq <= 50; seq += 1) await beat(seq);
  expect(metrics.render()).toContain('\nplatform_control_plane_pending_heartbeats 1\n');
  const usage = { windowStartedAt: new Date(T0).toISOString(), models: [], totalTokens: 5, totalCalls: 1 };
  const plain = { totals: null, usage, startedAt: '2026-03-01T09:30:00.000Z' };
  for (let seq = 1; seq <= 10; seq += 1) await beat(seq, plain);
  expect(metrics.render()).toContain('\nplatform_control_plane_pending_heartbeats 11\n');
  await inTime(isSettled);
  // The total of the previous process still counts.
  expect(stored().tokens).toBe(50 + 10 * 5);
});

test('rejects heartbeats while pending heartbeats wait too long, and accepts them after the write', async () => {
  await beat(1);
  await until(isSettled);
  let isDown = true;
  const failOnce = (): void =>
    server.fail({ when: ({ method }) => isDown && method === 'PATCH', response: 'cut' });
  for (let index = 0; index < 100; index += 1) failOnce();
  expect((await beat(2)).kind).toBe('accepted');
  await clock.pass(18_000);
  await expect(beat(3)).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
  // Accepted heartbeats stay visible; rejected heartbeats have no effect.
  expect((await store.find(KEY, new Date(T0)))?.status.tokens).toBe(2);
  isDown = false;
  await inTime(() => stored().tokens === 2);
  // A stored heartbeat can still be pending until the store receives the response.
  await until(isSettled);
  expect((await beat(3)).kind).toBe('accepted');
});

test('drops the pending heartbeats of a deleted observation', async () => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  server.remove(COLLECTION, 'shop');
  await until(isSettled);
  expect(await store.find(KEY, new Date(T0))).toBeNull();
  expect(await beat(3)).toEqual({ kind: 'unknown' });
  await clock.pass(2_100);
  await aMoment();
  expect(patches()).toBe(1);
});

test('does not write pending heartbeats of a workload into a registered agent with the same name', async () => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  const remote = { ...observation('shop'), spec: { source: 'remote' } };
  server.put(COLLECTION, { ...remote, metadata: { ...remote.metadata, uid: 'another' } });
  await inTime(isSettled);
  expect(stored()).toEqual({ phase: 'Pending' });
  expect(await beat(3)).toEqual({ kind: 'taken' });
});

test('rejects heartbeats for a mirrored agent with 409, because the operator writes its status', async () => {
  const { metadata, status } = observation('far');
  const labels = { 'platform.io/mirrored': 'true' };
  server.put(COLLECTION, { metadata: { ...metadata, labels }, spec: { source: 'remote' }, status });
  const arrival = { ...KEY, name: 'far', source: 'sidecar' as const, instance: 'far-1', at: new Date(T0) };
  await expect(store.heartbeat({ ...arrival, heartbeat: aHeartbeat() })).rejects.toMatchObject({
    status: 409,
  });
});

test('lists mirrored agents, and leaves them out with onlyOwn', async () => {
  const { metadata, status } = observation('far');
  const labels = { 'platform.io/mirrored': 'true' };
  server.put(COLLECTION, { metadata: { ...metadata, labels }, spec: { source: 'remote' }, status });
  const listed = async (onlyOwn: boolean) => {
    const { agents, total } = await store.list(
      { limit: 10, after: null, namespaces: null, onlyOwn },
      new Date(T0),
    );
    return [total, ...agents.map(({ name }) => name)];
  };
  // Wait for the watch.
  const end = performance.now() + 120_000;
  while ((await listed(false))[0] !== 2 && performance.now() < end) await delay(5);
  expect(await listed(false)).toEqual([2, 'far', 'shop']);
  expect(await listed(true)).toEqual([1, 'shop']);
});

test('writes heartbeats that arrive during a write', async () => {
  for (let seq = 1; seq <= 20; seq += 1) {
    await beat(seq);
    await delay(seq % 3);
  }
  await inTime(isSettled);
  expect(stored()).toMatchObject({ tokens: 20, instances: [{ seq: 20 }] });
});

test('exports metrics of writes by result and of pending heartbeats', async () => {
  await beat(1);
  await until(isSettled);
  server.fail({ when: isPatch, response: { status: 500 } });
  await beat(2, withScore(60));
  await until(() => log.length > 0);
  const lines = metrics.render().split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'platform_control_plane_status_writes_total{result="written"} 1',
      'platform_control_plane_status_writes_total{result="failed"} 1',
      'platform_control_plane_pending_heartbeats 1',
    ]),
  );
});

test('starts without the API server, is not ready, and becomes ready when the API server is up', async () => {
  await store.close();
  await client.close();
  server.away(true);
  await open();
  expect(store.unready()).toBe('the AgentObservation cache is not synced');
  await expect(store.list({ limit: 1, after: null, namespaces: null }, new Date(T0))).rejects.toMatchObject({
    status: 503,
  });
  await expect(beat(1)).rejects.toMatchObject({ status: 503 });
  server.away(false);
  await inTime(() => store.unready() === null);
  expect((await beat(1)).kind).toBe('accepted');
  expect((await store.list({ limit: 1, after: null, namespaces: null }, new Date(T0))).total).toBe(1);
});

test('returns changes of the watch and heartbeats that are not written yet, and removed agents', async () => {
  const at = new Date(T0);
  const { position: start } = await store.changes(null, at);
  server.put(COLLECTION, observation('chat'));
  while ((await store.find({ ...KEY, name: 'chat' }, at)) === null) await delay(2);
  const added = await store.changes(start, at);
  expect(added).toMatchObject({ changed: [{ name: 'chat' }], removed: [] });
  await beat(1);
  await until(isSettled);
  await beat(2);
  const reported = await store.changes(added.position, at);
  expect(reported).toMatchObject({ changed: [{ name: 'shop', status: { tokens: 2 } }], removed: [] });
  expect(stored().tokens).toBe(1);
  server.remove(COLLECTION, 'chat');
  while ((await store.find({ ...KEY, name: 'chat' }, at)) !== null) await delay(2);
  const removed = await store.changes(reported.position, at);
  expect(removed.removed).toEqual([{ namespace: 'team', name: 'chat' }]);
});

test('returns all agents, marked as all, for a position of another process', async () => {
  const at = new Date(T0);
  const { position } = await store.changes(null, at);
  await store.close();
  await client.close();
  await open();
  await until(() => store.unready() === null);
  const changes = await store.changes(position, at);
  expect(changes).toMatchObject({ changed: [{ name: 'shop' }], removed: [], isAll: true });
});
