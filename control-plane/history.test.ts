import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { AdminAction } from '../core/shapes/admin-action.ts';
import type { Heartbeat } from '../core/shapes/heartbeat.ts';
import type { AgentHistory, FleetHistory } from '../core/shapes/history.ts';
import { ref } from '../core/untrusted/json-schema.ts';
import { SCHEMAS } from '../core/openapi/schemas.ts';
import { KubeClient } from '../kube/client.ts';
import { silentLogger, type Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { startFakeApiServer } from '../testing/cluster/fake-api-server.ts';
import {
  ADMIN_KEY,
  startControlPlaneRig,
  type ControlPlaneRig,
  type RigRequest,
} from '../testing/fleet/control-plane-rig.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import type { ManualClock } from '../testing/time/manual-clock.ts';
import { aMoment } from '../testing/time/moment.ts';
import { controlPlaneRoutes } from './app.ts';
import { KubernetesStore } from './stores/kubernetes/kubernetes-store.ts';
import type { Store } from './stores/store.ts';

const START = '2026-03-01T10:00:00.000Z';

let rig: ControlPlaneRig;
let clock: ManualClock;
let store: Store;
let logged: Readonly<Record<string, unknown>>[];

const logger: Logger = {
  ...silentLogger,
  info: (message, fields) => void logged.push({ level: 'info', message, ...fields }),
  warn: (message, fields) => void logged.push({ level: 'warn', message, ...fields }),
};

beforeEach(async () => {
  logged = [];
  const pod = { kind: 'pod', namespace: 'team', pod: 'shop-1', uid: 'u-1', agentName: 'shop' } as const;
  rig = await startControlPlaneRig({
    ...{ rateLimitSeconds: 10, logger },
    // Replaces TokenReview: every token that was not registered belongs to this pod.
    pods: { identify: () => Promise.resolve(pod) },
  });
  ({ clock, store } = rig);
});
afterEach(() => rig.close());

const call = (method: string, path: string, request?: RigRequest) => rig.send(method, path, request);
const admin = (method: string, path: string, body?: unknown) => rig.admin(method, path, body);
const keyOf = async (agentName: string): Promise<string> => (await rig.register(agentName)).apiKey;

let sent = 0;

async function push(key: string, overrides: Partial<Heartbeat> = {}): Promise<void> {
  const body = aHeartbeat({ seq: (sent += 1), sentAt: null, startedAt: START, ...overrides });
  const { status } = await call('POST', '/api/v1/heartbeat', {
    headers: { authorization: `Bearer ${key}` },
    body,
  });
  if (status > 204) throw new Error(`the heartbeat got ${status}`);
}

const gapOf = (score: number): Heartbeat['gap'] => ({ score, grade: 'A', source: 'agent-sdk', issues: [] });
const totalsOf = (tokensToday: number): Heartbeat['totals'] => ({
  tokensToday,
  costTodayUsd: tokensToday / 100,
});

const unsupported = (what: string) => ({
  type: 'about:blank',
  title: 'Not Implemented',
  status: 501,
  detail: `the Kubernetes store keeps only the latest state and no ${what}; set STORE=sqlite or STORE=postgres on the control plane`,
});

describe('the history of an agent', () => {
  /** Heartbeats at 10:00:00, 10:00:30 and 11:00:30. The time is then 11:01:00. */
  async function anAgent(): Promise<void> {
    const key = await keyOf('shop');
    const outcomes = { allow: 4, deny: 1, failOpen: 0, notEvaluated: 0 };
    await push(key, { totals: totalsOf(10), outcomes, manifestHash: 'one' });
    clock.advance(30_000);
    const health: Heartbeat['health'] = { ...aHeartbeat().health, status: 'unhealthy' };
    const second = { health, gap: gapOf(80), totals: totalsOf(30) };
    await push(key, { ...second, outcomes: { ...outcomes, deny: 3 }, manifestHash: 'two' });
    clock.advance(3_600_000);
    await push(key, { totals: totalsOf(31), manifestHash: 'two' });
    clock.advance(30_000);
  }

  const historyOf = async (query = ''): Promise<AgentHistory> => {
    const { status, body } = await admin('GET', `/agents/shop/history${query}`);
    expect(status).toBe(200);
    return body as AgentHistory;
  };
  const times = ({ points }: AgentHistory): string[] => points.map(({ at }) => at);

  test('has by default one point for each hour of the last 24 hours, and the changes', async () => {
    await anAgent();
    const history = await historyOf();
    expect(history).toEqual({
      agentName: 'shop',
      namespace: 'platform-remote',
      step: 'hour',
      from: '2026-02-28T11:00:00.000Z',
      to: '2026-03-01T11:01:00.001Z',
      points: [
        {
          at: '2026-03-01T10:00:00.000Z',
          heartbeats: 2,
          ...{ score: 80, scoreMin: 80, scoreMax: 100, grade: 'B', phase: 'Unhealthy' },
          ...{ tokens: 30, costUsd: 0.3 },
          outcomes: { allow: 4, deny: 3, failOpen: 0, notEvaluated: 0 },
        },
        {
          at: '2026-03-01T11:00:00.000Z',
          heartbeats: 1,
          ...{ score: 100, scoreMin: 100, scoreMax: 100, grade: 'A', phase: 'Healthy' },
          ...{ tokens: 1, costUsd: 0.01 },
          outcomes: { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 },
        },
      ],
      changes: [
        { at: START, kind: 'phase', from: null, to: 'Pending' },
        { at: START, kind: 'phase', from: 'Pending', to: 'Healthy' },
        { at: START, kind: 'grade', from: null, to: 'A' },
        { at: START, kind: 'manifest', from: null, to: 'one' },
        { at: '2026-03-01T10:00:30.000Z', kind: 'phase', from: 'Healthy', to: 'Unhealthy' },
        { at: '2026-03-01T10:00:30.000Z', kind: 'grade', from: 'A', to: 'B' },
        {
          ...{ at: '2026-03-01T10:00:30.000Z', kind: 'manifest', from: 'one', to: 'two' },
          summary: expect.stringContaining('what changed is not known'),
        },
        { at: '2026-03-01T11:00:30.000Z', kind: 'phase', from: 'Unhealthy', to: 'Healthy' },
        { at: '2026-03-01T11:00:30.000Z', kind: 'grade', from: 'B', to: 'A' },
      ],
    });
  });

  test('has one point for each day, or for each heartbeat', async () => {
    await anAgent();
    const days = await historyOf('?step=day');
    expect(days).toMatchObject({ step: 'day', from: '2026-01-30T00:00:00.000Z' });
    expect(days.points).toMatchObject([
      { at: '2026-03-01T00:00:00.000Z', heartbeats: 3, score: 100, scoreMin: 80, tokens: 31, costUsd: 0.31 },
    ]);
    const heartbeats = await historyOf('?step=heartbeat');
    expect(heartbeats).toMatchObject({ step: 'heartbeat', from: '1970-01-01T00:00:00.000Z' });
    expect(heartbeats.points).toMatchObject([
      { at: START, tokens: 10, costUsd: 0.1 },
      { at: '2026-03-01T10:00:30.000Z', tokens: 20, costUsd: 0.2 },
      { at: '2026-03-01T11:00:30.000Z', tokens: 1, costUsd: 0.01 },
    ]);
  });

  test('has the points and changes of the range; `from` is rounded down, `to` is excluded', async () => {
    await anAgent();
    const first = await historyOf('?from=2026-03-01T10:59:59Z&to=2026-03-01T11:00:00Z');
    expect(first).toMatchObject({ from: START, to: '2026-03-01T11:00:00.000Z' });
    expect(times(first)).toEqual([START]);
    expect(first.changes).toHaveLength(7);
    const offset = encodeURIComponent('2026-03-01T12:00:00+01:00');
    expect(times(await historyOf(`?from=${offset}`))).toEqual(['2026-03-01T11:00:00.000Z']);
    const exact = await historyOf(
      '?step=heartbeat&from=2026-03-01T10:00:30.000Z&to=2026-03-01T11:00:30.000Z',
    );
    expect(times(exact)).toEqual(['2026-03-01T10:00:30.000Z']);
    expect(exact.changes).toHaveLength(3);
  });

  test('is empty before the first heartbeat', async () => {
    await keyOf('shop');
    const changes = [{ at: START, kind: 'phase', from: null, to: 'Pending' }];
    expect(await historyOf()).toMatchObject({ points: [], changes });
  });

  test('needs the namespace if the name exists in several', async () => {
    await push(await keyOf('shop'), { gap: gapOf(60) });
    await push('a-pod', { gap: gapOf(50) });
    expect((await admin('GET', '/agents/shop/history')).body).toMatchObject({
      status: 409,
      namespaces: ['platform-remote', 'team'],
    });
    expect((await historyOf('?namespace=team')).points).toMatchObject([{ score: 50 }]);
    expect((await historyOf('?namespace=platform-remote')).points).toMatchObject([{ score: 60 }]);
  });

  test('of an unknown agent is a 404', async () => {
    expect((await admin('GET', '/agents/unknown/history')).status).toBe(404);
    expect((await admin('GET', '/agents/..%2f..%2fx/history')).status).toBe(404);
  });

  test('is kept as long as the retention, and longer by day than by hour', async () => {
    await push(await keyOf('shop'));
    let sleep = await clock.nextSleep();
    const sweepAfter = async (hours: number): Promise<void> => {
      clock.advance(hours * 3_600_000);
      sleep.wake();
      // The next sleep begins after the sweep.
      sleep = await clock.nextSleep();
    };
    const pointsSince = async (step: string) =>
      (await historyOf(`?step=${step}&from=2026-03-01T00:00:00Z`)).points.length;
    await sweepAfter(30 * 24 - 1);
    expect([await pointsSince('hour'), await pointsSince('day')]).toEqual([1, 1]);
    await sweepAfter(2);
    expect([await pointsSince('hour'), await pointsSince('day')]).toEqual([0, 1]);
    expect((await historyOf('?step=heartbeat')).points).toHaveLength(1);
    await sweepAfter(370 * 24);
    expect([await pointsSince('hour'), await pointsSince('day')]).toEqual([0, 0]);
  });
});

test('the history of the fleet has all agents of each hour or day, or those of one namespace', async () => {
  await push(await keyOf('shop'), { gap: gapOf(60), totals: totalsOf(5) });
  await push('a-pod', { gap: gapOf(95), totals: totalsOf(7) });
  const { body } = await admin('GET', '/history');
  const outcomes = { allow: 0, deny: 0, failOpen: 0, notEvaluated: 0 };
  expect(body).toEqual({
    namespace: null,
    step: 'hour',
    from: '2026-02-28T10:00:00.000Z',
    to: '2026-03-01T10:00:00.001Z',
    points: [
      {
        at: START,
        ...{ agents: 2, heartbeats: 2, score: 77.5, grades: { A: 1, B: 0, C: 1, D: 0, F: 0 } },
        ...{ tokens: 12, costUsd: 0.12, outcomes },
      },
    ],
  });
  expect((await admin('GET', '/history?step=day&namespace=team')).body).toMatchObject({
    namespace: 'team',
    step: 'day',
    from: '2026-01-30T00:00:00.000Z',
    points: [{ at: '2026-03-01T00:00:00.000Z', agents: 1, score: 95, tokens: 7 }],
  });
  const none = await admin('GET', '/history?to=2026-03-01T10:00:00Z');
  expect((none.body as FleetHistory).points).toEqual([]);
});

const TIME = 'is not an ISO 8601 time with a time zone, such as 2026-03-01T10:00:00Z';
const RANGES: [string, Record<string, string>][] = [
  ['from=', { from: TIME }],
  ['from=yesterday', { from: TIME }],
  ['from=2026-03-01', { from: TIME }],
  ['from=2026-03-01T10:00:00', { from: TIME }],
  ['from=2026-02-30T10:00:00Z', { from: TIME }],
  ['from=1767225600000', { from: TIME }],
  // An offset that is not percent-encoded: the server receives a space.
  ['from=2026-03-01T10:00:00+01:00', { from: TIME }],
  ['to=%00', { to: TIME }],
  ['to=%E0%A4', { to: TIME }],
  [`to=${'9'.repeat(500)}`, { to: TIME }],
  ['from=2026-03-01T09:00:00Z&from=2026-03-01T08:00:00Z', { from: 'is given more than once' }],
  ['from=x&to=y', { from: TIME, to: TIME }],
  ['from=2026-03-01T10:00:00.001Z', { from: 'is not before 2026-03-01T10:00:00.001Z, the end of the range' }],
  [
    'from=2026-03-01T09:00:00Z&to=2026-03-01T09:00:00Z',
    { from: 'is not before 2026-03-01T09:00:00.000Z, the end of the range' },
  ],
  [
    'from=0000-01-01T00:00:00Z&to=9999-12-31T00:00:00Z&step=day',
    { from: 'the range has 3652424 points of one day, and the maximum is 10000; use a shorter range' },
  ],
  [
    'from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z',
    {
      from: 'the range has 52608 points of one hour, and the maximum is 10000; use a shorter range, or step=day',
    },
  ],
  ['to=0000-01-01T00:00:00Z', { to: 'is not after 0000-01-01T00:00:00.000Z, the start of the range' }],
  ['namespace=Team', { namespace: 'is not a namespace (a DNS label)' }],
  ['namespace=', { namespace: 'is not a namespace (a DNS label)' }],
];

describe('an invalid query gets 400', () => {
  beforeEach(async () => {
    await keyOf('shop');
  });

  test.each([
    ...RANGES.map(([query, errors]) => ['/agents/shop/history', query, errors] as const),
    ...RANGES.map(([query, errors]) => ['/history', query, errors] as const),
    ['/agents/shop/history', 'step=week', { step: 'is not one of heartbeat, hour, day' }],
    ['/agents/shop/history', 'step=', { step: 'is not one of heartbeat, hour, day' }],
    ['/history', 'step=heartbeat', { step: 'is not one of hour, day' }],
    ['/history', 'step=Hour', { step: 'is not one of hour, day' }],
    ['/admin-actions', 'limit=0', { limit: 'is not an integer from 1 to 1000' }],
    ['/admin-actions', 'limit=1001', { limit: 'is not an integer from 1 to 1000' }],
    ['/admin-actions', 'limit=1e2', { limit: 'is not an integer from 1 to 1000' }],
    ['/admin-actions', 'limit=', { limit: 'is not an integer from 1 to 1000' }],
    ['/admin-actions', 'limit=1&limit=2', { limit: 'is given more than once' }],
    ['/admin-actions', 'before=0', { before: 'is not an integer from 1 to 999999999' }],
    ['/admin-actions', 'before=-1', { before: 'is not an integer from 1 to 999999999' }],
    ['/admin-actions', 'before=9999999999', { before: 'is not an integer from 1 to 999999999' }],
    ['/admin-actions', 'before=x', { before: 'is not an integer from 1 to 999999999' }],
  ] as const)('GET %s?%s', async (path, query, errors) => {
    const { status, body } = await admin('GET', `${path}?${query}`);
    expect([status, body]).toEqual([
      400,
      expect.objectContaining({
        detail: 'the query is not valid',
        errors: Object.entries(errors).map(([parameter, message]) => ({ path: parameter, message })),
      }),
    ]);
  });
});

describe('admin actions', () => {
  const actionsOf = async (query = ''): Promise<AdminAction[]> =>
    (await admin('GET', `/admin-actions${query}`)).body as AdminAction[];
  const withoutId = ({ id: _, ...action }: AdminAction) => action;
  const idOf = (method: string, path: string): string =>
    controlPlaneRoutes(rig.context).find((route) => route.method === method && route.path === path)!.operation
      .id;

  const REGISTER = '/api/v1/register';
  const RULE = '/api/v1/agents/:name/proof/rule/:ruleId';
  const AGENT = '/api/v1/agents/:name';
  /** A successful request to each route that changes something, in an order in which each succeeds. */
  const CHANGES = [
    ['POST', REGISTER, '/register', { agentName: 'shop', runtime: 'docker' }, 201, null],
    ['POST', RULE, '/agents/shop/proof/rule/MEM-01', { verifiedBy: 'k6', method: 'load' }, 201, 'MEM-01'],
    ['DELETE', RULE, '/agents/shop/proof/rule/MEM-01', undefined, 204, 'MEM-01'],
    ['DELETE', AGENT, '/agents/shop', undefined, 204, null],
  ] as const;

  /** Their requests are about a namespace, and tested in routes/stops.test.ts. */
  const STOPS = ['POST /api/v1/stops', 'DELETE /api/v1/stops/:namespace/:stop'];

  test('contain every route that changes something', () => {
    const changing = controlPlaneRoutes(rig.context).filter(
      ({ access, method }) => !['open', 'bearer'].includes(access) && method !== 'GET',
    );
    expect(changing.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
      [...CHANGES.map(([method, path]) => `${method} ${path}`), ...STOPS].sort(),
    );
  });

  test('have the operation, the client, the agent, the rule and the status, newest first', async () => {
    const expected: Omit<AdminAction, 'id'>[] = [];
    for (const [method, path, request, body, status, ruleId] of CHANGES) {
      expect((await admin(method, request, body)).status).toBe(status);
      expected.unshift({
        at: clock.now().toISOString(),
        action: idOf(method, path),
        address: '127.0.0.1',
        actor: { method: 'admin-key' },
        ...{ agentName: 'shop', namespace: 'platform-remote', ruleId, status },
      });
      // The record is complete when the client has the response.
      expect((await actionsOf('?limit=1')).map(withoutId)).toEqual(expected.slice(0, 1));
      clock.advance(1_000);
    }
    expect((await actionsOf()).map(withoutId)).toEqual(expected);
  });

  test('are also recorded if the request fails, without texts that are not valid', async () => {
    await keyOf('shop');
    await push('a-pod');
    const requests: [string, string, unknown][] = [
      ['POST', '/register', { agentName: 'Not Valid', runtime: 'docker' }],
      ['DELETE', '/agents/unknown?namespace=team', undefined],
      ['DELETE', '/agents/shop', undefined],
      ['DELETE', '/agents/shop?namespace=TEAM', undefined],
      ['DELETE', `/agents/${encodeURIComponent('<script>')}`, undefined],
      ['POST', '/agents/shop/proof/rule/NO-99?namespace=team', {}],
      ['POST', '/agents/shop/proof/rule/MEM-01?namespace=team', {}],
    ];
    for (const [method, path, body] of requests) await admin(method, path, body);
    const summary = (await actionsOf()).map(({ agentName, namespace, ruleId, status }) => [
      ...[agentName, namespace, ruleId, status],
    ]);
    expect(summary).toEqual([
      ['shop', 'team', 'MEM-01', 400],
      ['shop', 'team', null, 400],
      [null, null, null, 404],
      ['shop', null, null, 400],
      ['shop', null, null, 409],
      ['unknown', 'team', null, 404],
      [null, null, null, 400],
      ['shop', 'platform-remote', null, 201],
    ]);
  });

  test('with a wrong key are recorded once per minute and address', async () => {
    const guess = (method: string, path: string, key = 'guess') =>
      call(method, `/api/v1${path}`, { headers: { 'x-admin-key': key } });
    // Reads do not use up the minute.
    await guess('GET', '/agents');
    await guess('DELETE', '/agents/shop?namespace=team');
    await guess('POST', '/register', 'another');
    clock.advance(59_999);
    await guess('DELETE', '/agents/other');
    const refused = {
      ...{ at: START, action: idOf('DELETE', AGENT), address: '127.0.0.1', actor: null },
      ...{ agentName: 'shop', namespace: 'team', ruleId: null, status: 403 },
    };
    expect((await actionsOf()).map(withoutId)).toEqual([refused]);
    clock.advance(1);
    await guess('DELETE', '/agents/other');
    expect(await actionsOf()).toMatchObject([{ agentName: 'other', namespace: null, status: 403 }, refused]);
  });

  test('are not recorded for reads, requests without a key, and a control plane without a key', async () => {
    await admin('GET', '/agents');
    await call('DELETE', '/api/v1/agents/shop');
    await call('DELETE', '/api/v1/agents/shop', { headers: { 'x-admin-key': '' } });
    await rig.restart({});
    expect((await admin('DELETE', '/agents/shop')).status).toBe(503);
    await rig.restart();
    expect(await actionsOf()).toEqual([]);
  });

  test('never contain a key', async () => {
    const key = await keyOf('shop');
    await call('DELETE', '/api/v1/agents/shop', { headers: { 'x-admin-key': 'a-wrong-key' } });
    const text = JSON.stringify([await actionsOf(), logged]);
    for (const secret of [ADMIN_KEY, 'a-wrong-key', key]) expect(text).not.toContain(secret);
  });

  test('are recorded if the client leaves before the response', async () => {
    const socket = connect(rig.listener.port, '127.0.0.1');
    const head = ['POST /api/v1/register HTTP/1.1', 'Host: a', `X-Admin-Key: ${ADMIN_KEY}`];
    const rest = ['Content-Type: application/json', 'Content-Length: 100', '', '{"agentName":'];
    await new Promise<void>((resolve) => {
      socket.write([...head, ...rest].join('\r\n'), () => resolve());
    });
    await aMoment();
    socket.destroy();
    while ((await actionsOf()).length === 0) await aMoment();
    const action = { action: idOf('POST', REGISTER), address: '127.0.0.1', status: 400 };
    expect(await actionsOf()).toMatchObject([action]);
  });

  test('a failure to record is logged and counted, and does not change the response', async () => {
    store.history!.addAction = () => Promise.reject(new Error('the disk is full'));
    expect((await admin('POST', '/register', { agentName: 'shop', runtime: 'docker' })).status).toBe(201);
    expect(logged.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        message: 'failed to record admin action',
        action: idOf('POST', REGISTER),
        source: '127.0.0.1',
        actor: 'admin-key',
        ...{ agent: 'shop', namespace: 'platform-remote', ruleId: null, status: 201 },
        error: 'the disk is full',
      },
    ]);
    expect((await call('GET', '/metrics')).body).toContain(
      'platform_control_plane_unrecorded_actions_total 1\n',
    );
  });

  test('are served in pages', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await keyOf(name);
    const pages: (string | null)[][] = [];
    let path: string | undefined = '/api/v1/admin-actions?limit=2';
    while (path !== undefined) {
      const { headers, body } = await call('GET', path, { headers: { 'x-admin-key': ADMIN_KEY } });
      pages.push((body as AdminAction[]).map(({ agentName }) => agentName));
      path = /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(pages).toEqual([['e', 'd'], ['c', 'b'], ['a']]);
    const exact = await admin('GET', '/admin-actions?limit=5');
    expect(exact.headers.get('link')).toBeNull();
    const [newest] = exact.body as AdminAction[];
    expect((await actionsOf(`?before=${newest!.id}`)).map(({ agentName }) => agentName)).toEqual([
      ...['d', 'c', 'b', 'a'],
    ]);
  });
});

