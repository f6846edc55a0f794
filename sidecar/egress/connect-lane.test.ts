import dns from 'node:dns';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { until } from '../../testing/time/until.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { issueCa, issueLeaf } from '../../webhook/certificates/issue.ts';
import type { KeyPair } from '../../runtime/http-listener.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { StopSwitch } from '../stop/stop-switch.ts';
import { ConnectLane, connectGuard, type ConnectCall, type ConnectLaneOptions } from './connect-lane.ts';

const [DECLARED, OTHER] = ['api.example', 'other.example'] as const;

/** Resolves the names of `.example` to loopback. */
const systemLookup = dns.lookup;
beforeAll(() => {
  const lookup = (host: string, options: object, done: (...result: unknown[]) => void): void => {
    if (host.endsWith('.example')) done(null, [{ address: '127.0.0.1', family: 4 }]);
    else systemLookup(host, options as never, done as never);
  };
  dns.lookup = Object.assign(lookup as typeof dns.lookup, systemLookup);
});
afterAll(() => {
  dns.lookup = systemLookup;
});

let ca: KeyPair;
let leaf: KeyPair;
beforeAll(async () => {
  const now = new Date();
  ca = await issueCa({ now, days: 2 });
  leaf = await issueLeaf(ca, [DECLARED, OTHER, '127.0.0.1'], { now, days: 2 });
});

const servers: Server[] = [];
const sockets = new Set<Socket>();
let lane: ConnectLane | null = null;
let calls: ConnectCall[];
let lanePort: number;
const waiting: ((call: ConnectCall) => void)[] = [];

