import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { StopDirective } from '../../core/shapes/agent-stop.ts';
import { openRaw, type RawClient } from '../../testing/http/raw-client.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { ask, startRig, type ProxyRig, type RigOptions } from '../../testing/sidecar/proxy-rig.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';

const STOP: StopDirective = {
  ...{ id: 'shop-team/incident', reason: 'leak of order data' },
  ...{ since: '2026-12-01T09:59:00Z', until: null },
};

let rig: ProxyRig;
/** Requests that the agent has received, and its open connections. */
let asked: number;
let connections: Set<Socket>;
const clients: RawClient[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const { socket } of clients.splice(0)) socket.destroy();
  await rig.close();
});

async function start(handler: RequestListener, options: RigOptions = {}): Promise<void> {
  asked = 0;
  connections = new Set();
  rig = await startRig((request, response) => {
    asked += 1;
    handler(request, response);
  }, options);
  rig.agent.on('connection', (socket: Socket) => {
    connections.add(socket.on('error', () => undefined));
    socket.once('close', () => connections.delete(socket));
  });
  rig.agent.on('upgrade', () => (asked += 1));
}

function open(bytes: string): RawClient {
  const client = openRaw(rig.port, bytes);
  clients.push(client);
  return client;
}

const SILENT: RequestListener = () => undefined;
const HEAD = 'Host: 127.0.0.1\r\n';
const UPGRADE = `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n`;
const GET = `GET /a HTTP/1.1\r\n${HEAD}\r\n`;
const POST = `POST /a HTTP/1.1\r\n${HEAD}Content-Length: 2\r\n\r\nhi`;
const UPLOAD = `POST /a HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n`;
const WEBSOCKET = `GET /ws HTTP/1.1\r\n${HEAD}${UPGRADE}\r\n`;

/** What the agent receives on its WebSocket, which it reads to its end. */
let received: string;

/** The agent switches to a WebSocket and sends `text`; null: it does not respond. */
function switches(text: string | null): void {
  received = '';
  rig.agent.on('upgrade', (_request, socket: Socket) => {
    socket
      .on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
      .on('end', () => socket.end());
    const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    if (text !== null) socket.write(head + text, 'latin1');
  });
}

describe('what is open when a stop begins', () => {
  test.each<[string, string, RequestListener, string?]>([
    ['a plain request', GET, SILENT],
    ['a plain request with a body', POST, SILENT],
    ['a request that Node.js has read', `${UPLOAD}0\r\n\r\n`, SILENT],
    ['an upload', UPLOAD, SILENT],
    ['a request that waits behind another', POST + POST, SILENT],
    ['a request whose body has not arrived', POST.slice(0, -1), SILENT],
    ['a request whose head has not arrived', `POST /a HTTP/1.1\r\n`, SILENT],
    ['a response', GET, (_request, response) => void response.write('part'), 'part'],
    ['a response to an upload', UPLOAD, (_request, response) => void response.write('part'), 'part'],
    ['an upgrade without a response', WEBSOCKET, SILENT],
  ])('%s is cut, and the agent receives nothing more', async (_, bytes, handler, wanted = '') => {
    const expected = bytes.includes('\r\n\r\n') ? 1 : 0;
    await start(handler);
    const client = open(bytes);
    if (bytes === WEBSOCKET) switches(null);
    await until(() => asked >= expected && client.text().includes(wanted), 'the request at the agent');
    // The proxy shows no other process that it has got these bytes.
    if (expected === 0) await aMoment();
    rig.stop.direct(STOP);
    await client.closed;
    await until(() => connections.size === 0, 'the end of the connections to the agent');
    await aMoment();
    expect(asked).toBe(expected);
    expect(client.text().includes('\r\n0\r\n\r\n')).toBe(false);
    expect(rig.stop.current?.cut).toBe(1);
    // The agent is not blamed.
    expect(rig.log.filter(([level]) => level !== 'info').map(([, message]) => message)).toEqual([
      'agent stopped',
    ]);
  });

  test('a response that waits for the policy engine is cut', async () => {
    let evaluated = 0;
    const engine = { evaluate: () => new Promise<never>(() => void (evaluated += 1)) };
    const manifest = plainManifest('shop', ['pii_detector_not_invoked']);
    await start(
      (_request, response) =>
        void response.writeHead(200, { 'x-platform-guardrails-invoked': 'pii-detector' }).end('done'),
      { engine, mode: 'enforce', manifest },
    );
    const client = open(GET);
    await until(() => evaluated === 1, 'the evaluation');
    rig.stop.direct(STOP);
    await client.closed;
    expect(client.text()).toBe('');
    expect(asked).toBe(1);
  });

  test('a WebSocket ends with the code 1013 on both sides', async () => {
    await start(SILENT);
    switches('\x81\x02hi');
    const client = open(WEBSOCKET);
    await until(() => client.text().endsWith('hi'), 'the first message');
    client.socket.write('\x81\x82\0\0\0\0yo', 'latin1');
    await until(() => received.endsWith('yo'), 'the message of the client');
    rig.stop.direct(STOP);
    client.socket.write('\x81\x82\0\0\0\0no', 'latin1');
    await client.closed;
    await until(() => connections.size === 0, 'the end of the connections to the agent');
    expect(client.text().slice(-4)).toBe('\x88\x02\x03\xf5');
    expect(received).toBe('\x81\x82\0\0\0\0yo\x88\x82\0\0\0\0\x03\xf5');
    expect(rig.stop.current?.cut).toBe(1);
  });

  test('a WebSocket inside a message ends without a close frame, which would be part of it', async () => {
    await start(SILENT);
    switches('\x81\x05hi');
    const client = open(WEBSOCKET);
    await until(() => client.text().endsWith('hi'), 'the first part');
    rig.stop.direct(STOP);
    await client.closed;
    expect(client.text().endsWith('hi')).toBe(true);
  });

  test('an idle connection ends', async () => {
    await start((_request, response) => void response.end('done'));
    const client = open(GET);
    await until(() => client.text().endsWith('done'), 'the response');
    rig.stop.direct(STOP);
    await client.closed;
    await until(() => connections.size === 0, 'the end of the connections to the agent');
  });
});