describe('with the Kubernetes store', () => {
  let stop: () => Promise<void>;

  beforeEach(async () => {
    const server = await startFakeApiServer();
    const client = new KubeClient({ access: server.access, part: 'control-plane' });
    const options = { client, clock, logger: silentLogger, metrics: createMetrics(), rateLimitSeconds: 10 };
    store = new KubernetesStore(options);
    await store.start();
    await rig.restart(undefined, store);
    stop = async () => {
      await store.close();
      await client.close();
      await server.close();
    };
  });
  afterEach(() => stop());

  test.each([
    ['/agents/shop/history', 'history'],
    ['/agents/shop/history?step=week', 'history'],
    ['/history', 'history'],
    ['/admin-actions', 'log of admin actions'],
  ])('GET %s returns 501 with the reason', async (path, what) => {
    const { status, body } = await admin('GET', path);
    expect([status, body]).toEqual([501, unsupported(what)]);
  });

  test('admin actions are only logged, those with a wrong key once per minute and address', async () => {
    await admin('POST', '/register', { agentName: 'shop', runtime: 'moon' });
    for (let times = 0; times < 3; times += 1)
      await call('DELETE', '/api/v1/agents/shop', { headers: { 'x-admin-key': 'wrong' } });
    const none = { agent: null, namespace: null, ruleId: null };
    const entry = { level: 'info', message: 'admin action', source: '127.0.0.1', ...none };
    const operation = (method: string, path: string) =>
      controlPlaneRoutes(rig.context).find((route) => route.method === method && route.path === path)!
        .operation;
    expect(logged.filter(({ message }) => message === 'admin action')).toEqual([
      { ...entry, action: operation('POST', '/api/v1/register').id, actor: 'admin-key', status: 400 },
      {
        ...entry,
        actor: null,
        action: operation('DELETE', '/api/v1/agents/:name').id,
        agent: 'shop',
        status: 403,
      },
    ]);
  });
});

describe('the schemas', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': true } });

  test.each([
    ['AgentHistory', '/agents/shop/history?step=day', (body: unknown) => body],
    ['FleetHistory', '/history', (body: unknown) => body],
    ['AdminAction', '/admin-actions', (body: unknown) => (body as unknown[])[0]],
  ])('%s accepts the response and no other members', async (name, path, pick) => {
    await push(await keyOf('shop'), { manifestHash: 'one', outcomes: null });
    const isValid = ajv.compile({ ...ref(name), components: { schemas: SCHEMAS } });
    const value = pick((await admin('GET', path)).body) as Record<string, unknown>;
    isValid(value);
    expect(isValid.errors ?? []).toEqual([]);
    expect(isValid({ ...value, extra: 1 })).toBe(false);
    for (const member of Object.keys(value)) {
      const { [member]: _, ...rest } = value;
      expect([member, isValid(rest)]).toEqual([member, false]);
    }
  });
});
