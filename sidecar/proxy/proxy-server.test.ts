import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { eachRequest } from '../../testing/http/each-request.ts';
import { fullListener } from '../../testing/http/full-listener.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { stillness } from '../../testing/time/moment.ts';
import {
  ask,
  askRaw,
  completedEntry,
  startProxyBefore,
  startRawRig,
  startRig,
  type ProxyRig,
} from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';
import { IDLE_MS } from './upstream.ts';

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('a request is proxied', () => {
  test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'M-SEARCH'])(
    'with method %s',
    async (method) => {
      rig = await startRig((request, response) => response.end(`${request.method} ${request.url}`));
      expect(await ask(rig.port, { method, path: '/a%20b?c=%2F&c' })).toMatchObject({
        status: 200,
        body: `${method} /a%20b?c=%2F&c`,
      });
    },
  );

  test.each([
    ['with a length', { 'content-length': '11' }],
    ['chunked', { 'transfer-encoding': 'chunked' }],
  ])('with a body, %s', async (_title, headers) => {
    rig = await startRig((request, response) => {
      void textOf(request).then((body) =>
        response.end(
          JSON.stringify([body, request.headers['content-length'], request.headers['transfer-encoding']]),
        ),
      );
    });
    const { body } = await ask(rig.port, { method: 'POST', headers, body: 'hello world' });
    expect(JSON.parse(body)).toEqual([
      'hello world',
      headers['content-length' as keyof typeof headers] ?? null,
      headers['transfer-encoding' as keyof typeof headers] ?? null,
    ]);
    expect(await completedEntry(rig)).toMatchObject({ bytesIn: 11 });
  });

  test('below the path of the upstream URL', async () => {
    rig = await startRig((request, response) => response.end(request.url), { prefix: '/base/' });
    expect((await ask(rig.port, { path: '/x?y' })).body).toBe('/base/x?y');
    expect(
      (await ask(rig.port, { path: '/x', method: 'POST', headers: { 'transfer-encoding': 'chunked' } })).body,
    ).toBe('/base/x');
  });

  test('and its response keeps status, reason phrase, header order and repeated headers', async () => {
    rig = await startRig((_request, response) => {
      response.sendDate = false;
      response.writeHead(418, 'Short and Stout', [
        'Set-Cookie',
        'a=1',
        'X-Mixed-Case',
        '1',
        'Set-Cookie',
        'b=2',
        'Content-Length',
        '3',
      ]);
      response.end('tea');
    });
    const result = await ask(rig.port, { headers: { 'x-request-id': 'r-1' } });
    expect(result).toMatchObject({ status: 418, message: 'Short and Stout', body: 'tea' });
    const [, ...rest] = result.rawHeaders.join('|').split('Set-Cookie|a=1|');
    expect(rest.join('')).toMatch(
      /^X-Mixed-Case\|1\|Set-Cookie\|b=2\|Content-Length\|3\|X-Request-Id\|r-1\|/,
    );
  });

  test('and header bytes above ASCII are unchanged', async () => {
    rig = await startRig((request, response) => {
      response.setHeader('X-Back', request.headers['x-there'] ?? '');
      response.end();
    });
    const text = await askRaw(
      rig.port,
      'GET / HTTP/1.1\r\nHost: a\r\nX-There: caf\xe9\r\nConnection: close\r\n\r\n',
    );
    expect(text).toContain('X-Back: caf\xe9\r\n');
  });

  test('with OPTIONS *', async () => {
    rig = await startRig((request, response) => response.end(`${request.method} ${request.url}`));
    expect((await ask(rig.port, { method: 'OPTIONS', path: '*' })).body).toBe('OPTIONS *');
  });

  test.each(['GET /', 'OPTIONS *'])(
    'in HTTP/1.0 without a Host, and the agent receives its own address as Host: %s',
    async (line) => {
      rig = await startRig((request, response) => response.end(request.headers.host));
      const { port } = rig.agent.address() as AddressInfo;
      expect(await askRaw(rig.port, `${line} HTTP/1.0\r\n\r\n`)).toMatch(
        new RegExp(`\r\n127.0.0.1:${port}$`),
      );
    },
  );

  test('in absolute form, normalised to origin form', async () => {
    rig = await startRig((request, response) => response.end(`${request.url} ${request.headers.host}`));
    const text = await askRaw(
      rig.port,
      'GET http://other.test/p?q HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(text).toContain('/p?q other.test');
  });

  test('over one agent connection for a hundred sequential requests', async () => {
    let connections = 0;
    rig = await startRig((_request, response) => response.end('ok'), { idleMs: 3_600_000 });
    (rig.agent as Server).keepAliveTimeout = 0;
    rig.agent.on('connection', () => (connections += 1));
    for (let i = 0; i < 100; i++) await ask(rig.port);
    expect(connections).toBe(1);
  });
});