beforeEach(() => {
  calls = [];
  waiting.length = 0;
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await lane?.close(0);
  lane = null;
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

let stop: StopSwitch;

async function start(options: Partial<ConnectLaneOptions> = {}): Promise<void> {
  const clock = new ManualClock('2026-11-23T12:00:00Z');
  stop = new StopSwitch({ clock, logger: silentLogger, signal: new AbortController().signal });
  const [port = 0] = await freePorts(1);
  lane = new ConnectLane({
    ...{ mode: 'deny', port, ownPorts: [], stop, clock },
    isDeclaredHost: (host) => host === DECLARED || host === '127.0.0.1',
    isAllowedHost: () => true,
    enforcesRules: true,
    logger: { info: () => undefined },
    guard: () => null,
    onCall: (call) => {
      calls.push(call);
      waiting.shift()?.(call);
    },
    ...options,
  });
  lanePort = await lane.start();
}

/** Resolves with the next call, which may have happened already. */
function nextCall(): Promise<ConnectCall> {
  const [call] = calls;
  return call === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(call);
}

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const tlsServer = (onConnection: (socket: TLSSocket) => void): Promise<number> =>
  listening(createTlsServer({ cert: leaf.cert, key: leaf.key }, onConnection));
const tcpServer = (onConnection: (socket: Socket) => void): Promise<number> =>
  listening(createTcpServer({ allowHalfOpen: true }, onConnection));

/** Sends a CONNECT request and resolves with the socket, the response head and the bytes behind it. */
async function tunnel(target: string, { head = '', host = '127.0.0.1' } = {}) {
  const socket = connect({ port: lanePort, host, allowHalfOpen: true });
  sockets.add(socket.on('error', () => undefined));
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n${head}`);
  let text = '';
  while (!text.includes('\r\n\r\n')) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    text += chunk.toString('latin1');
  }
  socket.pause();
  const end = text.indexOf('\r\n\r\n') + 4;
  return {
    socket,
    status: Number(text.split(' ')[1]),
    headers: text.slice(0, end).toLowerCase(),
    rest: text.slice(end),
  };
}

/** The rest of what a socket receives. */
async function received(socket: Socket): Promise<string> {
  let text = '';
  // Sockets of the tests may be half-open.
  socket.once('end', () => socket.end());
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1'))).resume();
  await once(socket, 'close');
  return text;
}

function secure(socket: Socket, servername: string | undefined): TLSSocket {
  const options = servername === undefined ? {} : { servername };
  const client = connectTls({ socket, ca: ca.cert, checkServerIdentity: () => undefined, ...options });
  return client.on('error', () => undefined);
}

describe('a tunnel to a declared host', () => {
  test.each(['127.0.0.1', '::1'])('carries TLS of the client to the host, over %s', async (host) => {
    const port = await tlsServer((socket) =>
      socket.on('data', (data: Buffer) => socket.end(`got ${data.toString()}`)),
    );
    await start();
    const opened = await tunnel(`${DECLARED}:${port}`, { host });
    expect([opened.status, opened.headers]).toEqual([200, 'http/1.1 200 connection established\r\n\r\n']);
    const client = secure(opened.socket, DECLARED);
    client.write('hello');
    const [data] = (await once(client, 'data')) as [Buffer];
    expect(data.toString()).toBe('got hello');
    expect(calls).toEqual([
      {
        ...{
          at: new Date('2026-11-23T12:00:00Z'),
          lane: 'connect',
          method: 'CONNECT',
          path: `${DECLARED}:${port}`,
        },
        ...{ model: null, stream: false, toolsOffered: [], toolsCalled: [], toolsExecuted: [], usage: null },
        ...{ statusCode: 200, violations: [], blocked: false, durationMs: 0 },
      },
    ]);
    client.destroy();
  });

  test('serves an HTTPS client that connects through it', async () => {
    const port = await tlsServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')),
    );
    await start();
    const { socket } = await tunnel(`${DECLARED}:${port}`);
    const agent = new Agent({ keepAlive: false });
    agent.createConnection = () => secure(socket, DECLARED);
    const sent = request({ host: DECLARED, port, agent });
    sent.end();
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
    expect(response.statusCode).toBe(200);
  });

  test('accepts a handshake in single bytes', async () => {
    const port = await tlsServer((socket) => socket.end('hi'));
    await start();
    const { socket } = await tunnel(`${DECLARED}:${port}`);
    const relay = await tcpServer((plain) => {
      plain.on('data', (data: Buffer) => {
        for (const byte of data) socket.write(Buffer.from([byte]));
      });
      socket.setNoDelay().pipe(plain);
    });
    const client = secure(connect(relay, '127.0.0.1'), DECLARED);
    const [data] = (await once(client, 'data')) as [Buffer];
    expect(data.toString()).toBe('hi');
    expect(calls).toMatchObject([{ violations: [], blocked: false }]);
  });

  test('forwards bytes that arrive with the request', async () => {
    const port = await tcpServer((socket) => socket.pipe(socket));
    await start();
    const { socket, rest } = await tunnel(`${DECLARED}:${port}`, { head: 'early ' });
    socket.end('late');
    expect(rest + (await received(socket))).toBe('early late');
  });

  test('lets the server begin', async () => {
    const port = await tcpServer((socket) => socket.write('220 ready\r\n'));
    await start();
    const { socket, rest } = await tunnel(`${DECLARED}:${port}`);
    const text = rest === '' ? ((await once(socket.resume(), 'data')) as [Buffer])[0].toString() : rest;
    expect(text).toBe('220 ready\r\n');
    expect(calls).toEqual([]);
    socket.destroy();
    expect(await nextCall()).toMatchObject({ statusCode: 200, violations: [], blocked: false });
  });

  test('keeps half-open connections in both directions', async () => {
    const port = await tcpServer((socket) => {
      let text = '';
      socket.on('data', (data: Buffer) => (text += data.toString()));
      socket.once('end', () => socket.end(`all of ${text}`));
    });
    await start();
    const { socket } = await tunnel(`${DECLARED}:${port}`);
    socket.end('the request');
    expect(await received(socket)).toBe('all of the request');
  });

  test('slows down a server whose client does not read', async () => {
    let server: Socket | null = null;
    const total = 64 * 1024 * 1024;
    const port = await tcpServer((socket) => {
      server = socket;
      socket.write(Buffer.alloc(total));
    });
    await start();
    const { socket, rest } = await tunnel(`${DECLARED}:${port}`);
    socket.write('x');
    await nextCall();
    // The kernel's buffers are far smaller than what the server has to send.
    expect((server as Socket | null)?.writableLength).toBeGreaterThan(total / 4);
    let bytes = rest.length;
    socket.on('data', (data: Buffer) => {
      bytes += data.length;
      if (bytes === total) socket.destroy();
    });
    await once(socket.resume(), 'close');
    expect(bytes).toBe(total);
  });

  test('ends on both sides when one side is cut', async () => {
    const accepted: Socket[] = [];
    const port = await tcpServer((socket) => accepted.push(socket.on('end', () => socket.end()).resume()));
    await start();
    const { socket } = await tunnel(`${DECLARED}:${port}`);
    socket.write('x');
    await nextCall();
    socket.resetAndDestroy();
    await once(accepted[0]!, 'close');
    const second = await tunnel(`${DECLARED}:${port}`);
    const closed = received(second.socket);
    accepted[1]!.resetAndDestroy();
    expect(await closed).toBe('');
  });
});

describe('a host that the manifest does not declare', () => {
  test('is denied with 403 in the mode deny, and not connected to', async () => {
    let connections = 0;
    const port = await tcpServer(() => (connections += 1));
    await start();
    const { socket, status, headers, rest } = await tunnel(`${OTHER}:${port}`);
    const body = rest + (await received(socket.resume().end()));
    expect(status).toBe(403);
    expect(headers).toContain(
      '\r\nx-platform-policy-violations: host_not_declared\r\nx-should-retry: false\r\n',
    );
    expect(JSON.parse(body)).toMatchObject({
      status: 403,
      detail: `the manifest does not declare the host ${OTHER}`,
    });
    expect(calls).toMatchObject([{ statusCode: 403, violations: ['host_not_declared'], blocked: true }]);
    expect([connections, lane?.counts]).toEqual([0, { tunnels: 0, denied: 1, failed: 0 }]);
  });

  test('passes with a violation in the mode log', async () => {
    const port = await tlsServer((socket) => socket.end('hi'));
    await start({ mode: 'log' });
    const { socket, status, headers } = await tunnel(`${OTHER}:${port}`);
    expect([status, headers.includes('x-platform-policy-violations: host_not_declared')]).toEqual([
      200,
      true,
    ]);
    const [data] = (await once(secure(socket, OTHER), 'data')) as [Buffer];
    expect(data.toString()).toBe('hi');
    expect(calls).toMatchObject([{ statusCode: 200, violations: ['host_not_declared'], blocked: false }]);
  });

  test('that the organisation does not allow is denied in the mode log, too', async () => {
    const rules = { isAllowedHost: (host: string) => host === DECLARED, isDeclaredHost: () => true };
    await start({ mode: 'log', ...rules });
    const { status, headers, socket } = await tunnel(`${OTHER}:443`);
    expect([status, headers.includes('x-platform-policy-violations: host_not_allowed')]).toEqual([403, true]);
    socket.destroy();
    await lane?.close(0);
    await start({ mode: 'log', ...rules, enforcesRules: false });
    const port = await tcpServer((socket) => socket.end('hi'));
    expect((await tunnel(`${OTHER}:${port}`)).status).toBe(200);
  });

  test('passes if the manifest has references', async () => {
    const port = await tcpServer((socket) => socket.end('hi'));
    await start({ isDeclaredHost: () => null });
    const { status } = await tunnel(`${OTHER}:${port}`);
    expect(status).toBe(200);
  });
});

describe('a TLS handshake with another server name', () => {
  test.each([OTHER, undefined])(
    'is cut in the mode deny before the server receives a byte: %s',
    async (name) => {
      const bytes: Buffer[] = [];
      const port = await tcpServer((socket) => socket.on('data', (data: Buffer) => bytes.push(data)));
      await start();
      const { socket } = await tunnel(`${DECLARED}:${port}`);
      const client = secure(socket, name);
      await new Promise((resolve) => client.once('close', resolve));
      expect(bytes).toEqual([]);
      expect(await nextCall()).toMatchObject({
        statusCode: 200,
        violations: ['host_not_declared'],
        blocked: true,
      });
      expect(lane?.counts.denied).toBe(1);
    },
  );

  test('passes with a violation in the mode log', async () => {
    const port = await tlsServer((socket) => socket.end('hi'));
    await start({ mode: 'log' });
    const { socket } = await tunnel(`${DECLARED}:${port}`);
    const [data] = (await once(secure(socket, OTHER), 'data')) as [Buffer];
    expect(data.toString()).toBe('hi');
    expect(calls).toMatchObject([{ violations: ['host_not_declared'], blocked: false }]);
  });

  test('that does not end is cut after a limit', async () => {
    const port = await tcpServer((socket) => socket.resume());
    await start({ limits: { helloMs: 20 } });
    const { socket } = await tunnel(`${DECLARED}:${port}`, { head: '\x16\x03\x01' });
    expect(await received(socket)).toBe('');
    expect(calls).toMatchObject([{ violations: ['host_not_declared'], blocked: true }]);
  });
});

describe('an address', () => {
  test.each([
    ['127.0.0.1', 'addresses of this machine are not connected to'],
    ['::1', 'addresses of this machine are not connected to'],
    ['0.0.0.0', 'addresses of this machine are not connected to'],
    ['::ffff:127.0.0.1', 'addresses of this machine are not connected to'],
    ['169.254.169.254', 'link-local and metadata addresses are not probed'],
    ['fd00:ec2::254', 'link-local and metadata addresses are not probed'],
    ['192.0.2.1', null],
    ['10.0.0.1', null],
  ])('%s: %s', (address, reason) => {
    expect(connectGuard([4000])(address, 443)).toBe(reason);
  });

  test.each(['127.0.0.1', DECLARED, '[::1]', '169.254.169.254', '2852039166', 'localhost'])(
    'of this machine or of a metadata service is refused in every mode: %s',
    async (host) => {
      let connections = 0;
      const port = await tcpServer(() => (connections += 1));
      await start({ mode: 'log', guard: connectGuard([]) });
      const { status } = await tunnel(`${host}:${port}`);
      // A name that has no address on this machine cannot be connected to either.
      expect([403, 502]).toContain(status);
      expect(connections).toBe(0);
      expect(await nextCall()).toMatchObject({ statusCode: status });
    },
  );
});

describe('a request that gets no tunnel', () => {
  async function plain(text: string): Promise<string> {
    const socket = connect(lanePort, '127.0.0.1');
    sockets.add(socket);
    socket.write(text);
    return received(socket);
  }

  test('gets 405 with a hint if it is not CONNECT', async () => {
    await start();
    const response = await plain('GET http://api.example/ HTTP/1.1\r\nHost: api.example\r\n\r\n');
    expect(response).toMatch(/^HTTP\/1\.1 405 /);
    expect(response.toLowerCase()).toContain('\r\nallow: connect\r\n');
    expect(response).toContain('set HTTPS_PROXY to it');
    expect(calls).toEqual([]);
  });

  test('gets 400 with an invalid target', async () => {
    await start();
    expect((await tunnel('api.example')).status).toBe(400);
    expect(calls).toEqual([]);
  });

  test('gets 502 from an unreachable host', async () => {
    const [port] = await freePorts(1);
    await start();
    expect((await tunnel(`127.0.0.1:${port}`)).status).toBe(502);
    expect(calls).toMatchObject([{ statusCode: 502, violations: [], blocked: false }]);
    expect(lane?.open).toBe(0);
  });

  test('gets 504 from a host that does not respond in time', async () => {
    // Not routable, so that no host responds; without a route the response is 502.
    await start({ isDeclaredHost: () => true, limits: { connectMs: 20 } });
    expect([502, 504]).toContain((await tunnel('192.0.2.1:443')).status);
  });

  test('gets 503 above the limit of tunnels, and none after one has ended', async () => {
    const port = await tcpServer((socket) => socket.on('end', () => socket.end()).resume());
    await start({ limits: { tunnels: 1 } });
    const first = await tunnel(`${DECLARED}:${port}`);
    expect((await tunnel(`${DECLARED}:${port}`)).status).toBe(503);
    const closed = received(first.socket.end());
    await closed;
    expect(lane?.counts).toEqual({ tunnels: 1, denied: 0, failed: 1 });
  });
});

test('tunnels are cut at the end of the grace period', async () => {
  const port = await tcpServer((socket) => socket.resume());
  const clock = new ManualClock('2026-11-23T12:00:00Z');
  await start({ clock });
  const { socket } = await tunnel(`${DECLARED}:${port}`);
  const closed = received(socket);
  const ended = lane!.close(1_000);
  const grace = await clock.nextSleep();
  expect([grace.ms, socket.destroyed]).toEqual([1_000, false]);
  grace.wake();
  await closed;
  await ended;
});

describe('a stop', () => {
  const STOP = { id: 'a/b', reason: 'leak of order data', since: '2026-11-23T11:00:00Z', until: null };

  /** Also after a reset. */
  const closeOf = (socket: Socket): Promise<void> =>
    new Promise((resolve) => socket.once('close', () => resolve()));

  test('cuts open tunnels and connections that are being made', async () => {
    const ends: Promise<unknown>[] = [];
    const port = await tcpServer(
      (socket) => void ends.push(closeOf(socket.once('end', () => socket.end()).resume())),
    );
    await start();
    const { socket } = await tunnel(`127.0.0.1:${port}`);
    await until(() => ends.length === 1);
    const closed = closeOf(socket.resume());
    const waiting = connect({ port: lanePort, host: '127.0.0.1' });
    sockets.add(waiting.on('error', () => undefined).resume());
    waiting.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await until(() => lane?.open === 2);
    const left = closeOf(waiting);
    stop.direct(STOP);
    await Promise.all([closed, left, ...ends]);
    await until(() => lane?.open === 0);
    expect(stop.current?.cut).toBe(2);
  });

  test('refuses tunnels with 503, and allows them again after it', async () => {
    let connected = 0;
    const port = await tcpServer(() => (connected += 1));
    await start();
    stop.direct(STOP);
    const { status, headers, rest } = await tunnel(`127.0.0.1:${port}`);
    expect(status).toBe(503);
    expect(headers).toContain('retry-after: 30\r\nx-should-retry: false\r\n');
    expect(headers).toContain('connection: close');
    expect(JSON.parse(rest)).toMatchObject({ detail: 'the agent is stopped: leak of order data' });
    expect([connected, stop.refused.connect, calls]).toEqual([0, 1, []]);
    stop.direct(null);
    expect((await tunnel(`127.0.0.1:${port}`)).status).toBe(200);
  });
});
