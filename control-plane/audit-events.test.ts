import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { canonicalJson } from '../core/record/canonical.ts';
import { ChainVerifier } from '../core/record/chain.ts';
import { parseEvent } from '../core/record/columns.ts';
import { RecordLines } from '../core/record/line.ts';
import { NO_LINE, type RecordSource } from '../core/record/record-event.ts';
import type { AuditEvent } from '../core/shapes/audit-event.ts';
import {
  startControlPlaneRig,
  type ControlPlaneRig,
  type RegisteredAgent,
  type RigResponse,
} from '../testing/fleet/control-plane-rig.ts';
import { aPerson, personsOf } from '../testing/fleet/persons.ts';
import { sampleEvents } from '../testing/record/sample-events.ts';

const SOURCE: RecordSource = {
  ...{ namespace: 'default', agent: 'shop', instance: 'pod-1', version: '1.0.0' },
  startedAt: Date.parse('2026-03-01T09:00:00.000Z'),
};

/** A chain of every kind of event, as a sidecar of `shop` writes it. */
function sampleLines(source: Partial<RecordSource> = {}): string[] {
  const lines = new RecordLines({
    ...{ source: { ...SOURCE, ...source }, hintsOf: () => undefined, hostOf: () => undefined },
  });
  let prev = NO_LINE;
  return Object.values(sampleEvents()).map((event, index) => {
    const line = lines.line(event, { sequence: index + 1, prev });
    prev = hash('sha256', line);
    return line;
  });
}

const LINES = sampleLines();
const [FIRST = ''] = LINES;
const KIND = (JSON.parse(FIRST) as AuditEvent).unmapped.platform.kind;
const changed = (change: (event: Record<string, never>) => unknown): string =>
  JSON.stringify(change(JSON.parse(FIRST) as Record<string, never>));

let rig: ControlPlaneRig;
let shop: RegisteredAgent;
beforeEach(async () => {
  rig = await startControlPlaneRig({ signOn: [personsOf([aPerson('ada')])] });
  shop = await rig.register('shop');
});
afterEach(() => rig.close());

const NDJSON = 'application/x-ndjson';
const send = (body: string | Uint8Array, headers: Record<string, string> = {}): Promise<RigResponse> =>
  rig.send('POST', '/api/v1/audit-events', {
    headers: { authorization: `Bearer ${shop.apiKey}`, 'content-type': NDJSON, ...headers },
    body,
  });
const list = async (query = ''): Promise<AuditEvent[]> =>
  (await rig.admin('GET', `/audit-events${query}`)).body as AuditEvent[];
/** Without the events of the control plane itself. */
const stored = async (): Promise<AuditEvent[]> =>
  (await list('?namespace=platform-remote&limit=1000')).filter((each) =>
    each.metadata.uid.startsWith('pod-1/'),
  );
const own = async (query = ''): Promise<AuditEvent[]> =>
  (await list(`?kind=admin&limit=1000${query}`)).filter(({ metadata }) =>
    metadata.uid.startsWith('control-plane/'),
  );

