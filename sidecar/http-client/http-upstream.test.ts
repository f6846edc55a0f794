import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import { eachRequest } from '../../testing/http/each-request.ts';
import { fullListener } from '../../testing/http/full-listener.ts';
import { generatedResponse, piecesOf } from '../../testing/http/generated-responses.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { stillness } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';
import { readWithOwnClient } from '../../testing/http/response-parsers.ts';
import { SEED } from '../../testing/random/seed.ts';
import type {
  Upstream,
  UpstreamFailure,
  UpstreamHandler,
  UpstreamRequest,
  UpstreamRequestHandle,
} from '../proxy/upstream.ts';
import { createHttpUpstream, type HttpUpstreamOptions } from './create-http-upstream.ts';

/** Records the response to one request. */
class Recorded implements UpstreamHandler {
  status = 0;
  fields: readonly string[] = [];
  body = '';
  trailers: readonly string[] = [];
  control: UpstreamRequestHandle | null = null;
  failure: UpstreamFailure | null = null;
  isOver = false;
  events = '';
  readonly over: Promise<void>;
  onData: (chunk: Buffer) => void = (chunk) => void (this.body += chunk.toString('latin1'));
  #end: () => void = () => undefined;

  constructor() {
    this.over = new Promise((resolve) => (this.#end = resolve));
  }

  onStart(control: UpstreamRequestHandle): void {
    this.control = control;
  }
  onInformation(): void {
    this.events += 'i';
  }
  onHead(status: number, _message: string, raw: readonly string[]): void {
    this.status = status;
    this.fields = raw;
    this.events += 'h';
  }
  onRead(): void {
    this.events += 'r';
  }
  onEnd(rawTrailers: readonly string[]): void {
    this.trailers = rawTrailers;
    this.#over('e');
  }
  onError(failure: UpstreamFailure): void {
    this.failure = failure;
    this.#over('x');
  }
  #over(event: string): void {
    this.events += event;
    this.isOver = true;
    this.#end();
  }
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

let server: Server;
let upstream: Upstream;
/** Connections of the agent, oldest first. */
let sockets: Socket[];
let onRequest: (socket: Socket, text: string) => void;
/** Starts another client. */
let connectAgain: () => void;
let directory: string | null = null;

async function start(options: Partial<HttpUpstreamOptions> = {}): Promise<void> {
  await new Promise<void>((resolve) => {
    if (options.socketPath === undefined) server.listen(0, '127.0.0.1', resolve);
    else server.listen(options.socketPath, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 80;
  const url = new URL(`http://127.0.0.1:${port}/base`);
  connectAgain = () => (upstream = createHttpUpstream({ url, timeoutMs: null, ...options }));
  connectAgain();
}

function send(request: Partial<UpstreamRequest> = {}, handler = new Recorded()): Recorded {
  upstream.send(
    {
      ...{ method: 'GET', path: '/', headers: ['Host', 'a'], body: null, chunked: false, trailers: () => [] },
      ...request,
    },
    handler,
  );
  return handler;
}

async function ask(request: Partial<UpstreamRequest> = {}): Promise<Recorded> {
  const handler = send(request);
  await handler.over;
  // The connection can be used from the next turn of the event loop on.
  await new Promise((resolve) => setImmediate(resolve));
  return handler;
}

beforeEach(() => {
  sockets = [];
  onRequest = (socket) => void socket.write(OK);
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    eachRequest(socket, (text) => onRequest(socket, text));
  });
});

afterEach(async () => {
  await upstream.close();
  for (const socket of sockets) socket.destroy();
  if (server.listening) await new Promise((resolve) => server.close(resolve));
  if (directory !== null) rmSync(directory, { recursive: true });
  directory = null;
});

test('reads generated responses in pieces as the parser does', async () => {
  const dice = diceOf(SEED);
  let current = generatedResponse(dice);
  let pieces: Buffer[] = [];
  onRequest = (socket) => {
    socket.setNoDelay();
    const own = pieces;
    const writeNext = (): void => {
      const piece = own.shift();
      if (piece === undefined) socket.end();
      else if (!socket.destroyed) socket.write(piece, () => setImmediate(writeNext));
    };
    writeNext();
  };
  await start();
  for (let i = 0; i < 300; i += 1) {
    current = generatedResponse(dice);
    const { method, wire } = current;
    pieces = piecesOf(dice, wire, false);
    const expected = readWithOwnClient(method, [Buffer.from(wire, 'latin1')]);
    // The agent closes every connection, so none is used again.
    await upstream.close();
    connectAgain();
    const got = await ask({ method });
    const isSame =
      got.events.endsWith(expected.isComplete ? 'e' : 'x') &&
      got.status === (expected.head?.status ?? 0) &&
      got.body === expected.body &&
      JSON.stringify(got.fields) === JSON.stringify(expected.head?.fields ?? []);
    if (!isSame) throw new Error(JSON.stringify({ wire, expected, got: { ...got, control: null } }));
    if (got.failure !== null) expect(got.failure.kind).toBe('broken');
  }
});

describe('a request', () => {
  const seen: string[] = [];
  beforeEach(() => {
    seen.length = 0;
    onRequest = (socket, text) => {
      seen.push(text);
      socket.write(OK);
    };
  });

  test('has the path of the URL before its own, its headers as given, and a Host if it has none', async () => {
    await start();
    await ask({ headers: ['Host', 'shop', 'X-A', 'caf\xe9', 'x-a', '2'] });
    await ask({ method: 'OPTIONS', path: '*', headers: [] });
    const { host } = new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}`);
    expect(seen).toEqual([
      'GET /base/ HTTP/1.1\r\nHost: shop\r\nX-A: caf\xe9\r\nx-a: 2\r\nConnection: keep-alive\r\n\r\n',
      `OPTIONS * HTTP/1.1\r\nHost: ${host}\r\nConnection: keep-alive\r\n\r\n`,
    ]);
  });

  test.each<[string, Partial<UpstreamRequest>, string]>([
    [
      'without a body has the length 0',
      { method: 'POST' },
      'Content-Length: 0\r\nConnection: keep-alive\r\n\r\n',
    ],
    [
      'without a length gets one',
      { method: 'POST', body: Buffer.from('hello') },
      'Content-Length: 5\r\nConnection: keep-alive\r\n\r\nhello',
    ],
    [
      'keeps its length',
      { method: 'PUT', headers: ['Host', 'a', 'content-length', '5'], body: Buffer.from('hello') },
      'content-length: 5\r\nConnection: keep-alive\r\n\r\nhello',
    ],
    [
      'in chunks has trailers',
      { method: 'POST', chunked: true, body: Buffer.from('hello'), trailers: () => ['X-Sum', '1'] },
      'Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n',
    ],
  ])('%s', async (_title, request, end) => {
    await start();
    expect((await ask(request)).body).toBe('ok');
    expect(seen[0]).toBe(`${request.method ?? ''} /base/ HTTP/1.1\r\nHost: a\r\n${end}`);
  });

  test.each([5, 15 * 1024, 15 * 1024 + 1, 100_000])(
    'of %d bytes arrives completely, in each form',
    async (size) => {
      await start();
      const body = Buffer.alloc(size, 'h\xe9llo', 'latin1');
      for (const chunked of [false, true]) {
        const stream = new PassThrough();
        stream.end(body);
        for (const each of [body, stream])
          await ask({
            method: 'POST',
            chunked,
            body: each,
            headers: chunked ? ['Host', 'a'] : ['Host', 'a', 'Content-Length', String(size)],
          });
      }
      const bodies = seen.map((text) => {
        const rest = text.slice(text.indexOf('\r\n\r\n') + 4);
        return /^transfer-encoding/im.test(text)
          ? rest.replace(/(?:^|\r\n)[\da-f]+\r\n/g, '').replace(/\r\n$/, '')
          : rest;
      });
      for (const each of bodies) expect(each === body.toString('latin1')).toBe(true);
      expect(bodies).toHaveLength(4);
    },
  );

  test.each<[string, Partial<UpstreamRequest>]>([
    ['a line break in a header', { headers: ['Host', 'a', 'X', '1\r\nY: 2'] }],
    ['a character above one byte', { headers: ['Host', 'a', 'X', '\u010a'] }],
    ['a blank in the path', { path: '/a b' }],
    [
      'a body longer than its length',
      { method: 'POST', headers: ['Host', 'a', 'Content-Length', '2'], body: Buffer.from('hello') },
    ],
    [
      'a body shorter than its length',
      { method: 'POST', headers: ['Host', 'a', 'Content-Length', '9'], body: Buffer.from('hello') },
    ],
  ])('with %s is not sent', async (_title, request) => {
    await start();
    expect((await ask(request)).failure?.kind).toBe('broken');
    expect(seen).toEqual([]);
  });

  test.each([4, 6])('whose stream of 5 bytes has the length %d breaks the connection', async (length) => {
    await start();
    const body = new PassThrough();
    body.end('hello');
    const headers = ['Host', 'a', 'Content-Length', String(length)];
    expect((await ask({ method: 'POST', headers, body })).failure?.kind).toBe('broken');
    await once(sockets[0]!, 'close');
    expect(seen.join('')).not.toContain('hello');
  });
});

describe('connections', () => {
  test('are used again, the last used one first', async () => {
    await start();
    const waiting = new Map<string, Socket>();
    onRequest = (socket, text) => void waiting.set(text.slice(0, 12), socket);
    const all = [1, 2, 3].map((name) => send({ path: `/${name}` }));
    await until(() => waiting.size === 3);
    for (const [i, handler] of all.entries()) {
      waiting.get(`GET /base/${i + 1} `)?.write(OK);
      await handler.over;
      await new Promise((resolve) => setImmediate(resolve));
    }
    const last = waiting.get('GET /base/3 ');
    onRequest = (socket) => void socket.write(socket === last ? OK : OK.replace('ok', 'no'));
    for (let i = 0; i < 20; i += 1) expect((await ask()).body).toBe('ok');
    expect(sockets).toHaveLength(3);
  });

  test.each([
    ['timeout=1', 1],
    ['timeout=2', 1],
    ['max=5, timeout=60', 0],
    ['max=5', 0],
  ])('with Keep-Alive: %s are closed immediately: %d', async (keepAlive, closed) => {
    await start();
    onRequest = (socket) => void socket.write(OK.replace('\r\n', `\r\nKeep-Alive: ${keepAlive}\r\n`));
    await ask();
    await ask();
    expect(sockets).toHaveLength(closed + 1);
  });

  test('are closed when they were idle for the time-out', async () => {
    await start({ idleMs: 30 });
    await ask();
    await once(sockets[0]!, 'close');
    await ask();
    expect(sockets).toHaveLength(2);
  });

  test('of which only a number may be open: other requests wait', async () => {
    await start({ maxConnections: 2 });
    const pending: Socket[] = [];
    onRequest = (socket) => void pending.push(socket);
    const all = Array.from({ length: 7 }, () => send());
    await until(() => pending.length === 2);
    // The aborted request makes room for the next one.
    all[0]?.control?.abort();
    pending.length = 0;
    for (let received = 0; received < 6; received += 1) {
      if (received === 0) sockets[1]?.write(OK);
      else {
        await until(() => pending.length > 0, `request ${received}`);
        expect(pending.length).toBeLessThanOrEqual(2);
        pending.shift()?.write(OK);
      }
    }
    await Promise.all(all.slice(1).map(({ over }) => over));
    expect(all.map(({ body }) => body)).toEqual(['', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok']);
    expect(sockets).toHaveLength(3);
  });

  test('stay open for the next request if a request was over before it was sent', async () => {
    await start({ maxConnections: 1 });
    const texts: string[] = [];
    onRequest = (socket, text) => {
      texts.push(text.split(' ')[1] ?? '');
      socket.write(OK);
    };
    const late = Array.from({ length: 3 }, () => {
      const handler = new Recorded();
      handler.onStart = (control) => control.abort();
      return handler;
    });
    const first = send({ path: '/first' });
    for (const handler of late) send({ path: '/late' }, handler);
    const last = send({ path: '/last' });
    await Promise.all([first.over, last.over]);
    expect([first.body, last.body]).toEqual(['ok', 'ok']);
    expect([texts, sockets.length]).toEqual([['/base/first', '/base/last'], 1]);
    // Neither on a new connection.
    await upstream.close();
    connectAgain();
    for (const handler of late) send({ path: '/late' }, handler);
    expect((await ask({ path: '/again' })).body).toBe('ok');
    expect(late.map(({ events }) => events)).toEqual(['', '', '']);
    expect(sockets).toHaveLength(2);
  });

  test('closed by the agent make a request stale only before the first byte of its response', async () => {
    await start();
    await ask();
    onRequest = (socket) => socket.destroy();
    expect((await ask()).failure?.kind).toBe('stale');
    // A new connection is not stale.
    expect((await ask()).failure?.kind).toBe('broken');
    onRequest = (socket) => void socket.write(OK);
    await ask();
    onRequest = (socket) => void socket.write('H', () => socket.destroy());
    expect((await ask()).failure?.kind).toBe('broken');
  });

  test('that are idle are closed when one of them is stale, so a repeated request gets a new one', async () => {
    await start();
    const waiting: Socket[] = [];
    onRequest = (socket) => void waiting.push(socket);
    const all = [1, 2, 3].map(() => send());
    await until(() => waiting.length === 3);
    for (const socket of waiting) socket.write(OK);
    await Promise.all(all.map(({ over }) => over));
    await new Promise((resolve) => setImmediate(resolve));
    // The agent closes each of the connections when a request arrives on it.
    onRequest = (socket) => void (waiting.includes(socket) ? socket.destroy() : socket.write(OK));
    expect((await ask()).failure?.kind).toBe('stale');
    expect(await ask()).toMatchObject({ body: 'ok', failure: null });
    expect(sockets).toHaveLength(4);
  });

  test('that are idle stay open when a request is aborted on a connection that was used before', async () => {
    await start();
    const waiting: Socket[] = [];
    onRequest = (socket) => void waiting.push(socket);
    const all = [send(), send()];
    await until(() => waiting.length === 2);
    for (const socket of waiting) socket.write(OK);
    await Promise.all(all.map(({ over }) => over));
    await new Promise((resolve) => setImmediate(resolve));
    const aborted = send();
    await until(() => waiting.length === 3);
    aborted.control?.abort();
    await once(waiting[2]!, 'close');
    onRequest = (socket) => void socket.write(OK);
    expect((await ask()).body).toBe('ok');
    expect(sockets).toHaveLength(2);
  });

  test('are not used again if the response came before the end of the request', async () => {
    await start();
    const body = new PassThrough();
    const handler = send({ method: 'POST', chunked: true, body });
    body.write('x');
    await until(() => sockets.length === 1);
    sockets[0]?.write(OK);
    await handler.over;
    await once(sockets[0]!, 'close');
    expect([handler.body, body.destroyed]).toEqual(['ok', true]);
  });

  test('that a request left before they were established serve the next one', async () => {
    await start({ timeoutMs: 5 });
    const first = send();
    // The thread is busy until the time-out is over.
    const untilMs = performance.now() + 20;
    while (performance.now() < untilMs);
    await first.over;
    expect(['timeout', undefined]).toContain(first.failure?.kind);
    await until(() => sockets.length === 1);
  });

  test('fail when the client is closed, and waiting requests too', async () => {
    await start({ maxConnections: 1 });
    onRequest = () => undefined;
    const all = [send(), send()];
    await until(() => sockets.length === 1);
    await upstream.close();
    await Promise.all(all.map(({ over }) => over));
    expect(all.map(({ failure }) => failure?.kind)).toEqual(['broken', 'broken']);
    expect((await ask()).failure?.kind).toBe('broken');
  });

  test('that are not accepted fail after exactly the connect time-out', async () => {
    await using full = await fullListener();
    using timers = holdTimers();
    await start();
    upstream = createHttpUpstream({
      url: new URL(`http://127.0.0.1:${full.port}`),
      timeoutMs: null,
      connectTimeoutMs: 500,
    });
    const handler = send();
    await timers.pass(499);
    expect(handler.isOver).toBe(false);
    await timers.pass(1);
    expect(handler.failure?.kind).toBe('timeout');
  });

  test('over a Unix socket', async () => {
    directory = mkdtempSync(join(tmpdir(), 'http-upstream-'));
    await start({ socketPath: join(directory, 'a.sock'), url: new URL('http://engine/v1') });
    const texts: string[] = [];
    onRequest = (socket, text) => {
      texts.push(text);
      socket.write(OK);
    };
    expect([(await ask({ headers: [] })).body, (await ask()).body]).toEqual(['ok', 'ok']);
    expect(texts[0]).toMatch(/^GET \/v1\/ HTTP\/1.1\r\nHost: engine\r\n/);
    expect(sockets).toHaveLength(1);
    server.close();
    sockets[0]?.destroy();
    await until(() => !server.listening);
    expect((await ask()).failure?.kind).toBe('stale');
    expect((await ask()).failure).toMatchObject({ kind: 'unreachable', error: { code: 'ENOENT' } });
  });
});

