import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { silentLogger, type Logger } from '../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../testing/cluster/fake-api-server.ts';
import { KubeClient, type KubeRequest } from './client.ts';
import { EventRecorder, type EventNote } from './events.ts';

const EVENTS = '/apis/events.k8s.io/v1/namespaces/n/events';
const NOTE: EventNote = {
  regarding: { apiVersion: 'platform.io/v1', kind: 'AgentObservation', namespace: 'n', name: 'x', uid: 'u1' },
  type: 'Normal',
  reason: 'Healthy',
  action: 'Observe',
  note: 'phase Degraded became Healthy',
};

let server: FakeApiServer;
let client: KubeClient;
let nowMs: number;

beforeEach(async () => {
  server = await startFakeApiServer();
  client = new KubeClient({ access: server.access, part: 'test' });
  nowMs = 0;
});
afterEach(async () => {
  await client.close();
  await server.close();
});

function recorder(logger: Logger = silentLogger, sender: Pick<KubeClient, 'send'> = client): EventRecorder {
  const clock = {
    now: () => new Date(Date.UTC(2026, 0, 1) + nowMs),
    monotonicMs: () => nowMs,
    sleep: () => Promise.resolve(),
  };
  return new EventRecorder({
    client: sender as KubeClient,
    controller: 'platform.io/operator',
    instance: 'pod-1',
    clock,
    logger,
  });
}

const sent = () => server.requests.map(({ method, body }) => ({ method, body }));

interface StoredSeries {
  series: { count: number };
  metadata: { annotations: Record<string, string> };
}

/** The Events that are stored at the end, each name once. */
function stored(): StoredSeries[] {
  const posts = server.requests.filter(({ method }) => method === 'POST');
  const names = new Set(posts.map(({ body }) => (body as { metadata: { name: string } }).metadata.name));
  return [...names].map((name) => server.get(`${EVENTS}/${name}`) as unknown as StoredSeries);
}

