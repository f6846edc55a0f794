import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { EventSource } from 'undici';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { openEventStream, type EventStream } from '../../testing/http/event-stream.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { startTcpRelay } from '../../testing/http/tcp-relay.ts';

const DESTRUCTIVE = 'destructive_tool_without_confirmation';
const MANIFEST = manifestText({
  tools: [{ name: 'pay', description: 'Pays.', annotations: { destructiveHint: true } }],
});

let rig: SidecarRig;
afterEach(() => rig.close());

/** A sidecar whose agent responds immediately on /now. On other paths the test triggers the response by id. */
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
const sendAll = async (ids: string, inFlight = 0): Promise<void> => {
  for (const id of ids) await send(id);
  await rig.settled(inFlight);
};
const open = (path = '/audit/stream', headers: Record<string, string> = {}): Promise<EventStream> =>
  openEventStream(`http://127.0.0.1:${rig.sidecar.controlPort}${path}`, headers);
/** `a` for an entry, `~a` for an update, `!2` for a gap. */
const messagesOf = (stream: EventStream): string =>
  stream.events
    .map(({ event, data }) => {
      if (event === 'gap') return `!${(data as { lost: number | null }).lost ?? '?'}`;
      return (event === 'update' ? '~' : '') + (data as AuditEntry).requestId;
    })
    .join(' ');
const received = (stream: EventStream, messages: string): Promise<void> =>
  until(() => messagesOf(stream) === messages, `"${messages}" instead of "${messagesOf(stream)}"`);
const postEvents = (requestId: string, events: object[]): Promise<Response> =>
  rig.control('/events', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ requestId, events }),
  });

describe('the stream', () => {
  test.each(['/audit/stream', '/platform/audit/stream'])(
    '%s sends the complete entries, then each entry when it completes',
    async (path) => {
      await start();
      await sendAll('ab');
      const stream = await open(path);
      await received(stream, 'a b');
      await sendAll('c');
      await received(stream, 'a b c');
      const [, , entry] = await rig.report<AuditEntry[]>('/audit');
      expect(stream.events[2]).toEqual({ event: 'entry', id: '3', data: entry });
      expect(stream.text()).toMatch(/^retry: 1000\n\nevent: entry\nid: 1\ndata: \{"seq":1,.*\}\n\nevent: /);
    },
  );

  test('has response headers for the content type, against buffering, and with the range of the ring', async () => {
    await start({ AUDIT_RING_SIZE: '2' });
    await sendAll('abc');
    expect((await open()).headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
      connection: 'close',
      'x-platform-audit-first': '2',
      'x-platform-audit-last': '3',
      'x-platform-audit-dropped': '1',
    });
  });

  test('sends requests that were in flight at its start when they complete, also with a ring of one', async () => {
    const waiting = await start({ AUDIT_RING_SIZE: '1' });
    const slow = [send('a', '/a'), send('b', '/b')];
    await until(() => waiting.size === 2, 'the requests at the agent');
    const stream = await open();
    await sendAll('c', 2);
    waiting.get('b')?.();
    await slow[1];
    await received(stream, 'c b');
    waiting.get('a')?.();
    await slow[0];
    await received(stream, 'c b a');
    expect(stream.events.map(({ id }) => id)).toHaveLength(3);
  });

  test('sends a late event and its late denial as an update', async () => {
    await start();
    const stream = await open();
    await sendAll('a');
    await received(stream, 'a');
    await postEvents('a', [{ type: 'tool', name: 'pay' }]);
    await received(stream, 'a ~a');
    expect(stream.events[1]).toMatchObject({
      event: 'update',
      data: { toolsCalled: ['pay'], policyViolations: [DESTRUCTIVE], lateDenial: true },
    });
    expect(stream.events[1]).not.toHaveProperty('id');
    await postEvents('a', []);
    await postEvents('unknown', [{ type: 'tool', name: 'pay' }]);
    await sendAll('b');
    await received(stream, 'a ~a b');
  });

  test('sends an early event with the entry when the entry completes', async () => {
    const waiting = await start();
    const stream = await open();
    const slow = send('a', '/a');
    await until(() => waiting.size === 1, 'the request at the agent');
    await postEvents('a', [{ type: 'tool', name: 'search' }]);
    waiting.get('a')?.();
    await slow;
    await received(stream, 'a');
    expect(stream.events[0]?.data).toMatchObject({ toolsCalled: ['search'], outcome: 'notEvaluated' });
  });
});

describe('with a ring that contains the last four of six requests', () => {
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
  ])('a stream with %s %j sends %s', async (query, headers, messages) => {
    await start({ AUDIT_RING_SIZE: '4' });
    await sendAll('abcdef');
    const stream = await open(`/audit/stream${query}`, headers);
    await sendAll('g');
    await received(stream, messages);
  });
});

describe('an invalid stream request', () => {
  test.each<[string, Record<string, string>]>([
    ['?limit=x', {}],
    ['?limit=0', {}],
    ['?limit=-1', {}],
    ['?limit=1&limit=2', {}],
    ['?since=', {}],
    ['?since=a%20b', {}],
    ['', { 'last-event-id': 'abc' }],
    ['', { 'last-event-id': '-1' }],
  ])('%s %j is rejected', async (query, headers) => {
    await start();
    const response = await rig.control(`/audit/stream${query}`, { headers });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      400,
      'application/problem+json; charset=utf-8',
    ]);
  });

  test('with another method is rejected with 405, and HEAD returns only the head', async () => {
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

  test('over the limit of 32 readers is rejected, and a freed slot can be used again', async () => {
    await start();
    const streams = await Promise.all(Array.from({ length: 32 }, () => open()));
    const rejected = await rig.control('/audit/stream');
    expect([rejected.status, rejected.headers.get('retry-after'), await rejected.json()]).toEqual([
      503,
      '10',
      {
        type: 'about:blank',
        title: 'Service Unavailable',
        status: 503,
        detail: 'the limit of 32 stream readers is reached',
      },
    ]);
    streams[7]?.leave();
    let again: EventStream | null = null;
    for (const deadline = Date.now() + 30_000; again === null && Date.now() < deadline;)
      again = await open().catch(() => null);
    await sendAll('a');
    await received(again!, 'a');
    await received(streams[31]!, 'a');
  });
});

test('a shutdown sends the last entries, ends the streams, and waits one second for a reader that does not read', async () => {
  const clock = new ManualClock('2026-03-01T10:00:00Z');
  rig = await startSidecarRig({ manifest: MANIFEST, graceMs: 60_000, clock });
  const [stream, stuck] = [await open(), await open()];
  stuck.pause();
  let respond = (): void => undefined;
  rig.agent.otherwise = (request, response) => {
    if (request.url === '/slow') respond = () => void response.end('late');
    else response.end('ok');
  };
  for (let sent = 0; sent < 300; sent++) await send('x', `/${'x'.repeat(2_000)}`);
  // More than fits into the buffers of the connection that is not read.
  for (let sent = 0; sent < 200; sent++)
    await postEvents('x', [{ type: 'tool', name: `${sent}`.padEnd(500, 'x') }]);
  const slow = send('last', '/slow');
  await until(() => rig.agent.asked['/slow'] === 1, 'the request at the agent');
  const closed = rig.sidecar.close();
  respond();
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

test('an EventSource whose connection is cut repeatedly under load receives every entry exactly once', async () => {
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
