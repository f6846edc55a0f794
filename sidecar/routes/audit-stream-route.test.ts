import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { EventSource } from 'undici';
import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import { openEventStream, type EventStream } from '../../testing/event-stream.ts';
import { holdTimers } from '../../testing/held-timers.ts';
import { ManualClock } from '../../testing/manual-clock.ts';
import { aMoment } from '../../testing/moment.ts';
import { until } from '../../testing/proxy-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar-rig.ts';
import { startTcpRelay } from '../../testing/tcp-relay.ts';

const DESTRUCTIVE = 'destructive_tool_without_confirmation';
const MANIFEST = manifestText({
  tools: [{ name: 'pay', description: 'Pays.', annotations: { destructiveHint: true } }],
});

let rig: SidecarRig;
afterEach(() => rig.close());

/** A sidecar whose agent answers at once, but paths with an id only when the test says so. */
async function start(env: Record<string, string> = {}): Promise<Map<string, () => void>> {
  rig = await startSidecarRig({ manifest: MANIFEST, env: { POLICY_ENGINE: 'builtin', ...env } });
  const waiting = new Map<string, () => void>();
  rig.agent.otherwise = (request, response) => {
    if (request.url === '/now') response.end('ok');
    else waiting.set((request.url ?? '').slice(1), () => void response.end('late'));
  };
  return waiting;
}
const send = async (id: string, path = '/now'): Promise<void> => {
  await (await fetch(rig.proxyUrl + path, { headers: { 'x-request-id': id } })).text();
};
const sendAll = async (ids: string, underWay = 0): Promise<void> => {
  for (const id of ids) await send(id);
  await rig.settled(underWay);
};
const open = (path = '/audit/stream', headers: Record<string, string> = {}): Promise<EventStream> =>
  openEventStream(`http://127.0.0.1:${rig.sidecar.controlPort}${path}`, headers);
/** `a` for an entry, `~a` for an update, `!2` for a gap. */
const wordsOf = (stream: EventStream): string =>
  stream.events
    .map(({ event, data }) => {
      if (event === 'gap') return `!${(data as { lost: number | null }).lost ?? '?'}`;
      return (event === 'update' ? '~' : '') + (data as AuditEntry).requestId;
    })
    .join(' ');
const told = (stream: EventStream, words: string): Promise<void> =>
  until(() => wordsOf(stream) === words, `"${words}" in place of "${wordsOf(stream)}"`);
const tell = (requestId: string, events: object[]): Promise<Response> =>
  rig.control('/events', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ requestId, events }),
  });

describe('the stream', () => {
  test.each(['/audit/stream', '/platform/audit/stream'])(
    '%s shows what is complete, then each entry as it completes',
    async (path) => {
      await start();
      await sendAll('ab');
      const stream = await open(path);
      await told(stream, 'a b');
      await sendAll('c');
      await told(stream, 'a b c');
      const [, , entry] = await rig.report<AuditEntry[]>('/audit');
      expect(stream.events[2]).toEqual({ event: 'entry', id: '3', data: entry });
      expect(stream.text()).toMatch(/^retry: 1000\n\nevent: entry\nid: 1\ndata: \{"seq":1,.*\}\n\nevent: /);
    },
  );

  test('says in its head what it is, that nobody may hold it back, and what the ring holds', async () => {
    await start({ AUDIT_RING_SIZE: '2' });
    await sendAll('abc');
    expect((await open()).headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      connection: 'close',
      'x-platform-audit-first': '2',
      'x-platform-audit-last': '3',
      'x-platform-audit-dropped': '1',
    });
  });

  test('tells what is in flight when it opens once it completes, in order of completion, also from a ring of one', async () => {
    const waiting = await start({ AUDIT_RING_SIZE: '1' });
    const slow = [send('a', '/a'), send('b', '/b')];
    await until(() => waiting.size === 2, 'the requests at the agent');
    const stream = await open();
    await sendAll('c', 2);
    waiting.get('b')?.();
    await slow[1];
    await told(stream, 'c b');
    waiting.get('a')?.();
    await slow[0];
    await told(stream, 'c b a');
    expect(stream.events.map(({ id }) => id)).toHaveLength(3);
  });

  test('tells a late event, and the late denial that follows from it, as an update', async () => {
    await start();
    const stream = await open();
    await sendAll('a');
    await told(stream, 'a');
    await tell('a', [{ type: 'tool', name: 'pay' }]);
    await told(stream, 'a ~a');
    expect(stream.events[1]).toMatchObject({
      event: 'update',
      data: { toolsCalled: ['pay'], policyViolations: [DESTRUCTIVE], lateDenial: true },
    });
    expect(stream.events[1]).not.toHaveProperty('id');
    await tell('a', []);
    await tell('nobody', [{ type: 'tool', name: 'pay' }]);
    await sendAll('b');
    await told(stream, 'a ~a b');
  });

  test('tells an event that comes early with the entry, once that is complete', async () => {
    const waiting = await start();
    const stream = await open();
    const slow = send('a', '/a');
    await until(() => waiting.size === 1, 'the request at the agent');
    await tell('a', [{ type: 'tool', name: 'search' }]);
    waiting.get('a')?.();
    await slow;
    await told(stream, 'a');
    expect(stream.events[0]?.data).toMatchObject({ toolsCalled: ['search'], outcome: 'notEvaluated' });
  });
});