describe('events', () => {
  test('contain the controller, the instance, the note and the object', async () => {
    const events = recorder();
    events.record(NOTE);
    await events.flush();
    expect(sent()).toEqual([
      {
        method: 'POST',
        body: {
          apiVersion: 'events.k8s.io/v1',
          kind: 'Event',
          metadata: {
            name: expect.stringMatching(/^x\.[0-9a-f]{16}$/),
            namespace: 'n',
            annotations: { 'platform.io/occurrences': expect.any(String) },
          },
          eventTime: '2026-01-01T00:00:00.000000Z',
          reportingController: 'platform.io/operator',
          reportingInstance: 'pod-1',
          ...NOTE,
        },
      },
    ]);
    expect(server.requests[0]?.url.pathname).toBe(EVENTS);
  });

  test('are all emitted for a fleet of 4,000 agents', async () => {
    const names = new Set<string>();
    const send = <T>({ body }: KubeRequest) => {
      names.add((body as { metadata: { name: string } }).metadata.name);
      return Promise.resolve({ ok: true, status: 201, body: body as T } as const);
    };
    const events = recorder(silentLogger, { send });
    const fleet = Array.from({ length: 4_000 }, (_, agent) => `x-${agent}`);
    for (const name of fleet) events.record({ ...NOTE, regarding: { ...NOTE.regarding, name } });
    await events.flush();
    expect(names.size).toBe(fleet.length);
  });

  test('are counted in one Event while they repeat, also after a restart', async () => {
    for (const at of [0, 1_000, 2_000]) {
      nowMs = at;
      const events = recorder();
      events.record(NOTE);
      await events.flush();
    }
    expect(stored()).toEqual([
      expect.objectContaining({ series: { count: 3, lastObservedTime: '2026-01-01T00:00:02.000000Z' } }),
    ]);
  });

  test.each<[string, Partial<EventNote>]>([
    ['note', { note: 'phase Unknown became Healthy' }],
    ['reason', { reason: 'Unhealthy' }],
    ['type', { type: 'Warning' }],
    ['object', { regarding: { ...NOTE.regarding, uid: 'u2' } }],
  ])('are not counted as a repetition when the %s differs', async (_, change) => {
    const events = recorder();
    events.record(NOTE);
    events.record({ ...NOTE, ...change });
    await events.flush();
    expect(sent().map(({ method }) => method)).toEqual(['POST', 'POST']);
  });

  test('are created again when the first Event has expired in the API server', async () => {
    const events = recorder();
    events.record(NOTE);
    await events.flush();
    server.remove(EVENTS, (server.requests[0]!.body as { metadata: { name: string } }).metadata.name);
    events.record(NOTE);
    await events.flush();
    expect(sent().map(({ method }) => method)).toEqual(['POST', 'POST']);
    expect(stored()).toHaveLength(1);
  });

  test('are emitted once per occurrence, even by several replicas', async () => {
    const note = { ...NOTE, occurrence: 'u1/7' };
    const warnings: unknown[] = [];
    for (const replica of [recorder(), recorder({ ...silentLogger, warn: (...all) => warnings.push(all) })]) {
      replica.record(note);
      replica.record(note);
      await replica.flush();
    }
    const restarted = recorder();
    restarted.record({ ...NOTE, occurrence: 'u1/8' });
    await restarted.flush();
    expect(sent().map(({ method }) => method)).toEqual(['POST', 'POST', 'GET', 'POST']);
    expect(stored().map(({ metadata: { annotations } }) => annotations)).toEqual([
      { 'platform.io/occurrences': 'u1/7' },
      { 'platform.io/occurrences': 'u1/8' },
    ]);
    expect(server.requests[0]?.body).not.toHaveProperty('occurrence');
    expect(warnings).toEqual([]);
  });

  test('of a series are counted in one Event, each occurrence once, even from several replicas', async () => {
    const note = (version: number): EventNote => ({
      ...NOTE,
      occurrence: `u1/${version}`,
      series: NOTE.note,
    });
    const first = recorder();
    for (const version of [7, 8, 9]) first.record(note(version));
    await first.flush();
    // A new leader records the occurrences of the last minute again.
    const next = recorder();
    for (const version of [8, 9, 10]) next.record(note(version));
    await next.flush();
    // When two replicas write at the same time, the API server rejects the update of the slower one.
    server.fail({
      when: ({ method }) => method === 'PATCH',
      response: { status: 409, body: { kind: 'Status', reason: 'Conflict', message: 'modified' } },
    });
    first.record(note(11));
    first.record(note(11));
    await first.flush();
    expect(stored()).toEqual([
      expect.objectContaining({
        series: { count: 5, lastObservedTime: '2026-01-01T00:00:00.000000Z' },
        metadata: expect.objectContaining({
          annotations: { 'platform.io/occurrences': 'u1/7 u1/8 u1/9 u1/10 u1/11' },
        }),
      }),
    ]);
  });

  test('of a series list the last twenty occurrences', async () => {
    const events = recorder();
    for (let version = 1; version <= 25; version += 1)
      events.record({ ...NOTE, occurrence: `u1/${version}`, series: NOTE.note });
    await events.flush();
    const [event] = stored();
    expect(event?.series.count).toBe(25);
    const occurrences = event?.metadata.annotations['platform.io/occurrences']?.split(' ') ?? [];
    expect([occurrences.length, occurrences[0], occurrences.at(-1)]).toEqual([20, 'u1/6', 'u1/25']);
  });

  test('of a series that cannot be stored are dropped after five attempts and logged', async () => {
    const warnings: unknown[] = [];
    const events = recorder({ ...silentLogger, warn: (_, fields) => warnings.push(fields) });
    const exists = { status: 409, body: { kind: 'Status', reason: 'AlreadyExists', message: 'exists' } };
    for (let attempt = 0; attempt < 10; attempt += 1)
      server.fail({ when: ({ method }) => method === 'POST', response: exists });
    events.record({ ...NOTE, occurrence: 'u1/7', series: NOTE.note });
    await events.flush();
    expect(warnings).toEqual([
      { eventReason: 'Healthy', error: expect.stringMatching(/could not write Event .* in 5 attempts$/) },
    ]);
    expect(sent().filter(({ method }) => method === 'POST')).toHaveLength(5);
  });

  test('that cannot be written are logged and do not fail the caller', async () => {
    const warnings: unknown[] = [];
    const events = recorder({ ...silentLogger, warn: (message, fields) => warnings.push([message, fields]) });
    const body = { kind: 'Status', reason: 'Forbidden', message: 'not allowed' };
    server.fail({ when: () => true, response: { status: 403, body } });
    events.record(NOTE);
    events.record({ ...NOTE, note: 'the next' });
    await events.flush();
    expect(warnings).toEqual([
      [
        'failed to write Kubernetes Event, Event dropped',
        { eventReason: 'Healthy', error: 'KUBE_FORBIDDEN: not allowed' },
      ],
    ]);
    expect(sent()).toHaveLength(2);
  });
});

test('the Events of one namespace do not fill the queue for those of others', () => {
  const warn = jest.fn<Logger['warn']>();
  const stuck = { send: () => new Promise(() => undefined) } as unknown as KubeClient;
  const clock = { now: () => new Date(), monotonicMs: () => 0, sleep: () => Promise.resolve() };
  const identity = { controller: 'platform.io/operator', instance: 'pod-1' };
  const full = new EventRecorder({ ...identity, client: stuck, clock, logger: { ...silentLogger, warn } });
  for (let count = 0; count < 5_000; count += 1) full.record(NOTE);
  expect(warn).toHaveBeenCalledTimes(1_000);
  expect(warn).toHaveBeenLastCalledWith('Kubernetes Event dropped, queue full', {
    ...{ eventReason: 'Healthy', namespace: 'n', queued: 4_000 },
  });
  for (let count = 0; count < 1_000; count += 1)
    full.record({ ...NOTE, regarding: { ...NOTE.regarding, namespace: 'other' } });
  expect(warn).toHaveBeenCalledTimes(1_000);
});