describe('POST /api/v1/audit-events', () => {
  test.each([
    ['as text', LINES.join('\n'), {}],
    ['with a line break at the end', `${LINES.join('\n')}\n`, {}],
    ['with gzip', gzipSync(LINES.join('\n')), { 'content-encoding': 'gzip' }],
  ])('keeps every kind of event, %s, once, and their chain', async (_how, body, headers) => {
    expect((await send(body, headers)).status).toBe(204);
    expect((await send(body, headers)).status).toBe(204);
    const events = await stored();
    expect(new Set(events.map((event) => canonicalJson(event)))).toEqual(new Set(LINES));
    expect(events).toHaveLength(LINES.length);
    const verifier = new ChainVerifier((text) => hash('sha256', text), []);
    const inOrder = events.toSorted((a, b) => a.metadata.sequence - b.metadata.sequence);
    for (const event of inOrder) verifier.add(JSON.stringify(event));
    expect(verifier.report()).toMatchObject({
      findings: [],
      chains: [{ chain: expect.stringMatching(/^pod-1/) }],
    });
  });

  test.each([
    ['another agent', sampleLines({ agent: 'other' })[0]!, 'is about another agent (actor.app_uid)'],
    [
      'a chain of the control plane',
      sampleLines({ instance: 'control-plane/local' })[0]!,
      'has a metadata.uid of the control plane (control-plane/)',
    ],
    ['no JSON', '{"class_uid":', 'is not valid JSON'],
    ['another JSON', '[]', 'is not an audit event:  must be an object'],
    ['an empty line', '', 'is not valid JSON'],
    [
      'no kind',
      changed(({ unmapped: _, ...rest }) => rest),
      'is not an audit event: unmapped must be an object',
    ],
    ['a long line', changed((event) => ({ ...event, x: 'x'.repeat(8_000) })), 'has more than 8000 bytes'],
    [
      'a long uid',
      changed((event) => ({ ...event, metadata: { uid: 'u'.repeat(700), sequence: 1 } })),
      'has a metadata.uid of more than 600 characters',
    ],
    [
      'a time without a date',
      changed((event) => ({ ...event, time: 9e15 })),
      expect.stringContaining('time'),
    ],
  ])('rejects %s with the number of its line, and keeps no line', async (_what, line, problem) => {
    const response = await send([LINES[1], line, LINES[2]].join('\n'));
    expect(response.status).toBe(400);
    const { detail } = response.body as { detail: string };
    expect(detail).toMatch(/^line 2 /);
    expect(detail.slice('line 2 '.length)).toEqual(problem);
    expect(await stored()).toEqual([]);
  });

  test.each([
    ['no line', '\n', {}, 400],
    ['no body', '', {}, 400],
    ['501 lines', `${FIRST.slice(0, 300)}\n`.repeat(501), {}, 400],
    ['more than 256 KiB', ' '.repeat(256 * 1024 + 1), {}, 413],
    [
      'a small body that has more than 256 KiB after decompression',
      gzipSync(Buffer.alloc(64 * 1024 * 1024)),
      { 'content-encoding': 'gzip' },
      413,
    ],
    ['broken gzip', FIRST, { 'content-encoding': 'gzip' }, 400],
    ['another content type', FIRST, { 'content-type': 'application/json' }, 415],
    ['another encoding', FIRST, { 'content-encoding': 'x' }, 415],
  ])('rejects %s', async (_what, body, headers, status) => {
    const response = await send(body, headers);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json; charset=utf-8',
    ]);
    expect(await stored()).toEqual([]);
  });

  test('a pod can only send events of its namespace', async () => {
    const pod = { kind: 'pod', namespace: 'default', agentName: 'shop', pod: 'pod-1', uid: 'u' } as const;
    await rig.close();
    rig = await startControlPlaneRig({ pods: { identify: () => Promise.resolve(pod) } });
    const headers = { authorization: 'Bearer token-of-a-pod' };
    expect((await send(FIRST, headers)).status).toBe(204);
    expect((await send(sampleLines({ namespace: 'other' })[0]!, headers)).body).toMatchObject({
      detail: 'line 1 is about another agent (actor.app_uid)',
    });
  });

  test('an event of the future is listed at the time of its arrival', async () => {
    const future = changed((event) => ({ ...event, time: Date.parse('2090-01-01T00:00:00.000Z') }));
    expect((await send(future)).status).toBe(204);
    const since = (time: string) => list(`?namespace=platform-remote&kind=${KIND}&since=${time}`);
    expect(await since('2026-03-01T10:00:00.001Z')).toEqual([]);
    expect(await since('2026-03-01T10:00:00.000Z')).toHaveLength(1);
  });

  test('counts', async () => {
    await send(LINES.slice(0, 3).join('\n'));
    await send(LINES.slice(0, 4).join('\n'));
    await send('x\ny');
    const text = rig.metrics.render();
    for (const [result, count] of [
      ['stored', 4],
      ['repeat', 3],
      ['invalid', 2],
    ])
      expect(text).toContain(`platform_control_plane_audit_events_total{result="${result}"} ${count}\n`);
  });
});

