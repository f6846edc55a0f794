import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Heartbeat } from '../core/shapes/heartbeat.ts';
import { aHeartbeat } from '../testing/fleet/heartbeat.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { HeartbeatSender, type HeartbeatSenderOptions } from './heartbeat-sender.ts';
import { until } from '../testing/time/until.ts';

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}
interface Response {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** A control plane on a real socket. It sends the listed responses, then 204; `hang` sends no response. */
class FakeControlPlane {
  readonly received: Received[] = [];
  responses: (Response | 'hang' | 'cut')[] = [];
  server!: Server;

  async start(): Promise<void> {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.received.push({
          path: request.url ?? '',
          headers: request.headers,
          body: Buffer.concat(chunks).toString(),
        });
        const reply = this.responses.shift() ?? { status: 204 };
        if (reply === 'hang') return;
        if (reply === 'cut') return void request.socket.destroy();
        response.writeHead(reply.status, reply.headers);
        response.end(reply.body === undefined ? undefined : JSON.stringify(reply.body));
      });
    });
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get url(): URL {
    return new URL(`http://127.0.0.1:${(this.server.address() as AddressInfo).port}`);
  }

  get seqs(): (number | null)[] {
    return this.received.map(({ body }) => (JSON.parse(body) as Heartbeat).seq);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const KEY = 'very-secret-key';
const NOW = '2026-03-01T10:00:00.000Z';
let plane: FakeControlPlane;
let clock: ManualClock;
let sender: HeartbeatSender | undefined;
let log: [string, string, unknown][];

beforeEach(async () => {
  plane = new FakeControlPlane();
  await plane.start();
  clock = new ManualClock(NOW);
  log = [];
});
afterEach(async () => {
  plane.responses = [];
  await sender?.close();
  sender = undefined;
  await plane.stop();
});

function aSender(overrides: Partial<HeartbeatSenderOptions> = {}): HeartbeatSender {
  const entry =
    (level: string) =>
    (message: string, fields: unknown = {}): void =>
      void log.push([level, message, fields]);
  sender = new HeartbeatSender({
    url: plane.url,
    credentials: { kind: 'key', key: { reveal: () => KEY } },
    intervalSeconds: 30,
    compose: (beat) => Promise.resolve(aHeartbeat(beat)),
    logger: { warn: entry('warn'), info: entry('info'), debug: entry('debug') },
    clock,
    random: () => 0,
    ...overrides,
  });
  return sender;
}

/** Lets one pause of the loop pass; returns its length in milliseconds. */
async function passPause(): Promise<number> {
  const gap = await clock.nextSleep();
  gap.wake();
  const rest = await clock.nextSleep();
  rest.wake();
  return gap.ms + rest.ms;
}

const settled = (count: number): Promise<void> => until(() => plane.received.length >= count);

describe('the heartbeat sender', () => {
  test('sends the first heartbeat immediately, then one per interval, each with the next seq', async () => {
    const running = aSender();
    running.start();
    running.start();
    expect([await passPause(), await passPause()]).toEqual([30_000, 30_000]);
    await settled(3);
    expect(plane.seqs).toEqual([1, 2, 3]);
    expect(plane.received[0]).toMatchObject({
      path: '/api/v1/heartbeat',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    });
    expect(JSON.parse(plane.received[2]?.body ?? '')).toEqual(
      JSON.parse(JSON.stringify(dropNulls(aHeartbeat({ seq: 3 })))),
    );
  });

  test('keeps the path of the base URL', async () => {
    aSender({ url: new URL('/platform', plane.url) }).start();
    await settled(1);
    expect(plane.received[0]?.path).toBe('/platform/api/v1/heartbeat');
  });

  test('passes the reply on and uses its interval', async () => {
    plane.responses = [
      { status: 200, body: { intervalSeconds: 60, othersToday: { tokens: 5, costUsd: 0 } } },
    ];
    const replies: unknown[] = [];
    aSender({ onReply: (reply, sent) => replies.push([reply, sent.seq]) }).start();
    expect(await passPause()).toBe(60_000);
    await settled(2);
    await until(() => replies.length === 2);
    expect(replies).toEqual([
      [{ intervalSeconds: 60, othersToday: { tokens: 5, costUsd: 0 } }, 1],
      [{}, 2],
    ]);
    expect(JSON.parse(plane.received[1]?.body ?? '')).toMatchObject({ intervalSeconds: 60 });
  });

  test('repeats a seq with back-off until it is accepted, and logs one warning and one recovery', async () => {
    plane.responses = [{ status: 500, body: { detail: 'broken' } }, 'cut', { status: 401 }];
    const running = aSender();
    running.start();
    const pauses: number[] = [];
    for (const _ of [1, 2, 3]) pauses.push(await passPause());
    await settled(4);
    await clock.nextSleep();
    expect(pauses).toEqual([1_000, 2_000, 4_000]);
    expect(plane.seqs).toEqual([1, 1, 1, 1]);
    expect(log.filter(([level]) => level !== 'debug')).toEqual([
      [
        'warn',
        'heartbeat not delivered',
        { kind: 'refused', status: 500, detail: 'broken', url: plane.url.origin, failures: 1 },
      ],
      ['info', 'heartbeats delivered again', { after: 3 }],
    ]);
    expect(running.failures()).toBe(0);
  });

  test('waits for Retry-After without counting a failure', async () => {
    plane.responses = [{ status: 429, headers: { 'retry-after': '7' } }];
    const running = aSender();
    running.start();
    const pause = await clock.nextSleep();
    running.trigger();
    expect([pause.ms, running.failures(), plane.received.length]).toEqual([7_000, 0, 1]);
    pause.wake();
    await settled(2);
    expect(plane.seqs).toEqual([1, 1]);
  });

  test('logs a failure when the control plane does not respond in time', async () => {
    plane.responses = ['hang'];
    aSender({ timeoutMs: 50 }).start();
    await clock.nextSleep();
    expect(log).toEqual([
      [
        'warn',
        'heartbeat not delivered',
        expect.objectContaining({
          kind: 'failed',
          reason: expect.stringMatching(/^no response within 50 ms/),
        }),
      ],
    ]);
  });

  test('sends early after a trigger, and once after several triggers', async () => {
    const running = aSender();
    running.start();
    const gap = await clock.nextSleep();
    running.trigger();
    running.trigger();
    gap.wake();
    await settled(2);
    const second = await clock.nextSleep();
    second.wake();
    await clock.nextSleep();
    running.trigger();
    await settled(3);
    expect([gap.ms, plane.seqs]).toEqual([1_000, [1, 2, 3]]);
  });

  test('continues after compose rejects', async () => {
    let calls = 0;
    aSender({
      compose: (beat) =>
        calls++ === 0 ? Promise.reject(new Error('no facts')) : Promise.resolve(aHeartbeat(beat)),
    }).start();
    await passPause();
    await settled(1);
    expect(log[0]).toEqual([
      'warn',
      'heartbeat not delivered',
      { kind: 'failed', reason: 'no facts', url: plane.url.origin, failures: 1 },
    ]);
  });

  test('sends exactly one final heartbeat on close', async () => {
    const running = aSender();
    running.start();
    await settled(1);
    await clock.nextSleep();
    await Promise.all([running.close(), running.close()]);
    running.start();
    running.trigger();
    expect(plane.seqs).toEqual([1, 2]);
  });

  test('closes within about a second when the control plane does not respond', async () => {
    const running = aSender();
    running.start();
    await settled(1);
    await clock.nextSleep();
    plane.responses = ['hang'];
    let isClosed = false;
    const closed = running.close().then(() => (isClosed = true));
    const limit = await clock.nextSleep();
    await settled(2);
    expect([limit.ms, isClosed]).toEqual([1_000, false]);
    limit.wake();
    await closed;
  });

  test('sends nothing on close before start', async () => {
    await aSender().close();
    expect(plane.received).toEqual([]);
  });

  test('stops without a final heartbeat when its signal aborts', async () => {
    const stop = new AbortController();
    const running = aSender({ signal: stop.signal });
    running.start();
    await settled(1);
    await clock.nextSleep();
    stop.abort();
    await running.close();
    expect(plane.seqs).toEqual([1]);
  });
});

describe('credentials of the sender', () => {
  test('are read from the token file for every push', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'sender-'));
    const path = join(folder, 'token');
    await writeFile(path, 'one\n');
    aSender({ credentials: { kind: 'file', path } }).start();
    await settled(1);
    await writeFile(path, 'two\n');
    await passPause();
    await settled(2);
    expect(plane.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer one', 'Bearer two']);
    await rm(folder, { recursive: true });
  });

  test('with a missing CA file fail the push with the reason', async () => {
    aSender({ caFile: '/nonexistent/ca.pem' }).start();
    await clock.nextSleep();
    expect(plane.received).toEqual([]);
    expect(log[0]?.[2]).toMatchObject({
      kind: 'failed',
      reason:
        "the CA file /nonexistent/ca.pem cannot be read (ENOENT: no such file or directory, open '/nonexistent/ca.pem')",
    });
  });

  test('with a registration token are renewed at two thirds of its lifetime', async () => {
    const issued = Date.parse(NOW) / 1_000;
    const old = jwt({ iat: issued, exp: issued + 60 });
    const fresh = jwt({ iat: issued + 45, exp: issued + 10_000 });
    aSender({
      credentials: {
        kind: 'key',
        key: { reveal: () => old },
      },
      intervalSeconds: 45,
    }).start();
    await settled(1);
    plane.responses = [{ status: 200, body: { apiKey: fresh, expiresAt: '2026-04-01T00:00:00Z' } }];
    await passPause();
    await settled(3);
    expect(plane.received.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ['/api/v1/heartbeat', `Bearer ${old}`],
      ['/api/v1/token', `Bearer ${old}`],
      ['/api/v1/heartbeat', `Bearer ${fresh}`],
    ]);
  });

  test.each([
    ['that the server echoes', KEY, { status: 400, body: { detail: `bad key ${KEY}` } }],
    ['that is not a valid header value', `${KEY}\n`, { status: 204 }],
  ])('with a key %s do not appear in the log', async (_name, key, response) => {
    plane.responses = [response];
    aSender({ credentials: { kind: 'key', key: { reveal: () => key } } }).start();
    await clock.nextSleep();
    expect(log).toHaveLength(1);
    expect(JSON.stringify(log)).not.toContain(KEY);
  });
});

function jwt(claims: unknown): string {
  return `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
}

function dropNulls(heartbeat: Heartbeat): unknown {
  return Object.fromEntries(Object.entries(heartbeat).filter(([, value]) => value !== null));
}