describe('the request id', () => {
  test.each([
    ['of visible ASCII is kept', 'a~!{}', 'a~!{}'],
    ['of 128 characters is kept', 'x'.repeat(128), 'x'.repeat(128)],
    ['of 129 characters is replaced', 'x'.repeat(129), null],
    ['with a space is replaced', 'a b', null],
    ['sent twice is replaced', ['a', 'b'], null],
  ])('%s', async (_title, sent, kept) => {
    rig = await startRig((request, response) => response.end(request.headers['x-request-id']));
    const { body, headers } = await ask(rig.port, { headers: { 'x-request-id': sent } });
    const uuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;
    expect(body).toEqual(kept ?? expect.stringMatching(uuid));
    expect(headers['x-request-id']).toBe(body);
    expect((await completedEntry(rig)).requestId).toBe(body);
  });

  test('that another entry of the ring has is replaced, so that events cannot reach the wrong entry', async () => {
    const seen: unknown[] = [];
    rig = await startRig(
      (request, response) => {
        seen.push(request.headers['x-request-id']);
        response.end();
      },
      { capacity: 2 },
    );
    const send = async (id: string): Promise<unknown> =>
      (await ask(rig.port, { headers: { 'x-request-id': id } })).headers['x-request-id'];
    const returned = [await send('a'), await send('a'), await send('b'), await send('c'), await send('a')];
    const other = expect.not.stringMatching(/^a$/);
    // The ring has two entries and has already dropped the first 'a'.
    expect(returned).toEqual(['a', other, 'b', 'c', 'a']);
    expect(seen).toEqual(returned);
    expect(rig.audit.ring.newest().map(({ requestId }) => requestId)).toEqual(returned.slice(-2));
  });
});