describe('pausing', () => {
  test('stops reading, and resuming reads the rest', async () => {
    const size = 64 * 1024 * 1024;
    let sent = 0;
    await start();
    onRequest = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
      const chunk = Buffer.alloc(64 * 1024);
      const more = (): void => {
        while (sent < size) {
          sent += chunk.length;
          if (!socket.write(chunk)) return void socket.once('drain', more);
        }
      };
      more();
    };
    const handler = new Recorded();
    let received = 0;
    handler.onData = (chunk) => {
      received += chunk.length;
      if (received === chunk.length) handler.control?.pause();
    };
    send({}, handler);
    await until(() => received > 0);
    await stillness(() => sent);
    expect(received).toBeLessThanOrEqual(64 * 1024);
    expect(sent).toBeLessThan(size);
    handler.control?.resume();
    await handler.over;
    expect([received, handler.failure]).toEqual([size, null]);
  });

  test('in the last read of a response does not stop the connection', async () => {
    await start();
    for (let i = 0; i < 5; i += 1) {
      const handler = new Recorded();
      const { onData } = handler;
      handler.onData = (chunk) => {
        handler.control?.pause();
        onData(chunk);
      };
      send({}, handler);
      await handler.over;
      await new Promise((resolve) => setImmediate(resolve));
      // Has no effect: the connection may serve another request by now.
      handler.control?.pause();
      handler.control?.abort();
    }
    expect(sockets).toHaveLength(1);
    sockets[0]?.destroy();
  });

  test('outside of a read stops reading at once', async () => {
    await start();
    onRequest = (socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\nfirst');
    const handler = send();
    await until(() => handler.body === 'first');
    handler.control?.pause();
    sockets[0]?.end('second');
    await stillness(() => handler.body.length);
    expect(handler.body).toBe('first');
    handler.control?.resume();
    await handler.over;
    expect([handler.body, handler.failure]).toEqual(['firstsecond', null]);
  });
});