describe('GET /api/v1/audit-events', () => {
  beforeEach(async () => {
    expect((await send(LINES.join('\n'))).status).toBe(204);
  });

  test('every filter selects what the events have', async () => {
    // Tools of one call, of which a filter names the second.
    const resources = [{ name: 'refund' }, { name: 'lookup order' }];
    const metadata = { uid: 'pod-1/m1:1', sequence: 1 };
    await send(changed((event) => ({ ...event, metadata, resources })));
    const events = await stored();
    const rows = events.map((event) => ({
      event,
      kind: event.unmapped.platform.kind,
      outcome: event.unmapped.platform.outcome,
      user: event.actor.user?.uid,
      tools: (event.resources ?? []).map(({ name }) => name),
    }));
    const user = rows.find((row) => row.user !== undefined)?.user ?? '';
    expect(user).not.toBe('');
    const cases: [string, (row: (typeof rows)[number]) => boolean][] = [
      ['kind=model', ({ kind }) => kind === 'model'],
      ['outcome=deny', ({ outcome }) => outcome === 'deny'],
      [`user=${encodeURIComponent(user)}`, (row) => row.user === user],
      ['tool=lookup%20order', ({ tools }) => tools.includes('lookup order')],
      ['agent=other', () => false],
    ];
    for (const [query, isWanted] of cases) {
      const wanted = rows.filter(isWanted).map(({ event }) => event.metadata.uid);
      const found = await list(`?namespace=platform-remote&limit=1000&${query}`);
      const uids = found.map(({ metadata }) => metadata.uid).filter((uid) => uid.startsWith('pod-1/'));
      expect([query, uids]).toEqual([query, wanted]);
      expect(wanted.length > 0).toBe(query !== 'agent=other');
    }
  });

  test('the pages have each event once, newest first', async () => {
    const all = (await list('?kind=request&limit=1000')).concat(await list('?kind=model&limit=1000'));
    const found: AuditEvent[] = [];
    for (const kind of ['request', 'model']) {
      let path: string | undefined = `/api/v1/audit-events?kind=${kind}&limit=1`;
      while (path !== undefined) {
        const page: RigResponse = await rig.admin('GET', path.slice('/api/v1'.length));
        found.push(...(page.body as AuditEvent[]));
        path = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
      }
    }
    expect(found).toEqual(all);
    expect(found.length).toBeGreaterThan(2);
  });

  test('outlive their agent', async () => {
    const before = await stored();
    expect((await rig.admin('DELETE', '/agents/shop')).status).toBe(204);
    expect(await stored()).toEqual(before);
  });
});

