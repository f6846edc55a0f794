import { once } from 'node:events';
import { Agent, type Server } from 'node:http';
import { connect, Socket, type AddressInfo } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { WebSocket, WebSocketServer } from 'ws';
import type { PolicyResult } from '../../core/policy/engine.ts';
import { systemClock } from '../../runtime/clock.ts';
import { eachRequest } from '../../testing/http/each-request.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { aMoment, stillness } from '../../testing/time/moment.ts';
import {
  askRaw,
  completedEntry,
  issueTlsIdentity,
  startRawRig,
  startRig,
  type ProxyRig,
  type RigOptions,
} from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: ProxyRig;
afterEach(async () => {
  jest.restoreAllMocks();
  await rig.close();
});

interface Seen {
  headers: Record<string, unknown>;
  url: string | undefined;
}

/** Starts an agent that echoes on every WebSocket and sends the product's own headers in its response. */
async function startEcho(seen: Seen[] = [], options: RigOptions = {}): Promise<WebSocketServer> {
  rig = await startRig((_request, response) => response.end(), options);
  const sockets = new WebSocketServer({ server: rig.agent as Server });
  sockets.on('headers', (headers) =>
    headers.push('X-Platform-Tools-Called: pay', 'X-Agent: 1', 'X-Request-Id: other'),
  );
  sockets.on('connection', (socket, request) => {
    seen.push({ headers: request.headers, url: request.url });
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
  });
  return sockets;
}

test('proxies a WebSocket in both directions with its subprotocol, and records it', async () => {
  const seen: Seen[] = [];
  const sockets = await startEcho(seen);
  sockets.options.handleProtocols = (protocols) => [...protocols][0] ?? false;
  const client = new WebSocket(`ws://127.0.0.1:${rig.port}/live?room=1`, ['chat'], {
    headers: { 'x-request-id': 'ws-1', 'x-platform-user-confirmed': 'true', host: 'shop.test' },
  });
  let responseHeaders: Record<string, unknown> = {};
  client.on('upgrade', (response) => (responseHeaders = response.headers));
  await once(client, 'open');
  client.send('hello');
  const [data] = (await once(client, 'message')) as [Buffer];
  expect(data.toString()).toBe('hello');
  expect(client.protocol).toBe('chat');
  expect(seen[0]?.url).toBe('/live?room=1');
  expect(seen[0]?.headers).toMatchObject({
    host: 'shop.test',
    'x-request-id': 'ws-1',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': 'shop.test',
    upgrade: 'websocket',
  });
  expect(seen[0]?.headers).not.toHaveProperty('x-platform-user-confirmed');
  expect(responseHeaders).toMatchObject({ 'x-agent': '1', 'x-request-id': 'ws-1' });
  expect(responseHeaders).not.toHaveProperty('x-platform-tools-called');
  client.close();
  await once(client, 'close');
  const entry = await completedEntry(rig);
  expect(entry).toMatchObject({
    requestId: 'ws-1',
    path: '/live',
    statusCode: 101,
    upstreamStatusCode: 101,
    toolsCalled: ['pay'],
    outcome: 'notEvaluated',
  });
  // One text frame and one close frame in each direction. The frames of the client are masked.
  expect([entry.bytesIn, entry.bytesOut]).toEqual([2 + 4 + 5 + 2 + 4, 2 + 5 + 2]);
});

test('keeps data that a client sends before the agent has switched protocols', async () => {
  await startEcho();
  // A masked text frame with the text "hi".
  const text = await askRaw(
    rig.port,
    handshake('Upgrade: websocket\r\n') + '\x81\x82\x00\x00\x00\x00hi',
    '\x81\x02hi',
  );
  expect(text).toMatch(/^HTTP\/1.1 101 /);
  expect(text.endsWith('\x81\x02hi')).toBe(true);
});