describe('responses without a body', () => {
  test.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('%s %d', async (method, status) => {
    rig = await startRig((_request, response) => {
      response.writeHead(status, status === 204 ? {} : { 'Content-Length': '5', ETag: '"x"' });
      response.end(method === 'GET' && status === 200 ? 'hello' : undefined);
    });
    const connection = await askRaw(
      rig.port,
      `${method} / HTTP/1.1\r\nHost: a\r\n\r\n${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    expect(connection.match(new RegExp(`HTTP/1.1 ${status} `, 'g'))).toHaveLength(2);
    expect(connection).not.toContain('Transfer-Encoding');
    expect(connection.split('\r\n\r\n')).toHaveLength(3);
  });
});

describe('interim responses and trailers', () => {
  test('passes early hints on without the product’s own headers', async () => {
    rig = await startRig((_request, response) => {
      response.writeEarlyHints({
        link: '</s.css>; rel=preload',
        'x-platform-tools-called': 'x',
        'x-more': '1',
      });
      response.end('done');
    });
    const text = await askRaw(rig.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const [hints] = text.split('\r\n\r\n');
    expect(hints).toMatch(/^HTTP\/1.1 103 Early Hints\r\nLink: <\/s.css>; rel=preload\r\nx-more: 1/i);
    expect(text).not.toMatch(/x-platform/i);
  });

  test('sends no early hints to HTTP/1.0 clients', async () => {
    rig = await startRig((_request, response) => {
      response.writeEarlyHints({ link: '</s.css>; rel=preload' });
      response.end('done');
    });
    expect(await askRaw(rig.port, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
  });

  test('passes response trailers on', async () => {
    rig = await startRig((_request, response) => {
      response.writeHead(200, { Trailer: 'X-Sum, X-Platform-Tools-Called' });
      response.write('body');
      response.addTrailers({ 'X-Sum': '42', 'X-Platform-Tools-Called': 'pay' });
      response.end();
    });
    const result = await ask(rig.port, { headers: { te: 'trailers' } });
    expect(result.trailers).toEqual({ 'x-sum': '42' });
    expect(result.headers).toMatchObject({ trailer: 'X-Sum' });
    expect(await completedEntry(rig)).toMatchObject({ toolsCalled: ['pay'] });
  });

  test('passes request trailers on, except the product’s own and fields that must precede the body', async () => {
    let seen: unknown;
    rig = await startRig((request, response) => {
      request.resume().on('end', () => {
        seen = request.trailers;
        response.end();
      });
    });
    await askRaw(
      rig.port,
      'POST / HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 42\r\nX-Platform-User-Confirmed: true\r\nHost: b\r\nAuthorization: x\r\nCookie: x\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n',
    );
    expect(seen).toEqual({ 'x-sum': '42' });
  });

  test('responds to 100-continue itself and does not pass it on to the agent', async () => {
    let expectation: string | undefined = 'not received';
    rig = await startRig((request, response) => {
      expectation = request.headers.expect;
      void textOf(request).then((body) => response.end(body));
    });
    const request = httpRequest({
      port: rig.port,
      method: 'POST',
      headers: { expect: '100-continue', 'content-length': '4' },
    });
    request.flushHeaders();
    await once(request, 'continue');
    request.end('body');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(await textOf(response)).toBe('body');
    expect(expectation).toBeUndefined();
  });
});

describe('streams', () => {
  test('the head and each event of a stream arrive before the next event is sent', async () => {
    let send: (text: string) => void = () => undefined;
    let end: () => void = () => undefined;
    rig = await startRig((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      send = (text) => void response.write(text);
      end = () => void response.end();
    });
    const request = httpRequest({ port: rig.port }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    let sent = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    for (const event of ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n']) {
      send(event);
      sent += event;
      await until(() => text === sent, event);
    }
    end();
    await once(response, 'end');
  });

  test('a chunked request reaches the agent before its body, and data flows in both directions', async () => {
    rig = await startRig((request, response) => {
      response.writeHead(200);
      response.write('ready;');
      request.pipe(response);
    });
    const request = httpRequest({
      port: rig.port,
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked' },
    });
    request.flushHeaders();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    await until(() => text === 'ready;', 'the first bytes');
    request.write('ping');
    await until(() => text === 'ready;ping', 'the echo');
    request.end();
    await once(response, 'end');
  });

  test('a client that does not read slows the agent down', async () => {
    let sent = 0;
    rig = await startRig((_request, response) => {
      const chunk = Buffer.alloc(65_536, 'x');
      const more = (): void => {
        while (sent < 256 * 1024 * 1024) {
          sent += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', more);
        }
      };
      more();
    });
    const socket = connect(rig.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'readable');
    await stillness(() => sent);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    socket.destroy();
  });

  test.each([
    ['with a length', 'Content-Length: 268435456'],
    ['chunked', 'Transfer-Encoding: chunked'],
  ])('an agent that does not read slows the client down, %s', async (_title, header) => {
    rig = await startRig((request) => {
      request.pause();
    });
    const socket = connect(rig.port, '127.0.0.1');
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`);
    const chunk = header.startsWith('T')
      ? Buffer.from(`10000\r\n${'x'.repeat(65_536)}\r\n`)
      : Buffer.alloc(65_536);
    let sent = 0;
    let isFull = false;
    while (!isFull && sent < 256 * 1024 * 1024) {
      sent += chunk.length;
      if (socket.write(chunk)) continue;
      isFull = await Promise.race([
        once(socket, 'drain').then(() => false),
        stillness(() => socket.bytesWritten - socket.writableLength).then(() => true),
      ]);
    }
    expect(sent).toBeLessThan(32 * 1024 * 1024);
    socket.destroy();
  });

  test('a large body arrives completely in both directions', async () => {
    rig = await startRig((request, response) => {
      request.pipe(response);
    });
    const body = Buffer.alloc(5_000_000, '0123456789');
    const result = await ask(rig.port, {
      method: 'POST',
      headers: { 'content-length': String(body.length) },
      body,
    });
    expect(result.body).toBe(body.toString());
    expect(await completedEntry(rig)).toMatchObject({ bytesIn: 5_000_000, bytesOut: 5_000_000 });
  });
});

