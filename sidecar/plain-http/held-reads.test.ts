import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { aMoment } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';
import { LoadLimits } from '../proxy/load-limits.ts';
import { servePlainRequests } from './serve-plain-requests.ts';

/** Not a plain request, so Node.js gets the connection. */
const FIRST = 'GET /first HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n';
const get = (path: string): string => `GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const post = (path: string, body: string): string =>
  `POST /${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

let server: Server;
let load: LoadLimits;
let readOn: (socket: Socket) => void;
/** Requests that Node.js has parsed, on all connections. */
let parsed: string[];
/** Requests that may be parsed. */
let most: number;
/** Accepted connections. */
let sockets: Socket[];
const clients: Socket[] = [];

async function start(maxHeldReads = 1024 ** 2): Promise<void> {
  [parsed, most, sockets] = [[], Infinity, []];
  load = Object.assign(new LoadLimits(1024 ** 3), { maxHeldReads });
  server = createServer((request, response) => {
    parsed.push(request.url ?? '');
    void text(request).then((body) => response.end(`<${request.url} ${body}>`));
  });
  const served = servePlainRequests(server, {
    ...{ idleMs: 600_000, load },
    serve: () => undefined,
    mayParse: () => parsed.length < most,
  });
  ({ readOn } = served);
  served.onHandedOver.push((socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

interface Client {
  socket: Socket;
  bodies(): string[];
}

function send(bytes: string): Client {
  let received = '';
  const socket = connect({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
  socket.on('error', () => undefined).write(bytes);
  clients.push(socket);
  return { socket, bodies: () => received.match(/<[^>]*>/g) ?? [] };
}

function allow(count: number): void {
  most = count;
  for (const socket of sockets) readOn(socket);
}

test('parses as many heads of one read as it may, and the others later', async () => {
  await start();
  most = 3;
  const paths = Array.from({ length: 100 }, (_, index) => String(index));
  const client = send(FIRST + paths.map(get).join(''));
  await until(() => parsed.length === 3, 'the first requests');
  await aMoment();
  expect(parsed).toEqual(['/first', '/0', '/1']);
  allow(4);
  await until(() => parsed.length === 4, 'the next request');
  allow(Infinity);
  await until(() => client.bodies().length === 101, 'all responses');
  expect(parsed).toEqual(['/first', ...paths.map((path) => `/${path}`)]);
});

test('keeps bodies and the order of all bytes, also of those that look like the end of a head', async () => {
  await start();
  most = 1;
  const bodies = ['a\r\n\r\nb', '\r\n\r\n'.repeat(50), 'x'.repeat(5_000), '', `${get('in-the-body')}\r\n`];
  const client = send(FIRST + bodies.map((body, index) => post(String(index), body)).join(''));
  await until(() => parsed.length === 1, 'the first request');
  await aMoment();
  allow(Infinity);
  await until(() => client.bodies().length === bodies.length + 1, 'all responses');
  expect(client.bodies().slice(1)).toEqual(bodies.map((body, index) => `</${index} ${body}>`));
});

test('responds to what a client sent before it ended its side', async () => {
  await start();
  most = 1;
  const client = send(FIRST + get('1') + get('2'));
  client.socket.end();
  await until(() => parsed.length === 1, 'the first request');
  await aMoment();
  allow(Infinity);
  await until(() => client.bodies().length >= 2, 'the responses');
  expect(parsed).toEqual(['/first', '/1', '/2']);
});

test('does not read a connection that holds bytes', async () => {
  await start();
  most = 1;
  const request = get('x'.repeat(100));
  send(FIRST + request.repeat(40_000));
  for (let count = 1; count < 200; count++) {
    allow(count);
    await until(() => parsed.length === count, 'the next request');
    if (count % 50 === 1) await aMoment();
    // One read.
    const consumed = FIRST.length + (count - 1) * request.length;
    expect(sockets[0]?.bytesRead).toBeLessThanOrEqual(consumed + 64 * 1024);
  }
});

describe('above the limit of all held bytes', () => {
  /** Each connection holds a part of the second request, in a page of 4 KiB. */
  async function hold(count: number): Promise<Client> {
    most = count;
    const client = send(FIRST + get('x'.repeat(1_000)));
    await until(() => (sockets[count - 1]?.bytesRead ?? 0) > FIRST.length, 'the second request');
    await until(() => parsed.length === count, 'the first request');
    return client;
  }

  test('the connection that has held bytes for longest is closed, and the others are served', async () => {
    await start(2 * 4 * 1024);
    const [, second, third] = [await hold(1), await hold(2), await hold(3)];
    expect([load.cut, sockets.map(({ destroyed }) => destroyed)]).toEqual([1, [true, false, false]]);
    allow(Infinity);
    await until(() => second.bodies().length === 2 && third.bodies().length === 2, 'the other responses');
    expect(load.cut).toBe(1);
  });

  test('what closed connections held does not count', async () => {
    await start(2 * 4 * 1024);
    for (let count = 1; count <= 10; count++) {
      const { socket } = await hold(count);
      const accepted = sockets[count - 1]!;
      const closed = once(accepted, 'close');
      accepted.destroy();
      socket.destroy();
      await closed;
    }
    expect(load.cut).toBe(0);
  });
});