test.each([
  ['/a/../b%2Fc//d?x=1?y=2', undefined, '/a/../b%2Fc//d?x=1?y=2'],
  ['/live?room=1', '/base', '/base/live?room=1'],
])('passes the path %s on unchanged, after the upstream prefix %s', async (path, prefix, expected) => {
  const seen: Seen[] = [];
  await startEcho(seen, { ...(prefix !== undefined && { prefix }) });
  await askRaw(rig.port, handshake('Upgrade: websocket\r\n').replace('GET /', `GET ${path}`), '101');
  expect(seen[0]?.url).toBe(expected);
});

test('passes megabytes on completely', async () => {
  await startEcho();
  const client = new WebSocket(`ws://127.0.0.1:${rig.port}/`);
  await once(client, 'open');
  const data = Buffer.alloc(3_000_000, 'x');
  client.send(data);
  const [back] = (await once(client, 'message')) as [Buffer];
  expect(back.equals(data)).toBe(true);
  client.terminate();
});

describe('a disconnect of one side closes the other side', () => {
  test('if the client disconnects', async () => {
    const sockets = await startEcho();
    const client = new WebSocket(`ws://127.0.0.1:${rig.port}/`);
    await once(client, 'open');
    const [peer] = sockets.clients;
    client.terminate();
    await once(peer!, 'close');
  });

  test('if the agent disconnects', async () => {
    const sockets = await startEcho();
    const client = new WebSocket(`ws://127.0.0.1:${rig.port}/`);
    await once(client, 'open');
    for (const peer of sockets.clients) peer.terminate();
    await once(client, 'close');
  });

  test('if the client disconnects before the agent responds', async () => {
    let isClosed = false;
    rig = await startRawRig((socket) => {
      socket.on('close', () => (isClosed = true));
      socket.on('data', () => client.terminate());
    });
    const client = new WebSocket(`ws://127.0.0.1:${rig.port}/`).on('error', () => undefined);
    await until(() => isClosed, 'the end of the agent’s connection');
    expect(await completedEntry(rig)).toMatchObject({ aborted: true });
  });
});

const handshake = (lines: string) =>
  `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n${lines}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`;

