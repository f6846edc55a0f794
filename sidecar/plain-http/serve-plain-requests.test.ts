import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { LoadLimits } from '../proxy/load-limits.ts';
import { readInto } from '../../runtime/read-buffer.ts';
import { until } from '../../testing/time/until.ts';
import { servePlainRequests, type PlainExchange } from './serve-plain-requests.ts';

let server: Server;
let port: number;
/** Handles a plain request; default: responds with it. */
let serve: (exchange: PlainExchange) => void;
/** Longer than any test, unless a test changes them. */
let times: { idleMs: number; collectingMs: number };
/** Number of connections that node:http has got. */
let handedOver: number;
/** Memory limit of the process. */
let memoryBytes: number;
let load: LoadLimits;

const IGNORED = { hold: () => undefined, release: () => undefined };

function respond({ request, response, framed, body }: PlainExchange): void {
  const taken = body?.take(framed.bodyBytes, () => undefined, IGNORED);
  const text = Buffer.isBuffer(taken) ? taken.toString('latin1') : '';
  response.writeHead(200, 'OK', []);
  response.end(`<plain ${request.method} ${request.url} ${text}>`, 'latin1');
}

async function start(): Promise<void> {
  server = createServer((request, response) => {
    void buffer(request).then((body) =>
      response.end(`<node ${request.method} ${request.url} ${String(body)}>`),
    );
  });
  load = new LoadLimits(memoryBytes);
  const { onHandedOver } = servePlainRequests(server, {
    ...times,
    load,
    serve: (exchange) => serve(exchange),
    mayParse: () => true,
  });
  onHandedOver.push(() => (handedOver += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
}

beforeEach(() => {
  serve = respond;
  times = { idleMs: 600_000, collectingMs: 600_000 };
  handedOver = 0;
  memoryBytes = 1024 ** 3;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A client that collects what it receives. */
class Client {
  readonly socket: Socket;
  isClosed = false;
  #text = '';

  constructor() {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      .setEncoding('latin1')
      .setNoDelay();
    this.socket.on('data', (text: string) => (this.#text += text));
    this.socket
      .on('end', () => this.socket.end())
      .on('close', () => (this.isClosed = true))
      .on('error', () => undefined);
  }

  /** The bodies of the responses so far. */
  get bodies(): string[] {
    return this.#text.match(/<[^>]*>/g) ?? [];
  }

  /** Sends bytes, and waits until there are so many responses in all. */
  async send(bytes: string, responses: number): Promise<string[]> {
    this.socket.write(bytes);
    await until(() => this.bodies.length >= responses, `response ${responses}`);
    return this.bodies;
  }

  async closed(): Promise<void> {
    await until(() => this.isClosed, 'the end of the connection');
  }
}

/** A client and its connection in the server, whose idle time does not pass: the test emits its end. */
async function accepted(): Promise<{ client: Client; socket: Socket }> {
  const connection = once(server, 'connection');
  const client = new Client();
  const [socket] = (await connection) as [Socket];
  return { client, socket };
}

const get = (path: string, ...fields: string[]): string =>
  ['GET ' + path + ' HTTP/1.1', 'Host: a', ...fields, '', ''].join('\r\n');
const post = (path: string, body: string, ...fields: string[]): string =>
  [`POST ${path} HTTP/1.1`, 'Host: a', `Content-Length: ${body.length}`, ...fields, '', body].join('\r\n');

test('serves plain requests, one after the other, until one is not plain', async () => {
  await start();
  const client = new Client();
  await client.send(get('/1'), 1);
  await client.send(post('/2', 'hello'), 2);
  await client.send(get('/3', 'Connection: Keep-Alive'), 3);
  await client.send(get('/4', 'TE: trailers'), 4);
  expect(await client.send(get('/5'), 5)).toEqual([
    '<plain GET /1 >',
    '<plain POST /2 hello>',
    '<plain GET /3 >',
    '<node GET /4 >',
    '<node GET /5 >',
  ]);
});

test('serves plain requests if the socket cannot read into the buffer of the server', async () => {
  await start();
  const front = createTcpServer((socket) => {
    // Then the socket has a buffer already.
    readInto(socket, {
      buffer: Buffer.alloc(1024),
      callback: (count, bytes) => socket.push(Buffer.from(bytes.subarray(0, count))),
    });
    server.emit('connection', socket);
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
  ({ port } = front.address() as AddressInfo);
  const client = new Client();
  await client.send(post('/1', 'hello'), 1);
  const bodies = await client.send(get('/2', 'TE: trailers'), 2);
  client.socket.destroy();
  front.close();
  expect(bodies).toEqual(['<plain POST /1 hello>', '<node GET /2 >']);
});

describe('leaves to node:http', () => {
  test.each([
    ['pipelined requests', get('/a') + get('/b'), ['<node GET /a >', '<node GET /b >']],
    ['HTTP/1.0', 'GET /a HTTP/1.0\r\nHost: a\r\n\r\n', ['<node GET /a >']],
    ['Connection: close', get('/a', 'Connection: close'), ['<node GET /a >']],
    [
      'chunks',
      `${post('/a', '', 'X: 1').replace('Content-Length: 0', 'Transfer-Encoding: chunked')}1\r\nb\r\n0\r\n\r\n`,
      ['<node POST /a b>'],
    ],
    ['another method', get('/a').replace('GET', 'SEARCH'), ['<node SEARCH /a >']],
    ['an absolute target', get('http://a/b'), ['<node GET http://a/b >']],
    ['Expect', post('/a', 'b', 'Expect: 100-continue'), ['<node POST /a b>']],
    ['a long head', get('/a', `X: ${'x'.repeat(9_000)}`), ['<node GET /a >']],
    ['a name with _ instead of -', get('/a', 'Content_Length: 5'), ['<node GET /a >']],
  ])('%s', async (_title, bytes, bodies) => {
    await start();
    expect(await new Client().send(bytes, bodies.length)).toEqual(bodies);
  });

  test('a head in two parts', async () => {
    await start();
    const client = new Client();
    client.socket.write('GET /a HT');
    await until(() => handedOver === 1, 'the first part');
    expect(await client.send('TP/1.1\r\nHost: a\r\n\r\n', 1)).toEqual(['<node GET /a >']);
  });

  test('a body of which a part does not arrive soon', async () => {
    times.collectingMs = 1;
    await start();
    const client = new Client();
    client.socket.write(post('/a', 'hello').slice(0, -2));
    await until(() => handedOver === 1, 'the first part');
    expect(await client.send('lo', 1)).toEqual(['<node POST /a hello>']);
  });

  test('a request that is too large', async () => {
    await start();
    const body = 'b'.repeat(17_000);
    expect(await new Client().send(post('/a', body), 1)).toEqual([`<node POST /a ${body}>`]);
  });

  test('a body that is too large to be collected', async () => {
    await start();
    const client = new Client();
    const body = 'b'.repeat(20_000);
    client.socket.write(post('/a', body).slice(0, -1));
    await until(() => handedOver === 1, 'the first part');
    expect(await client.send('b', 1)).toEqual([`<node POST /a ${body}>`]);
  });
});

test('collects a body that follows its head', async () => {
  await start();
  const client = new Client();
  const wire = post('/a', 'hello');
  const connection = once(server, 'connection');
  client.socket.write(wire.slice(0, -5));
  const [socket] = (await connection) as [Socket];
  await until(() => socket.bytesRead === wire.length - 5, 'the head');
  expect(await client.send('hello', 1)).toEqual(['<plain POST /a hello>']);
  // A request after it is not a part of it.
  expect(await client.send(get('/b'), 2)).toEqual(['<plain POST /a hello>', '<plain GET /b >']);
});

test('drops the part of a request whose client ends the connection', async () => {
  await start();
  const client = new Client();
  client.socket.end(post('/a', 'hello').slice(0, -2));
  await client.closed();
  expect(client.bodies).toEqual([]);
  expect(handedOver).toBe(0);
});

test('passes on bytes that arrive before the response, in order', async () => {
  const served = Promise.withResolvers<PlainExchange>();
  serve = served.resolve;
  await start();
  const client = new Client();
  client.socket.write(get('/1'));
  const exchange = await served.promise;
  const { socket } = exchange.request;
  const before = socket.bytesRead;
  client.socket.write(get('/2'));
  await until(() => socket.bytesRead > before, 'the second request');
  client.socket.write(get('/3'));
  respond(exchange);
  await until(() => client.bodies.length === 3, 'all responses');
  expect(client.bodies).toEqual(['<plain GET /1 >', '<node GET /2 >', '<node GET /3 >']);
});

test('does not read without limit before the response', async () => {
  const served = Promise.withResolvers<PlainExchange>();
  serve = served.resolve;
  await start();
  const client = new Client();
  client.socket.write(get('/1'));
  const exchange = await served.promise;
  const { socket } = exchange.request;
  const bodies = Array.from({ length: 40 }, (_, index) => String(index).padEnd(500_000, 'x'));
  for (const body of bodies) client.socket.write(post('/a', body));
  await until(() => socket.isPaused(), 'the limit');
  expect(socket.bytesRead).toBeLessThan(1_000_000);
  respond(exchange);
  await until(() => client.bodies.length === 41, 'all responses');
  expect(client.bodies.slice(1)).toEqual(bodies.map((body) => `<node POST /a ${body}>`));
});

test('closes a connection with bytes before the response if there is no memory for them', async () => {
  memoryBytes = 1024 * 1024;
  const served = Promise.withResolvers<PlainExchange>();
  serve = served.resolve;
  await start();
  const client = new Client();
  client.socket.write(get('/1'));
  const { response } = await served.promise;
  const closed = once(response, 'close');
  client.socket.write(get('/2'));
  await closed;
  expect(load.refused).toBe(1);
  expect(response.writableFinished).toBe(false);
});

test('emits drain once the client has read', async () => {
  const served = Promise.withResolvers<PlainExchange>();
  serve = served.resolve;
  await start();
  const client = new Client();
  client.socket.pause().write(get('/1'));
  const { request, response } = await served.promise;
  response.writeHead(200, 'OK', []);
  // More than the kernel holds, in more parts than Node.js accepts listeners of one event without a warning.
  const written = Array.from({ length: 20 }, () => response.write(Buffer.alloc(1024 * 1024)));
  expect(written.at(-1)).toBe(false);
  expect(request.socket.listenerCount('drain')).toBeLessThan(3);
  const drained = once(response, 'drain');
  client.socket.resume();
  await drained;
  response.end();
});

test('emits close and no finish if the client disconnects before the response is sent', async () => {
  const events: string[] = [];
  const served = Promise.withResolvers<PlainExchange>();
  serve = served.resolve;
  await start();
  const client = new Client();
  client.socket.write(get('/1'));
  const { response } = await served.promise;
  response.on('finish', () => events.push('finish')).on('close', () => events.push('close'));
  client.socket.resetAndDestroy();
  await until(() => events.length > 0, 'an event');
  response.writeHead(200, 'OK', []);
  response.end('late', 'latin1');
  await new Promise(setImmediate);
  expect(events).toEqual(['close']);
  expect(response).toMatchObject({ destroyed: true, writableFinished: false });
});

test('ends the connection after a response that says so', async () => {
  serve = (exchange) => {
    exchange.response.shouldKeepAlive = false;
    respond(exchange);
  };
  await start();
  const client = new Client();
  await client.send(get('/1'), 1);
  await client.closed();
});

describe('closes', () => {
  test('a connection without a request after the idle time', async () => {
    times.idleMs = 30_000;
    await start();
    const [unused, used] = [await accepted(), await accepted()];
    await used.client.send(get('/1'), 1);
    // One second later, because a request may be on its way.
    expect([unused.socket.timeout, used.socket.timeout]).toEqual([30_000, 31_000]);
    for (const { client, socket } of [unused, used]) {
      socket.emit('timeout');
      await client.closed();
    }
  });

  test('not a connection that waits for its response', async () => {
    const served = Promise.withResolvers<PlainExchange>();
    serve = served.resolve;
    await start();
    const { client, socket } = await accepted();
    client.socket.write(get('/1'));
    const exchange = await served.promise;
    socket.emit('timeout');
    expect(socket.destroyed).toBe(false);
    respond(exchange);
    await until(() => client.bodies.length === 1, 'the response');
  });

  test('idle connections when the server closes idle ones', async () => {
    const served = Promise.withResolvers<PlainExchange>();
    await start();
    const [idle, busy, unused] = [new Client(), new Client(), new Client()];
    await idle.send(get('/1'), 1);
    serve = served.resolve;
    busy.socket.write(get('/1'));
    const exchange = await served.promise;
    server.closeIdleConnections();
    await idle.closed();
    expect([busy.isClosed, unused.isClosed]).toEqual([false, false]);
    respond(exchange);
    await until(() => busy.bodies.length === 1, 'the response');
  });

  test('all connections when the server closes all', async () => {
    const served = Promise.withResolvers<PlainExchange>();
    await start();
    serve = served.resolve;
    const clients = [new Client(), new Client()];
    clients[0]?.socket.write(get('/1'));
    await served.promise;
    server.closeAllConnections();
    for (const client of clients) await client.closed();
  });
});