describe('of a ring that holds c to f of six requests', () => {
  test.each<[string, Record<string, string>, string]>([
    ['', {}, 'c d e f g'],
    ['?limit=2', {}, 'e f g'],
    ['?limit=99', {}, 'c d e f g'],
    ['?since=4', {}, 'e f g'],
    ['?since=d', {}, 'e f g'],
    ['?since=6', {}, 'g'],
    ['?since=1', {}, '!1 c d e f g'],
    ['?since=unknown', {}, '!? c d e f g'],
    ['?since=99', {}, '!? c d e f g'],
    ['?since=3&limit=1', {}, 'd !2 g'],
    ['', { 'last-event-id': '5' }, 'f g'],
    ['', { 'last-event-id': '' }, 'c d e f g'],
    ['?limit=1&since=3', { 'last-event-id': '4' }, 'e f g'],
    ['', { 'last-event-id': '1' }, 'b c d e f g'],
    ['', { 'last-event-id': '99' }, '!? a b c d e f g'],
  ])('a stream with %s %j tells', async (query, headers, words) => {
    await start({ AUDIT_RING_SIZE: '4' });
    await sendAll('abcdef');
    const stream = await open(`/audit/stream${query}`, headers);
    await sendAll('g');
    await told(stream, words);
  });
});

describe('a stream that cannot be', () => {
  test.each<[string, Record<string, string>]>([
    ['?limit=x', {}],
    ['?limit=0', {}],
    ['?limit=-1', {}],
    ['?limit=1&limit=2', {}],
    ['?since=', {}],
    ['?since=a%20b', {}],
    ['', { 'last-event-id': 'abc' }],
    ['', { 'last-event-id': '-1' }],
  ])('%s %j is refused', async (query, headers) => {
    await start();
    const response = await rig.control(`/audit/stream${query}`, { headers });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      400,
      'application/problem+json; charset=utf-8',
    ]);
  });

  test('another method is 405, HEAD has the head alone', async () => {
    await start();
    const post = await rig.control('/audit/stream', { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    const head = await rig.control('/platform/audit/stream', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
      200,
      'text/event-stream',
      '',
    ]);
  });

  test('more than 32 readers at a time are told so, and a place that becomes free is given again', async () => {
    await start();
    const streams = await Promise.all(Array.from({ length: 32 }, () => open()));
    const refused = await rig.control('/audit/stream');
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      503,
      '10',
      {
        type: 'about:blank',
        title: 'Service Unavailable',
        status: 503,
        detail: 'there are 32 readers of the stream already',
      },
    ]);
    streams[7]?.leave();
    let again: EventStream | null = null;
    for (const deadline = Date.now() + 30_000; again === null && Date.now() < deadline;)
      again = await open().catch(() => null);
    await sendAll('a');
    await told(again!, 'a');
    await told(streams[31]!, 'a');
  });
});

test('a stop tells readers what still completes, ends their streams, and waits a second for one that takes nothing', async () => {
  const clock = new ManualClock('2026-03-01T10:00:00Z');
  rig = await startSidecarRig({ manifest: MANIFEST, graceMs: 60_000, clock });
  const [stream, stuck] = [await open(), await open()];
  stuck.pause();
  let answer = (): void => undefined;
  rig.agent.otherwise = (request, response) => {
    if (request.url === '/slow') answer = () => void response.end('late');
    else response.end('ok');
  };
  for (let sent = 0; sent < 300; sent++) await send('x', `/${'x'.repeat(2_000)}`);
  // More than the buffers of the connection that nobody reads hold.
  for (let sent = 0; sent < 200; sent++)
    await tell('x', [{ type: 'tool', name: `${sent}`.padEnd(500, 'x') }]);
  const slow = send('last', '/slow');
  await until(() => rig.agent.asked['/slow'] === 1, 'the request at the agent');
  const closed = rig.sidecar.close();
  answer();
  await slow;
  expect(await stream.ended).toBe('ended');
  expect(stream.events.at(-1)?.data).toMatchObject({ requestId: 'last', statusCode: 200 });
  let grace = await clock.nextSleep();
  while (grace.ms !== 1_000) grace = await clock.nextSleep();
  grace.wake();
  await closed;
  stuck.resume();
  expect(await stuck.ended).toBe('cut');
});

test('an EventSource whose connection is cut again and again under load misses nothing and sees nothing twice', async () => {
  await start({ AUDIT_RING_SIZE: '5000' });
  using timers = holdTimers();
  const relay = await startTcpRelay({ host: '127.0.0.1', port: rig.sidecar.controlPort });
  const source = new EventSource(`http://127.0.0.1:${relay.port}/audit/stream`);
  const seen: string[] = [];
  const gaps: string[] = [];
  let connections = 0;
  source.addEventListener('open', () => (connections += 1));
  source.addEventListener('entry', (event) => void seen.push((event as unknown as { data: string }).data));
  source.addEventListener('gap', (event) => void gaps.push((event as unknown as { data: string }).data));
  await until(() => connections === 1, 'the stream');
  let isOver = false;
  const load = async (worker: number): Promise<number> => {
    let sent = 0;
    for (; !isOver && sent < 1_000; sent++) {
      await send(`${worker}-${sent}`);
      await sleep(5);
    }
    return sent;
  };
  const loads = Promise.all([0, 1, 2, 3].map(load));
  for (let cuts = 1; cuts <= 3; cuts++) {
    const before = seen.length;
    await until(() => seen.length > before + 20, 'entries');
    relay.cut();
    // The EventSource waits for a second before it connects again.
    while (connections === cuts) {
      await timers.pass(1_000);
      await aMoment();
    }
  }
  isOver = true;
  const sent = (await loads).reduce((sum, count) => sum + count, 0);
  expect(sent).toBeGreaterThan(60);
  await until(() => seen.length >= sent, 'the last entry');
  source.close();
  await relay.close();
  const seqs = seen.map((data) => (JSON.parse(data) as AuditEntry).seq);
  expect(seqs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: sent }, (_, index) => index + 1));
  expect(gaps).toEqual([]);
});