test.each(['destroy', 'resetAndDestroy'] as const)(
  'closes the connection to an agent that sends more than the client reads when the client disconnects: %s',
  async (disconnect) => {
    let sent = 0;
    let isClosed = false;
    rig = await startRawRig((socket) => {
      const push = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      eachRequest(socket, () => {
        socket.write('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
        push();
      });
      socket.on('drain', push).on('close', () => (isClosed = true));
    });
    const client = connect(rig.port, '127.0.0.1').on('error', () => undefined);
    client.write(handshake('Upgrade: websocket\r\n'));
    await once(client, 'readable');
    await stillness(() => sent);
    client[disconnect]();
    await until(() => isClosed, 'the end of the agent’s connection');
  },
);

describe('rejects an upgrade', () => {
  test.each([
    ['to two protocols', handshake('Upgrade: websocket, h2c\r\n')],
    ['with two Host headers', handshake('Upgrade: websocket\r\nHost: b\r\n')],
    ['with a body', handshake('Upgrade: websocket\r\nContent-Length: 1\r\n')],
    ['with method POST', handshake('Upgrade: websocket\r\n').replace('GET', 'POST')],
  ])('%s', async (_title, bytes) => {
    let seen = 0;
    rig = await startRig((_request, response) => {
      seen += 1;
      response.end();
    });
    (rig.agent as Server).on('upgrade', () => (seen += 1));
    expect(await askRaw(rig.port, bytes)).toMatch(
      /^HTTP\/1.1 400 Bad Request\r\nContent-Type: application\/problem\+json/,
    );
    expect(seen).toBe(0);
  });
});

test('passes on the HTTP response of an agent that does not switch protocols', async () => {
  rig = await startRig((_request, response) => {
    response.writeHead(403, { 'x-platform-tools-called': 'x', 'x-agent': '1' });
    response.end('no sockets here');
  });
  const text = await askRaw(rig.port, handshake('Upgrade: websocket\r\nX-Request-Id: ws-2\r\n'));
  expect(text).toMatch(/^HTTP\/1.1 403 Forbidden\r\n/);
  expect(text).toContain('no sockets here');
  expect(text).toContain('x-agent: 1\r\n');
  expect(text).toContain('X-Request-Id: ws-2\r\n');
  expect(text).not.toContain('x-platform');
  expect(await completedEntry(rig)).toMatchObject({ statusCode: 403, toolsCalled: ['x'] });
});

describe('an agent that does not switch protocols', () => {
  const upgrade = handshake('Upgrade: websocket\r\n');
  const startResponding = async (onRequest: (socket: Socket) => void): Promise<void> => {
    rig = await startRawRig((socket) => eachRequest(socket, () => onRequest(socket)));
  };

  test('and disconnects in the middle of its response truncates the response to the client', async () => {
    await startResponding((socket) => {
      socket.write('HTTP/1.1 403 No\r\nContent-Length: 100\r\n\r\nhalf', () => socket.destroy());
    });
    expect(await askRaw(rig.port, upgrade)).toMatch(/^HTTP\/1.1 403 No\r\n[^]*half$/);
    expect(await completedEntry(rig)).toMatchObject({ statusCode: 403, bytesOut: 4, aborted: true });
  });

  test('is slowed down by a client that does not read', async () => {
    let written = 0;
    await startResponding((socket) => {
      socket.write('HTTP/1.1 403 No\r\nContent-Length: 100000000\r\n\r\n');
      const push = (): void => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) written += 65_536;
        socket.once('drain', push);
      };
      push();
    });
    const client = connect(rig.port, '127.0.0.1').on('error', () => undefined);
    client.write(upgrade);
    await until(() => written > 0, 'the response');
    await stillness(() => written);
    expect(written).toBeLessThan(30_000_000);
    client.destroy();
    await completedEntry(rig);
  });

  test('and sends no body leads to the same response', async () => {
    await startResponding((socket) => void socket.write('HTTP/1.1 204 No\r\n\r\n'));
    const text = await askRaw(rig.port, upgrade);
    expect(text).toMatch(/^HTTP\/1.1 204 No\r\n/);
    expect(text).toMatch(/\r\n\r\n$/);
    expect(text).not.toMatch(/transfer-encoding/i);
  });

  test('and sends a head that cannot be written leads to 502', async () => {
    await startResponding((socket) => void socket.write('HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'));
    expect(await askRaw(rig.port, upgrade)).toMatch(/^HTTP\/1.1 502 Bad Gateway\r\n/);
    expect(await completedEntry(rig)).toMatchObject({ statusCode: 502, upstreamStatusCode: 99 });
  });
});

test('passes headers on unchanged whose names are properties of every object', async () => {
  let seen = '';
  rig = await startRawRig((socket) => {
    eachRequest(socket, (request) => {
      seen = request;
      socket.end('HTTP/1.1 403 No\r\nConstructor: 3\r\nContent-Length: 0\r\n\r\n');
    });
  });
  const text = await askRaw(rig.port, handshake('Upgrade: websocket\r\nConstructor: 1\r\n__proto__: 2\r\n'));
  expect(seen).toContain('\r\nConstructor: 1\r\n__proto__: 2\r\n');
  expect(text).toContain('\r\nConstructor: 3\r\n');
  expect(seen + text).not.toContain('native code');
});

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n';

test('passes the headers of a switch on in their order, with their case, repeated lines and all bytes', async () => {
  const lines = 'X-Agent: 1\r\nset-cookie: a=1\r\nSet-Cookie: b=\xe9\r\n';
  rig = await startRawRig((socket) =>
    eachRequest(socket, () => socket.end(`${SWITCH}${lines}\r\n`, 'latin1')),
  );
  const text = await askRaw(rig.port, handshake('Upgrade: websocket\r\nX-Request-Id: ws-3\r\n'));
  expect(text).toBe(`${SWITCH}${lines}X-Request-Id: ws-3\r\n\r\n`);
});

