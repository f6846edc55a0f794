import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Heartbeat } from '../../../core/heartbeat/heartbeat.ts';
import { mergeHeartbeat } from '../../../core/observation/merge-heartbeat.ts';
import type { ObservationStatus } from '../../../core/observation/observation.ts';
import { createKubeClient, type KubeClient } from '../../../kube/client.ts';
import { silentLogger } from '../../../runtime/logger.ts';
import { createMetrics, type Metrics } from '../../../runtime/metrics.ts';
import { startFakeApiServer, type FakeApiServer, type Fault } from '../../../testing/fake-api-server.ts';
import { aHeartbeat } from '../../../testing/heartbeat.ts';
import { aMoment } from '../../../testing/moment.ts';
import { SteppingClock } from '../../../testing/stepping-clock.ts';
import type { HeartbeatOutcome, Store } from '../store.ts';
import { createKubernetesStore } from './kubernetes-store.ts';

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
  client = createKubeClient({ access: server.access, part: 'control-plane' });
  metrics = createMetrics();
  log = [];
  store = createKubernetesStore({
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
  await store.start(new AbortController().signal);
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

/** Waits for what comes by itself; `stepMs`: time passes on the store's clock meanwhile, so much at a time. */
async function until(look: () => boolean, stepMs = 0): Promise<void> {
  const end = performance.now() + 30_000;
  while (!look()) {
    if (performance.now() > end) throw new Error(`it did not come; ${JSON.stringify(stored())}`);
    if (stepMs > 0) await clock.pass(stepMs);
    await delay(5);
  }
}

/** Waits for what comes when its time has come. */
const inTime = (look: () => boolean): Promise<void> => until(look, 100);

const stored = (): ObservationStatus =>
  (server.get(`${COLLECTION}/shop`) as { status: ObservationStatus } | undefined)?.status ?? {
    phase: 'Pending',
  };
const isPatch: Fault['when'] = ({ method }) => method === 'PATCH';
const isSettled = () => metrics.render().includes('\nplatform_control_plane_pending_heartbeats 0\n');
const patches = () => server.requests.filter(isPatch).length;

/** Windows are two seconds long with this interval. */
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

test('writes the first heartbeat at once, and those that change nothing of note once in a window', async () => {
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

test('writes a change of note at once, with what was waiting', async () => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  await beat(3, withScore(60));
  await until(() => stored().score === 60);
  expect(patches()).toBe(2);
  expect(stored()).toMatchObject({ grade: 'C', tokens: 3, instances: [{ seq: 3 }] });
});

test('keeps what another writer has stored meanwhile', async () => {
  await beat(1);
  await until(isSettled);
  const sender = { instance: 'shop-2', uid: 'u-2' };
  const other = mergeHeartbeat(stored(), aHeartbeat({ totals: { tokensToday: 40 } }), sender, new Date(T0));
  server.put(COLLECTION, observation('shop', other));
  await beat(2, withScore(60));
  await until(() => stored().score === 60);
  expect(stored()).toMatchObject({ tokens: 42, instances: [{ name: 'shop-1' }, { name: 'shop-2' }] });
});

test('tries again on a conflict', async () => {
  server.fail({ when: isPatch, answer: { status: 409, body: { reason: 'Conflict', message: 'modified' } } });
  await beat(1);
  await inTime(() => stored().score === 100);
  expect(patches()).toBe(2);
});

test.each<[string, Fault['answer']]>([
  ['fails', { status: 500 }],
  ['throttles', { status: 429, headers: { 'retry-after': '1' } }],
  ['forbids it', { status: 403 }],
  ['cuts the connection', 'cut'],
])('takes heartbeats while the API server %s, shows them, and writes them later', async (_, answer) => {
  for (let index = 0; index < 2; index += 1) server.fail({ when: isPatch, answer });
  expect((await beat(1)).kind).toBe('accepted');
  await until(() => log.length > 0);
  expect((await beat(2)).kind).toBe('accepted');
  expect((await store.find(KEY, new Date(T0)))?.status).toMatchObject({ phase: 'Healthy', tokens: 2 });
  expect(stored()).toEqual({ phase: 'Pending' });
  await inTime(() => stored().tokens === 2);
  expect(log).toEqual(['error: API server requests fail']);
});

test('drops what the API server will never take, says so, and takes what comes next', async () => {
  server.fail({ when: isPatch, answer: { status: 422 } });
  await beat(1);
  await until(() => log.length > 0);
  expect(log).toEqual(['error: status is refused, and its heartbeats are dropped']);
  await beat(2);
  await until(() => stored().tokens === 2);
});

test('answers a heartbeat that brings a proof only when it is stored, and takes it again when it was not', async () => {
  await beat(1);
  await until(isSettled);
  server.fail({ when: isPatch, answer: { status: 500 } });
  await expect(beat(2, withProof)).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  expect(stored().proofs).toBeUndefined();
  expect(await beat(2, withProof)).toMatchObject({
    kind: 'accepted',
    record: { status: { proofRevision: 1 } },
  });
  expect(stored()).toMatchObject({ proofs: withProof.proof, proofRevision: 1 });
});

test('does not take a proof or a token that the cluster does not take', async () => {
  const [record] = withProof.proof!;
  const write = { ...KEY, record: record!, at: new Date(T0) };
  server.fail({ when: isPatch, answer: 'cut' });
  await expect(store.putProof(write)).rejects.toMatchObject({ status: 503 });
  expect(await store.putProof(write)).toBe('stored');
  // Seen at once, whether or not the watch has brought it.
  expect((await store.find(KEY, new Date(T0)))?.status.proofs).toEqual([record]);
});

test('writes what is pending when it closes', async () => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  await beat(3);
  await store.close();
  expect(stored()).toMatchObject({ tokens: 3, instances: [{ seq: 3 }] });
  expect(patches()).toBe(2);
});

test('closes in its time when the API server hangs, and says what is lost', async () => {
  server.fail({ when: isPatch, answer: 'hang' });
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
  expect(log).toEqual(['warn: heartbeats are lost: the cluster takes no writes']);
});

test.each<[string, Fault['answer']]>([
  ['fails', { status: 500 }],
  ['cuts the connection', 'cut'],
])('writes what is pending when it closes, also when the API server %s once', async (_, answer) => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  server.fail({ when: isPatch, answer });
  const closed = store.close();
  // The second try, long before its time is over.
  await until(() => (clock.left()[0] ?? Infinity) <= 500);
  await clock.pass(500);
  await closed;
  expect(stored()).toMatchObject({ tokens: 2, instances: [{ seq: 2 }] });
  expect(log).toEqual([]);
});

test('holds one heartbeat of each process while nothing can be stored, and all windows that add up', async () => {
  await beat(1);
  await until(isSettled);
  for (let seq = 2; seq <= 50; seq += 1) await beat(seq);
  expect(metrics.render()).toContain('\nplatform_control_plane_pending_heartbeats 1\n');
  const usage = { windowStartedAt: new Date(T0).toISOString(), models: [], totalTokens: 5, totalCalls: 1 };
  const plain = { totals: null, usage, startedAt: '2026-03-01T09:30:00.000Z' };
  for (let seq = 1; seq <= 10; seq += 1) await beat(seq, plain);
  expect(metrics.render()).toContain('\nplatform_control_plane_pending_heartbeats 11\n');
  await inTime(isSettled);
  // The process before left its total behind.
  expect(stored().tokens).toBe(50 + 10 * 5);
});

test('refuses heartbeats while what it took waits for longer than a crash may lose, and takes them after', async () => {
  await beat(1);
  await until(isSettled);
  let isAway = true;
  const away = (): void => server.fail({ when: ({ method }) => isAway && method === 'PATCH', answer: 'cut' });
  for (let index = 0; index < 100; index += 1) away();
  expect((await beat(2)).kind).toBe('accepted');
  await clock.pass(18_000);
  await expect(beat(3)).rejects.toMatchObject({ status: 503, headers: { 'retry-after': '10' } });
  // What was answered stays and is shown; what was refused is as if it had never come.
  expect((await store.find(KEY, new Date(T0)))?.status.tokens).toBe(2);
  isAway = false;
  await inTime(() => stored().tokens === 2);
  // What is stored may be pending still: the answer is under way.
  await until(isSettled);
  expect((await beat(3)).kind).toBe('accepted');
});

test('forgets what is pending of an observation that is deleted', async () => {
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

test('writes nothing that waits into a namesake that was registered meanwhile', async () => {
  await beat(1);
  await until(isSettled);
  await beat(2);
  const remote = { ...observation('shop'), spec: { source: 'remote' } };
  server.put(COLLECTION, { ...remote, metadata: { ...remote.metadata, uid: 'another' } });
  await inTime(isSettled);
  expect(stored()).toEqual({ phase: 'Pending' });
  expect(await beat(3)).toEqual({ kind: 'taken' });
});

test('takes no heartbeat for an agent that the operator mirrors: the two would write against each other', async () => {
  const { metadata, status } = observation('far');
  const labels = { 'platform.io/mirrored': 'true' };
  server.put(COLLECTION, { metadata: { ...metadata, labels }, spec: { source: 'remote' }, status });
  const arrival = { ...KEY, name: 'far', source: 'sidecar' as const, instance: 'far-1', at: new Date(T0) };
  await expect(store.heartbeat({ ...arrival, heartbeat: aHeartbeat() })).rejects.toMatchObject({
    status: 409,
  });
});

test('lists what the operator mirrors, or leaves it out', async () => {
  const { metadata, status } = observation('far');
  const labels = { 'platform.io/mirrored': 'true' };
  server.put(COLLECTION, { metadata: { ...metadata, labels }, spec: { source: 'remote' }, status });
  const listed = async (onlyOwn: boolean) => {
    const { agents, total } = await store.list({ limit: 10, after: null, onlyOwn }, new Date(T0));
    return [total, ...agents.map(({ name }) => name)];
  };
  // The watch brings it.
  const end = performance.now() + 30_000;
  while ((await listed(false))[0] !== 2 && performance.now() < end) await delay(5);
  expect(await listed(false)).toEqual([2, 'far', 'shop']);
  expect(await listed(true)).toEqual([1, 'shop']);
});

test('writes what comes while a write is under way', async () => {
  for (let seq = 1; seq <= 20; seq += 1) {
    await beat(seq);
    await delay(seq % 3);
  }
  await inTime(isSettled);
  expect(stored()).toMatchObject({ tokens: 20, instances: [{ seq: 20 }] });
});

test('counts its writes by result and what is pending', async () => {
  await beat(1);
  await until(isSettled);
  server.fail({ when: isPatch, answer: { status: 500 } });
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

test('starts without the API server, is not ready, and serves when it comes', async () => {
  await store.close();
  await client.close();
  server.away(true);
  await open();
  expect(store.unready()).toBe('the AgentObservations are not read yet');
  await expect(store.list({ limit: 1, after: null }, new Date(T0))).rejects.toMatchObject({ status: 503 });
  await expect(beat(1)).rejects.toMatchObject({ status: 503 });
  server.away(false);
  await inTime(() => store.unready() === null);
  expect((await beat(1)).kind).toBe('accepted');
  expect((await store.list({ limit: 1, after: null }, new Date(T0))).total).toBe(1);
});
