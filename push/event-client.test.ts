import { execFile } from 'node:child_process';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { BehavioralEvent } from '../core/shapes/events.ts';
import { EVENT_BATCH_LIMITS, parseEventBatch, type EventBatch } from '../core/shapes/events.ts';
import { until } from '../testing/time/until.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { EventSender, type EventClient, type EventClientOptions } from './event-client.ts';

const servers = new TestServers();
let bodies: string[];
let connections: Set<unknown>;
let status: number;
let log: unknown[][];
let client: EventClient;
let port: number;

const logger = {
  warn: (...entry: unknown[]) => void log.push(entry),
  info: () => undefined,
  debug: () => undefined,
};

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

beforeEach(async () => {
  [bodies, connections, status, log] = [[], new Set(), 200, []];
  port = await servers.http((request, response) => {
    connections.add(request.socket);
    void read(request).then((body) => {
      bodies.push(`${request.method} ${request.url} ${request.headers['content-type']} ${body}`);
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"found":true}');
    });
  });
});
afterEach(async () => {
  await client.close(0);
  await servers.close();
});

function aClient(overrides: Partial<EventClientOptions> = {}): EventClient {
  client = new EventSender({
    url: new URL(`http://127.0.0.1:${port}`),
    agentName: 'shop',
    logger,
    timeoutMs: 60_000,
    ...overrides,
  });
  return client;
}

const tool = (name: string): BehavioralEvent => ({ type: 'tool', name });
const model = (promptTokens: number): BehavioralEvent => ({
  type: 'model',
  modelId: 'm',
  promptTokens,
  completionTokens: 0,
});
const batches = (): EventBatch[] =>
  bodies.map((line) => {
    const parsed = parseEventBatch(JSON.parse(line.replace(/^POST \/events application\/json /, '')));
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
    return parsed.value;
  });

describe('events', () => {
  test('of one event loop turn are sent in one batch per request', async () => {
    const { send, flush, counts } = bound(aClient());
    expect([send('a', [tool('x')]), send('b', [tool('y')]), send('a', [tool('z')])]).toEqual([
      true,
      true,
      true,
    ]);
    expect(counts()).toEqual({ delivered: 0, dropped: 0, queued: 3 });
    await flush();
    // The batches are sent in parallel, so their order may vary.
    expect(
      batches().toSorted((one, other) => String(one.requestId).localeCompare(String(other.requestId))),
    ).toEqual([
      { requestId: 'a', agentName: 'shop', events: [tool('x'), tool('z')] },
      { requestId: 'b', agentName: 'shop', events: [tool('y')] },
    ]);
    expect(counts()).toEqual({ delivered: 3, dropped: 0, queued: 0 });
  });

  test('are sent below the path of the URL', async () => {
    const { send, flush } = bound(aClient({ url: new URL(`http://127.0.0.1:${port}/platform`) }));
    send('a', [tool('x')]);
    await flush();
    expect(bodies[0]).toMatch(/^POST \/platform\/events /);
  });

  test('reuse connections', async () => {
    const { send, flush } = bound(aClient());
    for (let n = 0; n < 20; n += 1) {
      send(`r${n}`, [tool('x')]);
      await flush();
    }
    expect([bodies.length, connections.size]).toEqual([20, 1]);
  });

  test('beyond 500 are sent in several batches', async () => {
    const { send, flush, counts } = bound(aClient({ maxQueued: 2000 }));
    send(
      'a',
      Array.from({ length: 1201 }, (_, at) => tool(`t${at}`)),
    );
    await flush();
    expect(
      batches()
        .map(({ events }) => events.length)
        .sort(),
    ).toEqual([201, 500, 500].sort());
    expect(counts()).toMatchObject({ delivered: 1201, dropped: 0 });
  });

  test.each([
    ['of one byte each', 'x'],
    ['of three bytes each', '語'],
    ['that JSON escapes', '\u0001'],
  ])('with characters %s are sent in batches below 64 KiB', async (_name, character) => {
    const { send, flush, counts } = bound(aClient());
    send(
      'a',
      Array.from({ length: 400 }, () => tool(character.repeat(499) + '!')),
    );
    await flush();
    const sizes = bodies.map((line) => Buffer.byteLength(line.slice(line.indexOf('{'))));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(EVENT_BATCH_LIMITS.bytes);
    expect([batches().flatMap(({ events }) => events).length, counts().delivered]).toEqual([400, 400]);
  });

  test('of a request that the sidecar no longer has count as delivered', async () => {
    status = 202;
    const { send, flush, counts } = bound(aClient());
    send('a', [tool('x')]);
    await flush();
    expect([counts(), log]).toEqual([{ delivered: 1, dropped: 0, queued: 0 }, []]);
  });

  test('of type model are sent once more without the request id when the sidecar does not have the request', async () => {
    status = 202;
    const { send, flush, counts } = bound(aClient());
    send('a', [tool('x'), model(1), model(2)]);
    await flush();
    expect(batches()).toEqual([
      { requestId: 'a', agentName: 'shop', events: [tool('x'), model(1), model(2)] },
      { requestId: null, agentName: 'shop', events: [model(1), model(2)] },
    ]);
    expect(counts()).toEqual({ delivered: 3, dropped: 0, queued: 0 });
  });

  test('without a request id must be of type model', async () => {
    const { send, flush, counts } = bound(aClient());
    expect([send(null, [model(1)]), send(null, [model(2)]), send(null, [model(3), tool('x')])]).toEqual([
      true,
      true,
      false,
    ]);
    await flush();
    expect(batches()).toEqual([{ requestId: null, agentName: 'shop', events: [model(1), model(2)] }]);
    expect([counts(), log]).toEqual([
      { delivered: 2, dropped: 2, queued: 0 },
      [['invalid events dropped', { reason: 'events[1].type must be model if requestId is absent' }]],
    ]);
  });
});