describe('a request that begins while the stop is set', () => {
  test('between its head and its body is not sent', async () => {
    await start(SILENT);
    const arrive = rig.audit.arrive.bind(rig.audit);
    jest.spyOn(rig.audit, 'arrive').mockImplementation((arrival) => {
      const recording = arrive(arrival);
      rig.stop.direct(STOP);
      return recording;
    });
    const client = open(`${UPLOAD}0\r\n\r\n`);
    await client.closed;
    await aMoment();
    expect(asked).toBe(0);
  });

  test('while the connection to the agent is made is not sent', async () => {
    await start(SILENT, { onSend: () => process.nextTick(() => rig.stop.direct(STOP)) });
    const client = open(GET);
    await client.closed;
    await aMoment();
    expect(asked).toBe(0);
  });
});

describe('while the agent is stopped', () => {
  const manifest = plainManifest('shop', []);
  manifest.spec.api = { type: 'rest', healthEndpoint: '/healthz?full=1' };

  test.each<[string, string]>([
    ['a plain request', GET],
    ['a chat', `POST /v1/chat HTTP/1.1\r\n${HEAD}Content-Length: 2\r\n\r\n{}`],
    ['a request that Node.js has read', `${UPLOAD}0\r\n\r\n`],
    ['an upload', UPLOAD],
    ['an expectation', `POST /a HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`],
    ['an upgrade', WEBSOCKET],
    ['an ignored upgrade', `GET /a HTTP/1.1\r\n${HEAD}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`],
    ['HEAD of the health endpoint', `HEAD /healthz HTTP/1.1\r\n${HEAD}\r\n`],
    ['POST of the health endpoint', `POST /healthz HTTP/1.1\r\n${HEAD}Content-Length: 2\r\n\r\nhi`],
    ['GET of the health endpoint with a body', `GET /healthz HTTP/1.1\r\n${HEAD}Content-Length: 2\r\n\r\nhi`],
    ['GET of the default health endpoint', `GET /health HTTP/1.1\r\n${HEAD}\r\n`],
    ['GET below the health endpoint', `GET /healthz/../v1/chat HTTP/1.1\r\n${HEAD}\r\n`],
  ])('%s gets 503 and its connection ends', async (_, bytes) => {
    await start(SILENT, { manifest });
    rig.stop.direct(STOP);
    const client = open(bytes);
    await until(() => client.text().includes('\r\n\r\n'), 'the response');
    client.socket.end();
    await client.closed;
    const [head = '', body] = client.text().split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    for (const line of [
      'Content-Type: application/problem+json',
      'Retry-After: 30',
      'X-Should-Retry: false',
      'X-Platform-Stop: shop-team/incident',
    ])
      expect(head).toContain(line);
    const problem = { type: 'about:blank', title: 'Service Unavailable', status: 503 };
    if (bytes.startsWith('HEAD')) expect(body).toBe('');
    else expect(JSON.parse(body ?? '')).toEqual({ ...problem, detail: 'the agent shop is stopped' });
    expect(asked).toBe(0);
    expect(rig.stop.refused.proxy).toBe(1);
    expect(rig.audit.ring.newest()).toEqual([]);
  });

  test('GET of the health endpoint passes', async () => {
    await start((_request, response) => void response.end('fine'), { manifest });
    rig.stop.direct(STOP);
    for (const path of ['/healthz', '/healthz?other=1'])
      expect(await ask(rig.port, { path })).toMatchObject({ status: 200, body: 'fine' });
    expect(rig.stop.refused.proxy).toBe(0);
  });

  test('an id that cannot be a header value is left out', async () => {
    await start(SILENT);
    rig.stop.direct({ ...STOP, id: 'a\r\nX-Bad: 1' });
    const { status, headers } = await ask(rig.port);
    expect(status).toBe(503);
    expect(headers).not.toHaveProperty('x-bad');
  });

  test('everything passes again after it', async () => {
    await start((_request, response) => void response.end('done'));
    rig.stop.direct(STOP);
    expect((await ask(rig.port)).status).toBe(503);
    rig.stop.direct(null);
    expect((await ask(rig.port)).body).toBe('done');
  });
});