describe('a handler that throws', () => {
  const throwing = (at: 'onStart' | 'onHead' | 'onData' | 'onEnd'): Recorded =>
    Object.assign(new Recorded(), {
      [at]: () => {
        throw new Error(`thrown in ${at}`);
      },
    });

  test.each([
    // The agent's connection is still valid if its response is complete, or no request was sent on it.
    ['onStart', 1],
    ['onHead', 2],
    ['onData', 2],
    ['onEnd', 1],
  ] as const)('in %s gets one error, and the next request is served', async (at, connections) => {
    await start();
    const handler = send({}, throwing(at));
    await handler.over;
    expect(handler.failure).toMatchObject({
      ...{ kind: 'broken', isInternal: true },
      error: { message: `thrown in ${at}` },
    });
    expect(handler.events.endsWith('x')).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await ask()).toMatchObject({ status: 200, body: 'ok', failure: null });
    expect(sockets).toHaveLength(connections);
  });

  test('in onStart on a connection that was used before gets one error', async () => {
    await start();
    await ask();
    const handler = send({}, throwing('onStart'));
    await handler.over;
    await new Promise((resolve) => setImmediate(resolve));
    expect(handler.failure).toMatchObject({ isInternal: true });
    expect(await ask()).toMatchObject({ status: 200, failure: null });
    expect(sockets).toHaveLength(1);
  });

  test('at the end of a response that ends with its connection gets one error', async () => {
    await start();
    onRequest = (socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nok');
    const handler = send({}, throwing('onEnd'));
    await handler.over;
    expect(handler.failure).toMatchObject({ isInternal: true, error: { message: 'thrown in onEnd' } });
    await stillness(() => handler.events.length);
    expect(handler.events).toBe('hrx');
  });
});

describe('an aborted request', () => {
  test.each(['onHead', 'onData', 'onStart'] as const)('gets no more events, after %s', async (at) => {
    await start();
    onRequest = (socket) =>
      void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n');
    const handler = new Recorded();
    const original = handler[at].bind(handler) as (...args: unknown[]) => void;
    let events = '';
    Object.assign(handler, {
      [at]: (...args: unknown[]) => {
        original(...args);
        handler.control?.abort();
        events = handler.events;
      },
    });
    send({}, handler);
    await until(() => handler.control !== null);
    if (at !== 'onStart') await until(() => events !== '');
    await stillness(() => handler.events.length);
    expect([handler.events, handler.isOver]).toEqual([events, false]);
  });
});
