import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, createServer, type Server as TcpServer, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from '@jest/globals';
import { stillness } from '../testing/moment.ts';
import { ManualClock } from '../testing/manual-clock.ts';
import { until } from '../testing/proxy-rig.ts';
import { issueCa } from '../webhook/certificates/issue.ts';
import { bind, listen, type Listener } from './http-listener.ts';

/** More than the buffers of a connection that nobody reads hold. */
const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x');
/** On the tests' clock. */
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

test('an answer that its client takes slowly arrives whole, though the server stops meanwhile', async () => {
  let isKnown = false;
  await start((_request, response) => {
    response.end(LARGE);
    isKnown = true;
  });
  await until(() => isKnown, 'the request');
  const { server } = listener;
  const look = server.closeIdleConnections.bind(server);
  let looks = 0;
  server.closeIdleConnections = () => {
    look();
    looks += 1;
  };
  const closed = listener.close(GRACE_MS);
  await until(() => looks === 3, 'some looks for idle connections');
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

test('a connection that waits for its next request does not hold the end, nor one whose answer comes meanwhile', async () => {
  let answer: (() => void) | undefined;
  await start((request, response) => {
    if (request.url === '/now') response.end('ok');
    else answer = () => void response.end('late');
  });
  const agent = new Agent({ keepAlive: true });
  const [response] = (await once(get({ port: listener.port, path: '/now', agent }), 'response')) as [
    IncomingMessage,
  ];
  await once(response.resume(), 'end');
  let text = '';
  client.on('data', (chunk) => (text += chunk.toString()));
  await until(() => answer !== undefined, 'the request');
  const closed = listener.close(GRACE_MS);
  answer?.();
  await closed;
  await until(() => client.closed, 'the end of the connection');
  agent.destroy();
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*late$/);
});

test.each(['HTTP', 'HTTPS'])(
  'an unused connection of a client that connects in advance does not hold the end (%s)',
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
    // Both may be about to send for a second; one does.
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

test('what is not answered in the time that it has is cut', async () => {
  let hasCome = false;
  await start(() => (hasCome = true));
  client.resume();
  await until(() => hasCome, 'the request');
  const closed = listener.close(GRACE_MS);
  const grace = await clock.nextSleep();
  expect([grace.ms, client.closed]).toEqual([GRACE_MS, false]);
  grace.wake();
  await closed;
  await until(() => client.closed, 'the end of the connection');
});

describe('a server on every address', () => {
  /** As where the kernel reports `code` for IPv6. */
  function refusing(code: string): TcpServer {
    const server = createServer();
    const listenTo = server.listen.bind(server) as (options: object, done: () => void) => TcpServer;
    const refuse = (): void => void server.emit('error', Object.assign(new Error(code), { code }));
    server.listen = ((options: { host: string }, done: () => void) => {
      if (options.host !== '::') return listenTo(options, done);
      process.nextTick(refuse);
      return server;
    }) as typeof server.listen;
    return server;
  }

  test.each(['127.0.0.1', '::1'])('answers on %s', async (host) => {
    const server = createServer((socket) => void socket.end('hello'));
    client = connect(await bind(server, { port: 0, host: '::' }), host);
    expect(String(await once(client, 'data'))).toBe('hello');
    server.close();
  });

  test.each(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'])(
    'is one of IPv4 where IPv6 is off (%s)',
    async (code) => {
      const server = refusing(code);
      client = connect(await bind(server, { port: 0, host: '::' }), '127.0.0.1');
      await once(client, 'connect');
      expect((server.address() as AddressInfo).address).toBe('0.0.0.0');
      server.close();
    },
  );

  test.each(['EADDRINUSE', 'EACCES'])('fails with %s, and never goes on in IPv4 alone', async (code) => {
    const server = refusing(code);
    await expect(bind(server, { port: 0, host: '::' })).rejects.toThrow(code);
    expect(server.listening).toBe(false);
  });
});