test('sends no announcement of trailers, which such a request does not have', async () => {
  const seen: Seen[] = [];
  await startEcho(seen);
  await askRaw(rig.port, handshake('Upgrade: websocket\r\nTrailer: X-Sum\r\nX-Own: 1\r\n'), '101');
  expect(seen[0]?.headers).toMatchObject({ 'x-own': '1' });
  expect(seen[0]?.headers).not.toHaveProperty('trailer');
});

test('responds with 502 if the request cannot be sent', async () => {
  await startEcho();
  jest.spyOn(Agent.prototype, 'createConnection').mockImplementation(() => {
    throw new Error('thrown');
  });
  expect(await askRaw(rig.port, handshake('Upgrade: websocket\r\n'))).toMatch(/^HTTP\/1.1 502 /);
  expect(await completedEntry(rig)).toMatchObject({ statusCode: 502 });
});

test('responds with 504 if the agent accepts no connection for ten seconds', async () => {
  await startEcho();
  let isCalled = false;
  jest.spyOn(Agent.prototype, 'createConnection').mockImplementation(() => {
    isCalled = true;
    return Object.assign(new Socket(), { connecting: true });
  });
  using timers = holdTimers();
  const text = askRaw(rig.port, handshake('Upgrade: websocket\r\n'));
  await until(() => isCalled, 'the connection');
  await timers.pass(9_999);
  expect(rig.log).toEqual([]);
  await timers.pass(1);
  expect(await text).toMatch(/^HTTP\/1.1 504 /);
  expect(await completedEntry(rig)).toMatchObject({ statusCode: 504 });
});

test.each([
  ['127.0.0.1', 101],
  ['shop.test', 502],
])(
  'checks the certificate of an agent with TLS for its own host, not for the Host header: %s',
  async (name, status) => {
    const tls = await issueTlsIdentity(name);
    rig = await startRawRig((socket) => eachRequest(socket, () => socket.end(`${SWITCH}\r\n`)), { tls });
    (rig.agent as TlsServer).on('tlsClientError', () => undefined);
    const bytes = handshake('Upgrade: websocket\r\n').replace('Host: a', 'Host: shop.test');
    expect(await askRaw(rig.port, bytes)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  },
);

function raise(): never {
  throw new Error('thrown');
}

describe('an agent that leaves while its head is judged', () => {
  const REPORT = 'X-Platform-Tools-Called: pay\r\n';
  /** Sends this response. The agent disconnects while the policy engine evaluates it. */
  const startLeaving = async (response: string, denials: string[], leave: 'end' | 'resetAndDestroy') => {
    let agent: Socket | null = null;
    const evaluate = async (): Promise<PolicyResult> => {
      agent?.[leave]();
      await aMoment();
      return { state: 'answered', denials };
    };
    rig = await startRawRig(
      (socket) => {
        agent = socket;
        eachRequest(socket, () => socket.write(response, 'latin1'));
      },
      { engine: { evaluate }, mode: 'enforce' },
    );
  };

  test.each(['end', 'resetAndDestroy'] as const)(
    'leads to 502 if its response is incomplete: %s',
    async (leave) => {
      await startLeaving(`HTTP/1.1 403 No\r\n${REPORT}Content-Length: 100\r\n\r\nhalf`, [], leave);
      expect(await askRaw(rig.port, handshake('Upgrade: websocket\r\n'))).toMatch(/^HTTP\/1.1 502 /);
      expect(await completedEntry(rig)).toMatchObject({ statusCode: 502, upstreamStatusCode: 403 });
    },
  );

  test.each([['last'], ['']])('has its switch passed on, with the bytes after it: "%s"', async (bytes) => {
    await startLeaving(`${SWITCH}${REPORT}\r\n${bytes}`, [], 'end');
    const text = await askRaw(rig.port, handshake('Upgrade: websocket\r\nX-Request-Id: ws-4\r\n'));
    expect(text).toBe(`${SWITCH}X-Request-Id: ws-4\r\n\r\n${bytes}`);
    expect(await completedEntry(rig)).toMatchObject({ statusCode: 101, bytesOut: bytes.length });
  });

  test('has its switch blocked', async () => {
    await startLeaving(`${SWITCH}${REPORT}\r\nlast`, ['no'], 'end');
    expect(await askRaw(rig.port, handshake('Upgrade: websocket\r\n'))).toMatch(/^HTTP\/1.1 403 /);
    expect(await completedEntry(rig)).toMatchObject({ statusCode: 403, outcome: 'deny' });
  });
});

test.each<[string, () => Promise<PolicyResult>]>([
  ['throws', () => raise()],
  ['rejects', () => Promise.reject(new Error('thrown'))],
])('responds with 502 if the policy engine %s, which it must not', async (_how, evaluate) => {
  rig = await startRawRig(
    (socket) => eachRequest(socket, () => socket.write(`${SWITCH}X-Platform-Tools-Called: pay\r\n\r\n`)),
    { engine: { evaluate }, mode: 'enforce' },
  );
  expect(await askRaw(rig.port, handshake('Upgrade: websocket\r\n'))).toMatch(/^HTTP\/1.1 502 /);
  expect(await completedEntry(rig)).toMatchObject({ statusCode: 502, upstreamStatusCode: 101 });
  expect(rig.log).toMatchObject([['error', expect.any(String), { requestId: expect.any(String) }]]);
});

test('records a WebSocket that the agent resets as aborted, and does not time out a silent WebSocket', async () => {
  using timers = holdTimers();
  let nowMs = 0;
  let reset = (): void => undefined;
  rig = await startRawRig(
    (socket) => {
      eachRequest(socket, () => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      });
      reset = () => void socket.resetAndDestroy();
    },
    { timeoutMs: 50, clock: { ...systemClock, monotonicMs: () => nowMs } },
  );
  const client = connect(rig.port, '127.0.0.1').on('error', () => undefined);
  client.write(handshake('Upgrade: websocket\r\n'));
  let head = '';
  client.setEncoding('latin1').on('data', (chunk: string) => (head += chunk));
  await until(() => head.endsWith('\r\n\r\n'), 'the response head');
  expect(head).toMatch(/^HTTP\/1.1 101 /);
  nowMs += 60_000;
  await timers.pass(60_000);
  await aMoment();
  expect(client.destroyed).toBe(false);
  reset();
  const entry = await completedEntry(rig);
  const durationMs = 60_000;
  expect(entry).toMatchObject({ statusCode: 101, aborted: true, bytesIn: 0, bytesOut: 0, durationMs });
});