describe('dropped events are counted and nothing throws', () => {
  const throwing = new Proxy([], {
    get: () => {
      throw new Error('trap');
    },
  });
  test.each<[string, unknown, unknown, number]>([
    ['with a missing request id', undefined, [tool('x')], 1],
    ['with an empty request id', '', [tool('x'), tool('y')], 2],
    ['with a request id that is too long', 'r'.repeat(129), [tool('x')], 1],
    ['with an unknown type', 'a', [tool('x'), { type: 'wish' }], 2],
    ['with an invalid member', 'a', [{ type: 'tool', name: 7 }], 1],
    ['without a list', 'a', undefined, 1],
    ['in a list that throws', 'a', throwing, 1],
  ])('%s', async (_name, requestId, events, dropped) => {
    const { send, flush, counts } = bound(aClient());
    const hostile = send as unknown as (requestId: unknown, events: unknown) => boolean;
    expect([hostile(requestId, events), hostile(requestId, events)]).toEqual([false, false]);
    await flush();
    expect([bodies, counts().dropped, log.map(([message]) => message)]).toEqual([
      [],
      2 * dropped,
      ['invalid events dropped'],
    ]);
  });

  test.each([400, 404, 500, 302])('after status %i', async (response) => {
    status = response;
    const { send, flush, counts } = bound(aClient());
    for (const id of ['a', 'b', 'c']) send(id, [tool('x')]);
    await flush();
    expect(counts()).toEqual({ delivered: 0, dropped: 3, queued: 0 });
    expect(log).toEqual([
      [
        'failed to deliver events, events dropped',
        { url: `http://127.0.0.1:${port}`, reason: `status ${response}` },
      ],
    ]);
  });

  test('and a status below 500 is logged once, a status from 500 once per outage', async () => {
    const { send, flush, counts } = bound(aClient());
    for (status of [400, 200, 400, 503, 400, 200, 503]) {
      send('a', [tool('x')]);
      await flush();
    }
    expect(counts()).toEqual({ delivered: 2, dropped: 5, queued: 0 });
    const url = `http://127.0.0.1:${port}`;
    expect(log).toEqual(
      [400, 503, 503].map((each) => [
        'failed to deliver events, events dropped',
        { url, reason: `status ${each}` },
      ]),
    );
  });

  test('with one warning per outage when the sidecar is unavailable', async () => {
    const gone = await servers.closedPort();
    const { send, flush, counts } = bound(aClient({ url: new URL(`http://127.0.0.1:${gone}`) }));
    for (let n = 0; n < 50; n += 1) send(`r${n}`, [tool('x')]);
    await flush();
    expect([counts(), log.length]).toEqual([{ delivered: 0, dropped: 50, queued: 0 }, 1]);
  });

  test('with a bounded queue and a time-out per batch when the sidecar hangs', async () => {
    const hung = await servers.tcp(() => undefined);
    const options = { url: new URL(`http://127.0.0.1:${hung}`), timeoutMs: 200, maxQueued: 10 };
    const { send, flush, counts } = bound(aClient(options));
    const taken = Array.from({ length: 100 }, (_, n) => send(`r${n}`, [tool('x')]));
    expect([taken.filter(Boolean).length, counts()]).toEqual([10, { delivered: 0, dropped: 90, queued: 10 }]);
    await flush();
    expect(counts()).toEqual({ delivered: 0, dropped: 100, queued: 0 });
  });

  test('and flush returns after its time-out', async () => {
    const hung = await servers.tcp(() => undefined);
    const { send, flush, counts } = bound(
      aClient({ url: new URL(`http://127.0.0.1:${hung}`), timeoutMs: 3_600_000 }),
    );
    send('a', [tool('x')]);
    await flush(100);
    expect(counts().queued).toBe(1);
  });

  test('and close drops the remaining and all later events', async () => {
    const hung = await servers.tcp(() => undefined);
    const { send, close, counts } = bound(aClient({ url: new URL(`http://127.0.0.1:${hung}`) }));
    for (let n = 0; n < 9; n += 1) send(`r${n}`, [tool('x')]);
    await close(50);
    await until(() => counts().queued === 0, 'the end of the batches in flight');
    expect([send('late', [tool('x')]), counts()]).toEqual([false, { delivered: 0, dropped: 10, queued: 0 }]);
  });
});