describe('the events of the control plane itself', () => {
  const ada = { authorization: 'Bearer person-ada' };

  test('a query is an event of its caller, once in ten minutes for the same filters', async () => {
    const path = '/api/v1/audit-events?agent=shop&namespace=platform-remote&user=eve';
    const queries = async () =>
      (await own()).filter((each) => JSON.stringify(each).includes('"user":"eve"')).length;
    await rig.admin('GET', path.slice('/api/v1'.length));
    await rig.admin('GET', `${path.slice('/api/v1'.length)}&limit=7`);
    expect(await queries()).toBe(1);
    rig.clock.advance(600_000);
    await rig.admin('GET', path.slice('/api/v1'.length));
    expect(await queries()).toBe(2);
    const event = (await own()).find((each) => JSON.stringify(each).includes('"user":"eve"'));
    expect(event).toMatchObject({
      ...{ class_uid: 3004, activity_id: 2, status_id: 1 },
      actor: { app_uid: 'platform-remote/shop', user: { uid: 'admin-key' } },
      entity: { type: 'query', data: { agent: 'shop', namespace: 'platform-remote', user: 'eve' } },
      unmapped: { platform: { kind: 'admin', action: 'listAuditEvents', actor: { method: 'admin-key' } } },
    });
    // A caller without the right gets nothing, and a person is not the admin key.
    expect((await rig.send('GET', path, { headers: ada })).status).toBe(403);
    expect(await queries()).toBe(2);
    expect((await rig.send('GET', '/api/v1/audit-events', { headers: ada })).body).toEqual([]);
    const mine = (await own()).filter((each) => each.actor.user?.uid === 'ada');
    expect(mine).toHaveLength(1);
  });

  test('admin actions and stops are events with their actors, in one chain', async () => {
    const stop = { namespace: 'team', agents: ['shop'], reason: 'leak of order data' };
    const { id } = (await rig.admin('POST', '/stops', stop)).body as { id: string };
    await rig.admin('DELETE', `/stops/${id}`);
    await rig.admin('DELETE', '/agents/unknown');
    await rig.admin('DELETE', '/agents/shop');
    const events = (await own()).filter(
      ({ unmapped }) => (unmapped.platform as { action?: string }).action !== 'listAuditEvents',
    );
    expect(
      events.map((event) => [
        (event.unmapped.platform as { action?: string }).action,
        ...[event.activity_id, event.actor.app_uid, (event as { comment?: string }).comment],
      ]),
    ).toEqual([
      ['deleteAgent', 4, 'platform-remote/shop', undefined],
      ['deleteStop', 13, 'team/control-plane', undefined],
      ['createStop', 12, 'team/control-plane', 'leak of order data'],
      ['registerAgent', 1, 'platform-remote/shop', undefined],
    ]);
    const verifier = new ChainVerifier((text) => hash('sha256', text), []);
    for (const event of (await own()).toReversed()) verifier.add(JSON.stringify(event));
    expect(verifier.report()).toMatchObject({ findings: [], chains: [{ first: 1, isFromStart: true }] });
  });

  test('what could not be stored is counted in the next chain, and a query without a record fails', async () => {
    const events = rig.store.auditEvents!;
    const add = jest.spyOn(events, 'add').mockRejectedValue(new Error('disk full'));
    expect((await rig.admin('GET', '/audit-events')).status).toBe(500);
    expect((await rig.admin('DELETE', '/agents/shop')).status).toBe(204);
    add.mockRestore();
    expect(await list('?kind=gap')).toMatchObject([
      { count: 2, class_uid: 1008, metadata: { sequence: 1 }, status_detail: 'the store was not available' },
    ]);
    for (const event of await list()) expect(parseEvent(event)).toMatchObject({ ok: true });
    const text = rig.metrics.render();
    expect(text).toContain('platform_control_plane_unrecorded_actions_total 1\n');
  });
});

test('a head of each hour is listed, also of a deleted agent in its namespace', async () => {
  const auditLog = {
    ...{ chain: 'pod-1/m1', sequence: 7, head: 'a'.repeat(64), at: '2026-03-01T09:59:59.000Z' },
    ...{ written: 7, dropped: 1, failures: 0 },
  };
  await rig.heartbeat(shop.apiKey, { auditLog });
  const heads = [{ ...auditLog, receivedAt: '2026-03-01T10:00:00.000Z' }];
  const path = '/agents/shop/audit-heads';
  expect((await rig.admin('GET', path)).body).toEqual(heads);
  await rig.admin('DELETE', '/agents/shop');
  expect((await rig.admin('GET', path)).status).toBe(404);
  expect((await rig.admin('GET', `${path}?namespace=platform-remote`)).body).toEqual(heads);
  const headers = { authorization: 'Bearer person-ada' };
  expect((await rig.send('GET', `/api/v1${path}?namespace=platform-remote`, { headers })).status).toBe(404);
});

test('a store without events returns 501 with the reason', async () => {
  const { store } = rig;
  const without = new Proxy(store, {
    get: (target, name) => {
      if (name === 'auditEvents') return null;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member as () => unknown).bind(target) : member;
    },
  });
  await rig.restart(undefined, without);
  const detail =
    'the Kubernetes store keeps no audit events; set STORE=sqlite or STORE=postgres on the control plane';
  for (const path of ['/audit-events', '/agents/shop/audit-heads'])
    expect(await rig.admin('GET', path)).toMatchObject({ status: 501, body: { detail } });
  expect(await send(FIRST)).toMatchObject({ status: 501, body: { detail } });
});