test('a successful WebSocket ends an outage of the agent', async () => {
  await startEcho([], { agentGoesDown: true });
  const agent = rig.agent as Server;
  const { port } = agent.address() as AddressInfo;
  await new Promise((resolve) => agent.close(resolve));
  await askRaw(rig.port, handshake('Upgrade: websocket\r\n'));
  await new Promise<void>((resolve) => agent.listen(port, '127.0.0.1', resolve));
  await askRaw(rig.port, handshake('Upgrade: websocket\r\n'), '101');
  expect(rig.log.map(([level, message]) => [level, message])).toEqual([
    ['warn', 'upstream request failed'],
    ['info', 'upstream requests succeed again'],
  ]);
});

test('responds with 502 without the address of an agent that is down', async () => {
  rig = await startRig((_request, response) => response.end(), { agentGoesDown: true });
  await new Promise((resolve) => rig.agent.close(resolve));
  const text = await askRaw(rig.port, handshake('Upgrade: websocket\r\n'));
  expect(text).toMatch(/^HTTP\/1.1 502 Bad Gateway\r\nContent-Type: application\/problem\+json/);
  expect(text).toContain('the agent is unreachable');
  expect(text).not.toContain('127.0.0.1');
  expect(await completedEntry(rig)).toMatchObject({ statusCode: 502, outcome: 'notEvaluated' });
});

test('closing cuts an open WebSocket after the grace period', async () => {
  await startEcho();
  const client = new WebSocket(`ws://127.0.0.1:${rig.port}/`).on('error', () => undefined);
  await once(client, 'open');
  const closed = once(client, 'close');
  await rig.proxy.close(100);
  await closed;
});