describe('the process', () => {
  const run = async (lines: string): Promise<string> => {
    const program = `
      import { EventSender } from ${JSON.stringify(join(import.meta.dirname, 'event-client.ts'))};
      const logger = { warn() {}, info() {}, debug() {} };
      const client = new EventSender({ url: new URL(process.argv[1]), logger, timeoutMs: 60_000 });
      client.send('a', [{ type: 'tool', name: 'x' }]);
      ${lines}`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', program, `http://127.0.0.1:${port}`],
      { timeout: 60_000 },
    );
    return stdout;
  };

  test('is not kept alive by events in flight to a hung sidecar', async () => {
    aClient();
    port = await servers.tcp(() => undefined);
    expect(await run(`setTimeout(() => console.log('end'), 200);`)).toBe('end\n');
  });

  test('is kept alive by flush until the events are delivered', async () => {
    aClient();
    expect(await run(`await client.flush(30_000); console.log(JSON.stringify(client.counts()));`)).toBe(
      '{"delivered":1,"dropped":0,"queued":0}\n',
    );
  });
});

/** The client's methods, bound to the client. */
function bound(of: EventClient): { [K in keyof EventClient]: EventClient[K] } {
  return {
    send: (requestId, events) => of.send(requestId, events),
    // A long time-out, so that a slow machine does not fail the test.
    flush: (ms) => of.flush(ms ?? 60_000),
    close: (ms) => of.close(ms),
    counts: () => of.counts(),
  };
}
