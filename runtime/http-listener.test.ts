import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, createServer, type Server as TcpServer, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from '@jest/globals';
import { stillness } from '../testing/time/moment.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { until } from '../testing/time/until.ts';
import { issueCa } from '../webhook/certificates/issue.ts';
import { bind, listen, type Listener } from './http-listener.ts';

/** More than the buffers of a connection without a reader hold. */
const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x');
/** In milliseconds of the manual clock. */
const GRACE_MS = 25_000;

let listener: Listener;
let clock: ManualClock;
let client: Socket;
afterEach(() => void client.destroy());

async function start(handler: RequestListener): Promise<void> {
  clock = new ManualClock('2026-03-01T10:00:00Z');
  listener = await listen({ handler, port: 0, host: '127.0.0.1', clock });
  client = connect(listener.port, '127.0.0.1').on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
}

test('delivers the complete response to a slow client while the server stops', async () => {
  let isKnown = false;
  await start((_request, response) => {
    response.end(LARGE);
    isKnown = true;
  });
  await until(() => isKnown, 'the request');
  const { server } = listener;
  const closeIdle = server.closeIdleConnections.bind(server);
  let attempts = 0;
  server.closeIdleConnections = () => {
    closeIdle();
    attempts += 1;
  };
  const closed = listener.close(GRACE_MS);
  await until(() => attempts === 3, 'some attempts to close idle connections');
  let bytes = 0;
  let head = '';
  client.on('data', (chunk) => {
    if (!head.includes('\r\n\r\n')) head += chunk.toString('latin1');
    bytes += chunk.length;
  });
  await once(client, 'close');
  expect(bytes - head.indexOf('\r\n\r\n') - 4).toBe(LARGE.length);
  await closed;
});

test('neither an idle connection nor a connection whose response is sent meanwhile delays the stop', async () => {
  let respond: (() => void) | undefined;
  await start((request, response) => {
    if (request.url === '/now') response.end('ok');
    else respond = () => void response.end('late');
  });
  const agent = new Agent({ keepAlive: true });
  const [response] = (await once(get({ port: listener.port, path: '/now', agent }), 'response')) as [
    IncomingMessage,
  ];
  await once(response.resume(), 'end');
  let text = '';
  client.on('data', (chunk) => (text += chunk.toString()));
  await until(() => respond !== undefined, 'the request');
  const closed = listener.close(GRACE_MS);
  respond?.();
  await closed;
  await until(() => client.closed, 'the end of the connection');
  agent.destroy();
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*late$/);
});

test.each(['HTTP', 'HTTPS'])(
  'an unused connection of a client that connects in advance does not delay the stop (%s)',
  async (protocol) => {
    clock = new ManualClock('2026-03-01T10:00:00Z');
    const tls = protocol === 'HTTPS' ? await issueCa({ now: new Date(), days: 1 }) : undefined;
    const handler: RequestListener = (_request, response) => response.end('ok');
    listener = await listen({ handler, port: 0, host: '127.0.0.1', clock, ...(tls && { tls }) });
    const to = { port: listener.port, host: '127.0.0.1', rejectUnauthorized: false };
    const open = async () => {
      const socket = tls ? connectTls(to) : connect(to);
      await once(
        socket.on('error', () => undefined),
        tls ? 'secureConnect' : 'connect',
      );
      return socket;
    };
    let count = 0;
    listener.server.on(tls ? 'secureConnection' : 'connection', () => (count += 1));
    const [unused, begun] = [await open(), await open()];
    client = begun;
    await until(() => count === 2, 'the connections');
    const closed = listener.close(GRACE_MS);
    // For one second both connections may be about to send. Only one of them sends.
    begun.write('GET / HTTP/1.1\r\nHost: a\r\n');
    await stillness(() => (unused.closed ? 1 : 0));
    expect(unused.closed).toBe(false);
    clock.advance(1_000);
    unused.resume();
    await until(() => unused.closed, 'the end of the unused connection');
    begun.write('\r\n');
    const [chunk] = (await once(begun, 'data')) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 200 OK/);
    await closed;
  },
);

test('cuts requests that are unanswered after the grace period', async () => {
  let hasArrived = false;
  await start(() => (hasArrived = true));
  client.resume();
  await until(() => hasArrived, 'the request');
  const closed = listener.close(GRACE_MS);
  const grace = await clock.nextSleep();
  expect([grace.ms, client.closed]).toEqual([GRACE_MS, false]);
  grace.wake();
  await closed;
  await until(() => client.closed, 'the end of the connection');
});

describe('a server that binds all addresses', () => {
  /** A server for which the kernel reports `code` on IPv6. */
  function failingOnIpv6(code: string): TcpServer {
    const server = createServer();
    const listenTo = server.listen.bind(server) as (options: object, done: () => void) => TcpServer;
    const fail = (): void => void server.emit('error', Object.assign(new Error(code), { code }));
    server.listen = ((options: { host: string }, done: () => void) => {
      if (options.host !== '::') return listenTo(options, done);
      process.nextTick(fail);
      return server;
    }) as typeof server.listen;
    return server;
  }

  test.each(['127.0.0.1', '::1'])('accepts connections on %s', async (host) => {
    const server = createServer((socket) => void socket.end('hello'));
    client = connect(await bind(server, { port: 0, host: '::' }), host);
    expect(String(await once(client, 'data'))).toBe('hello');
    server.close();
  });

  test.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'])(
    'binds IPv4 only if IPv6 is disabled (%s)',
    async (code) => {
      const server = failingOnIpv6(code);
      client = connect(await bind(server, { port: 0, host: '::' }), '127.0.0.1');
      await once(client, 'connect');
      expect((server.address() as AddressInfo).address).toBe('0.0.0.0');
      server.close();
    },
  );

  test.each(['EADDRINUSE', 'EACCES'])('fails with %s and does not fall back to IPv4 only', async (code) => {
    const server = failingOnIpv6(code);
    await expect(bind(server, { port: 0, host: '::' })).rejects.toThrow(code);
    expect(server.listening).toBe(false);
  });
});