describe('disconnects', () => {
  test('a client that disconnects ends all its pipelined requests', async () => {
    let open = 0;
    rig = await startRig((request, response) => {
      open += 1;
      request.resume();
      response.on('close', () => (open -= 1));
    });
    const socket = connect(rig.port, '127.0.0.1');
    for (let i = 0; i < 12; i++) socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => open === 12, 'twelve open requests');
    socket.destroy();
    await until(() => open === 0, 'the end of all requests');
    await until(() => rig.audit.outcomes.notEvaluated === 12, 'twelve completed entries');
  });

  test('a response before the end of the request reaches the client, and the rest of the request is dropped', async () => {
    // The proxy waits for the rest of the request for a limited time.
    using _timers = holdTimers();
    // The agent keeps reading, otherwise its response may be lost.
    rig = await startRawRig((socket) => {
      socket.resume().once('data', () => {
        socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large');
      });
    });
    const socket = connect(rig.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n${'x'.repeat(100_000)}`);
    await until(() => text.includes('too large'));
    // The connection is still usable: after the rest of the body it accepts the next request.
    socket.write('x'.repeat(3_900_000));
    socket.write('POST /next HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx');
    await once(socket, 'close');
    expect(text.match(/HTTP\/1.1 413/g)).toHaveLength(2);
  });
});

describe('an agent without a response', () => {
  const problem = { type: 'about:blank', requestId: 'r-1' };

  test('that is down leads to 502 and to one warning for the whole outage', async () => {
    rig = await startRig((_request, response) => response.end('ok'), { agentGoesDown: true });
    const { port } = rig.agent.address() as { port: number };
    await new Promise((resolve) => rig.agent.close(resolve));
    const result = await ask(rig.port, { headers: { 'x-request-id': 'r-1' } });
    await ask(rig.port);
    expect(result.status).toBe(502);
    expect(result.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'x-request-id': 'r-1',
    });
    expect(JSON.parse(result.body)).toEqual({
      ...problem,
      title: 'Bad Gateway',
      status: 502,
      detail: 'the agent is unreachable',
    });
    expect(JSON.stringify(result)).not.toContain(String(port));
    expect(await completedEntry(rig)).toMatchObject({ statusCode: 502, outcome: 'notEvaluated' });
    expect(rig.log.map(([level, message]) => [level, message])).toEqual([
      ['warn', 'upstream request failed'],
      ['debug', 'upstream request failed again'],
    ]);
    await new Promise<void>((resolve) => rig.agent.listen(port, '127.0.0.1', resolve));
    expect((await ask(rig.port)).body).toBe('ok');
    expect(rig.log.at(-1)).toEqual(['info', 'upstream requests succeed again', { failures: 2 }]);
  });

  test.each([
    ['closes immediately', (socket: Socket) => eachRequest(socket, () => socket.destroy())],
    ['speaks another protocol', (socket: Socket) => eachRequest(socket, () => socket.end('SSH-2.0-x\r\n'))],
    [
      'switches protocols without an upgrade request',
      (socket: Socket) =>
        eachRequest(socket, () =>
          socket.end('HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n'),
        ),
    ],
  ])('that %s leads to 502', async (_title, onSocket) => {
    rig = await startRawRig(onSocket);
    for (const headers of [{ 'content-length': '1' }, { 'transfer-encoding': 'chunked' }]) {
      const result = await ask(rig.port, { method: 'POST', headers, body: 'x' });
      expect(result.status).toBe(502);
      expect(JSON.parse(result.body)).toMatchObject({
        detail: 'the agent sent an incomplete or invalid HTTP response',
      });
    }
  });

  test('that sends any byte in a header leads to 200 or 502 and never harms the proxy', async () => {
    const places = ['X: a?b', 'X?Y: a', 'Connection: close\r\nX-?: ?'];
    const responseTo = (request: string): string => {
      const [, code = '', place = ''] = /^\w+ \/(\d+)\/(\d+) /.exec(request) ?? [];
      const byte = String.fromCharCode(Number(code));
      const line = places[Number(place)]?.replaceAll('?', byte);
      return `HTTP/1.1 200 A${Number(code) % 2 ? byte : ''}B\r\n${line}\r\nContent-Length: 0\r\n\r\n`;
    };
    rig = await startRawRig((socket) =>
      eachRequest(socket, (request) => socket.end(responseTo(request), 'latin1')),
    );
    const outcomes = new Set<number>();
    const codes = Array.from({ length: 256 }, (_, code) => code);
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
      for (const place of places.keys())
        for (let from = 0; from < 256; from += 64) {
          const method = 'transfer-encoding' in headers ? 'POST' : 'GET';
          const pending = codes
            .slice(from, from + 64)
            .map((code) => ask(rig.port, { method, headers, path: `/${code}/${place}` }));
          for (const { status } of await Promise.all(pending)) outcomes.add(status);
        }
    expect([...outcomes].sort()).toEqual([200, 502]);
  });

  test.each([
    ['without a body', 'GET', {}],
    ['with a length', 'POST', { 'content-length': '1' }],
    ['chunked', 'POST', { 'transfer-encoding': 'chunked' }],
    ['to a WebSocket', 'GET', { connection: 'upgrade', upgrade: 'websocket' }],
  ])('that hangs leads to 504 after exactly the time-out, %s', async (_title, method, headers) => {
    using timers = holdTimers();
    let isReceived = false;
    const onReceived = (): void => void (isReceived = true);
    rig = await startRig((request) => void request.resume().on('end', onReceived), { timeoutMs: 1_234 });
    rig.agent.on('upgrade', (_request, socket: Socket) => {
      onReceived();
      socket
        .on('error', onReceived)
        .on('end', () => socket.destroy())
        .resume();
    });
    let hasResponse = false;
    const pending = ask(rig.port, { method, headers, ...(method === 'POST' && { body: 'x' }) }).finally(
      () => (hasResponse = true),
    );
    await until(() => isReceived, 'the request at the agent');
    await timers.pass(1_233);
    expect(hasResponse).toBe(false);
    await timers.pass(1);
    const { status, body } = await pending;
    const detail = 'the agent did not respond in time';
    expect([status, JSON.parse(body)]).toEqual([504, expect.objectContaining({ detail })]);
  });

  test('that accepts no connection leads to 504 after exactly the time-out', async () => {
    await using full = await fullListener();
    using timers = holdTimers();
    const before = await startProxyBefore(new URL(`http://127.0.0.1:${full.port}`), { timeoutMs: 1_234 });
    rig = { ...before, agent: createServer() };
    for (const body of ['', 'x'.repeat(100_000)]) {
      let hasResponse = false;
      const pending = ask(rig.port, {
        method: 'POST',
        headers: { 'content-length': String(body.length) },
        body,
      }).finally(() => (hasResponse = true));
      const arrived = rig.audit.ring.last + 1;
      await until(() => rig.audit.ring.last === arrived, 'the request at the proxy');
      await timers.pass(1_233);
      expect(hasResponse).toBe(false);
      await timers.pass(1);
      expect((await pending).status).toBe(504);
    }
  });

  test('that stops reading a long body leads to 504 if there is a time-out, with a length or without', async () => {
    rig = await startRig(() => undefined, { timeoutMs: 300 });
    const size = 50_000_000;
    for (const headers of [{ 'content-length': String(size) }, { 'transfer-encoding': 'chunked' }]) {
      const request = httpRequest({ port: rig.port, method: 'POST', headers });
      request.on('error', () => undefined).end(Buffer.alloc(size));
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(504);
      response.resume();
      request.destroy();
    }
  });

  test('that pauses in the middle of its response causes no time-out', async () => {
    using timers = holdTimers();
    let finish = (): void => undefined;
    rig = await startRig(
      (_request, response) => {
        response.write('first,');
        finish = () => void response.end('second');
      },
      { timeoutMs: 200 },
    );
    const request = httpRequest({ port: rig.port, agent: false }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const text = textOf(response);
    await timers.pass(60_000);
    finish();
    expect(await text).toBe('first,second');
  });
});

// Many servers close idle connections after five seconds, Node's own servers included.
test('an idle connection is closed before the agent would close it', () => {
  expect(IDLE_MS).toBeGreaterThan(2_500);
  expect(IDLE_MS).toBeLessThan(4_900);
});

describe('a kept-alive connection that the agent has just closed', () => {
  const NEVER_IDLE = { idleMs: 3_600_000 };
  /** Responds to the first request on each connection and resets the connection on the second. */
  const oncePerConnection = (seen: string[]) => (socket: Socket) => {
    let count = 0;
    eachRequest(socket, (request) => {
      count += 1;
      seen.push(request.split(' ')[0] ?? '');
      if (count > 1) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  };

  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])(
    'does not fail %s without a body',
    async (method) => {
      const seen: string[] = [];
      rig = await startRawRig(oncePerConnection(seen), NEVER_IDLE);
      expect((await ask(rig.port)).status).toBe(200);
      expect((await ask(rig.port, { method })).status).toBe(200);
      expect(seen).toEqual(['GET', method, method]);
      await until(() => rig.audit.outcomes.notEvaluated === 2);
      // `retried` explains why the agent received three requests but the ring has two entries.
      expect(rig.audit.ring.newest().map(({ retried }) => retried)).toEqual([undefined, true]);
    },
  );

  test.each([
    ['POST', {}],
    ['PUT', { body: 'x', headers: { 'content-length': '1' } }],
  ])('fails %s %j, which must not be sent twice', async (method, rest) => {
    const seen: string[] = [];
    rig = await startRawRig(oncePerConnection(seen), NEVER_IDLE);
    await ask(rig.port);
    expect((await ask(rig.port, { method, ...rest })).status).toBe(502);
    expect(seen).toEqual(['GET', method]);
    expect(await completedEntry(rig)).toMatchObject({ upstreamFailure: 'stale' });
  });

  test('is retried only once', async () => {
    let count = 0;
    rig = await startRawRig((socket) => {
      eachRequest(socket, () => {
        count += 1;
        if (count === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        else socket.resetAndDestroy();
      });
    }, NEVER_IDLE);
    await ask(rig.port);
    expect((await ask(rig.port)).status).toBe(502);
    expect(count).toBe(3);
  });

  test('is not retried if the connection was new', async () => {
    let count = 0;
    rig = await startRawRig((socket) => {
      eachRequest(socket, () => {
        count += 1;
        socket.resetAndDestroy();
      });
    });
    expect((await ask(rig.port)).status).toBe(502);
    expect(count).toBe(1);
  });
});

describe('ambiguous bytes never reach the agent', () => {
  const post = (head: string, body = '') => `POST / HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n${body}`;
  test.each([
    ['two Host headers', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['HTTP/0.9', 'GET /\r\n\r\n', 505],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['a length and chunks', post('Content-Length: 5\r\nTransfer-Encoding: chunked', '0\r\n\r\n'), 400],
    ['two lengths', post('Content-Length: 5\r\nContent-Length: 6', 'hello!'), 400],
    ['a signed length', post('Content-Length: +5', 'hello'), 400],
    ['a coding that hides chunked', post('Transfer-Encoding: xchunked', '0\r\n\r\n'), 501],
    ['another coding before chunked', post('Transfer-Encoding: gzip, chunked', '0\r\n\r\n'), 501],
    ['chunks in HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['a folded line', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n', 400],
    ['a bare line feed', 'GET / HTTP/1.1\nHost: a\n\n', 400],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost : a\r\n\r\n', 400],
    ['an invalid chunk size', post('Transfer-Encoding: chunked', 'zz\r\n'), 400],
    ['headers over the limit', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['an invalid path', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ])('%s', async (_title, bytes, status) => {
    let seen = 0;
    rig = await startRig((request, response) => {
      if (request.url !== '/' || request.method !== 'POST') seen += 1;
      request.resume().on('end', () => response.end());
    });
    const text = await askRaw(rig.port, bytes);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(text.match(/HTTP.1.1 \d/g)).toHaveLength(1);
    expect(seen).toBe(0);
  });

  test('an invalid body during a streamed response truncates the response without adding to it', async () => {
    rig = await startRig((_request, response) => void response.write('streaming'));
    const socket = connect(rig.port, '127.0.0.1');
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n');
    await until(() => text.includes('streaming'));
    socket.write('zz\r\n');
    await once(socket, 'close');
    expect(text.match(/HTTP.1.1 \d/g)).toHaveLength(1);
    expect(text).not.toContain('0\r\n\r\n');
  });

  test('a smuggled second request is not parsed as a request', async () => {
    const seen: string[] = [];
    rig = await startRig((request, response) => {
      seen.push(request.url ?? '');
      request.resume().on('end', () => response.end());
    });
    await askRaw(
      rig.port,
      'POST /a HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\nContent-Length: 36\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    );
    expect(seen.filter((url) => url === '/smuggled')).toEqual([]);
  });
});

test('rejects CONNECT with 405 and the allowed methods', async () => {
  rig = await startRig((_request, response) => response.end());
  const text = await askRaw(rig.port, 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n');
  expect(text).toMatch(/^HTTP\/1.1 405 Method Not Allowed\r\n/);
  expect(text).toContain('Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE\r\n');
  expect(text).toContain('application/problem+json');
  expect(rig.audit.ring.last).toBe(0);
});

describe('the ring entry of a request', () => {
  test('has all fields', async () => {
    rig = await startRig((_request, response) => {
      response.writeHead(201, {
        'x-platform-guardrails-invoked': 'pii-detector, topic-filter',
        'x-platform-tools-called': '',
        'x-platform-user-confirmed': 'true',
      });
      response.end('made');
    });
    const result = await ask(rig.port, {
      method: 'POST',
      path: '/v1/orders?key=secret',
      headers: { 'x-request-id': 'r-1' },
    });
    expect(Object.keys(result.headers).filter((name) => name.startsWith('x-platform'))).toEqual([]);
    expect(await completedEntry(rig)).toEqual({
      seq: 1,
      requestId: 'r-1',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      method: 'POST',
      path: '/v1/orders',
      statusCode: 201,
      upstreamStatusCode: 201,
      durationMs: expect.any(Number),
      bytesIn: 0,
      bytesOut: 4,
      outcome: 'notEvaluated',
      guardrailsInvoked: ['pii-detector', 'topic-filter'],
      toolsCalled: [],
      userConfirmed: true,
    });
  });

  test('has the query only if configured', async () => {
    rig = await startRig((_request, response) => response.end(), { withQuery: true });
    await ask(rig.port, { path: '/a?b=1' });
    expect((await completedEntry(rig)).path).toBe('/a?b=1');
  });

  test('has the tokens from JSON and from the last event of a stream', async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
    rig = await startRig((request, response) => {
      if (request.url === '/v1/chat/completions') {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ object: 'chat.completion', model: 'm-1', choices: [], usage }));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"id":"c","object":"chat.completion.chunk","model":"m-1","choices":[]}\n\nda');
      setImmediate(() =>
        response.end(
          `ta: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm-1', choices: [], usage })}\n\ndata: [DONE]\n\n`,
        ),
      );
    });
    for (const path of ['/v1/chat/completions', '/stream']) {
      await ask(rig.port, { method: 'POST', path, body: '{}' });
      expect((await completedEntry(rig)).usage).toEqual({
        modelId: 'm-1',
        promptTokens: 7,
        completionTokens: 5,
        totalTokens: 12,
      });
    }
    expect(rig.audit.tokens).toEqual({ prompt: 14, completion: 10 });
    expect(rig.audit.totalsToday({ input: 1, output: 2 })).toEqual({ tokensToday: 24, costTodayUsd: 34e-6 });
    expect(rig.audit.window).toMatchObject({ totalTokens: 24, totalCalls: 2 });
  });

  test.each<[string, string, (body: string) => Buffer]>([
    ['gzip', 'application/json', gzipSync],
    ['br', 'application/json', brotliCompressSync],
    ['zstd', 'text/plain', zstdCompressSync],
  ])(
    'has the usage of a response in %s and %s, whose bytes are passed unchanged',
    async (coding, contentType, compress) => {
      const usage = { prompt_tokens: 7, completion_tokens: 5 };
      const body = compress(JSON.stringify({ object: 'chat.completion', model: 'm-1', choices: [], usage }));
      rig = await startRig((_request, response) => {
        response.writeHead(200, { 'content-type': contentType, 'content-encoding': coding });
        response.write(body.subarray(0, 9));
        setImmediate(() => response.end(body.subarray(9)));
      });
      const result = await askRaw(rig.port, 'POST /v1/chat HTTP/1.0\r\nContent-Length: 0\r\n\r\n');
      expect(result).toContain(`content-encoding: ${coding}\r\n`);
      expect(result.endsWith(`\r\n\r\n${body.toString('latin1')}`)).toBe(true);
      expect(await completedEntry(rig)).toMatchObject({
        bytesOut: body.length,
        usage: { modelId: 'm-1', totalTokens: 12 },
      });
    },
  );
});

describe('closing', () => {
  test('lets a request in flight finish and accepts no new request', async () => {
    let isReceived = false;
    let finish: () => void = () => undefined;
    rig = await startRig((_request, response) => {
      isReceived = true;
      finish = () => void response.end('late');
    });
    const result = ask(rig.port);
    await until(() => isReceived, 'the request at the agent');
    const closing = rig.proxy.close(60_000);
    await expect(ask(rig.port)).rejects.toThrow('ECONNREFUSED');
    finish();
    expect((await result).body).toBe('late');
    await closing;
  });

  test('does not wait for idle connections', async () => {
    rig = await startRig((_request, response) => response.end('ok'));
    const socket = connect(rig.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    // Longer than the time-out of a test.
    await rig.proxy.close(3_600_000);
    socket.destroy();
  });

  test('cuts unfinished requests after the grace period', async () => {
    rig = await startRig(() => undefined);
    const rejection = expect(ask(rig.port)).rejects.toThrow('socket hang up');
    await until(() => rig.audit.ring.last === 1);
    await rig.proxy.close(100);
    await rejection;
    expect(await completedEntry(rig)).toMatchObject({ aborted: true });
  });
});
