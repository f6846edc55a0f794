import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { StopDirective } from '../../core/shapes/agent-stop.ts';
import type { PolicyResult } from '../../core/policy/engine.ts';
import { openRaw, type RawClient } from '../../testing/http/raw-client.ts';
import { connectRawHttp2 } from '../../testing/http/raw-http2.ts';
import { CHAT, CHAT_REQUEST } from '../../testing/sidecar/chat-vendor.ts';
import {
  post,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
  type TlsVendor,
} from '../../testing/sidecar/egress-rig.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';

const STOP: StopDirective = {
  ...{ id: 'shop-team/incident', reason: 'leak of order data' },
  ...{ since: '2026-12-01T09:59:00Z', until: null },
};
const MESSAGE = 'the agent is stopped: leak of order data';
const LANES = [
  'openai=vendor/v1',
  'compatible:corp=vendor/v1',
  'anthropic=vendor',
  'gemini=vendor',
  'cohere=vendor',
  'ollama=vendor',
  'mcp:tools=vendor/mcp',
].join(',');

let rig: EgressRig;
/** Requests whose head the vendor has received, and its open connections. */
let asked: number;
let connections: Set<Socket>;
const clients: RawClient[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const { socket } of clients.splice(0)) socket.destroy();
  await rig.close();
});

async function start(options: EgressRigOptions = {}): Promise<void> {
  asked = 0;
  connections = new Set();
  rig = await startEgressRig({ lanes: LANES, ...options });
  rig.vendor.respond = () => undefined;
  const count = (): void => void (asked += 1);
  rig.vendor.server.on('request', count).on('upgrade', count);
  rig.vendor.server.on('secureConnection', (socket: Socket) => {
    connections.add(socket.on('error', () => undefined));
    socket.once('close', () => connections.delete(socket));
  });
}

function open(bytes: string): RawClient {
  const client = openRaw(rig.port, bytes);
  clients.push(client);
  return client;
}

const BODY = JSON.stringify(CHAT_REQUEST);
const head = (path: string, more: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${more}\r\n`;
const CALL = head(CHAT, `Content-Length: ${BODY.length}\r\n`) + BODY;
const PARSED =
  head(CHAT, 'Transfer-Encoding: chunked\r\n') + `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
/** Passes unread, while it arrives. */
const UPLOAD = head('/openai/v1/files', 'Transfer-Encoding: chunked\r\n') + '2\r\nhi\r\n';
const WEBSOCKET = `GET /openai/v1/realtime HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

const streams: TlsVendor['respond'] = (_seen, response) =>
  void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"choices":[]}\n\n');
const begins: TlsVendor['respond'] = (_seen, response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).write('{');

/** Stops the agent, and expects that the vendor receives nothing more. */
async function expectCut(client: Pick<RawClient, 'closed'>, expected: number): Promise<void> {
  rig.stop.direct(STOP);
  await client.closed;
  await until(() => connections.size === 0, 'the end of the connections to the vendor');
  await aMoment();
  expect(asked).toBe(expected);
  expect(rig.stop.current?.cut).toBe(1);
  expect(rig.egress.log.counts.get('openai')?.failed ?? 0).toBe(0);
}

describe('what is open when a stop begins', () => {
  test.each<[string, string, TlsVendor['respond'] | null, string]>([
    ['a call', CALL, null, ''],
    ['a call that Node.js has read', PARSED, null, ''],
    ['an upload', UPLOAD, null, ''],
    ['a stream', CALL, streams, 'choices'],
    ['a response that is read as a whole', CALL, begins, ''],
    ['a WebSocket without a response', WEBSOCKET, null, ''],
  ])('%s is cut, and the vendor receives nothing more', async (_, bytes, respond, wanted) => {
    await start();
    if (respond !== null) rig.vendor.respond = respond;
    rig.vendor.server.on('upgrade', (_request, socket: Socket) => {
      socket.on('end', () => socket.end()).resume();
    });
    const client = open(bytes);
    await until(() => asked === 1 && client.text().includes(wanted), 'the call at the vendor');
    await expectCut(client, 1);
    expect(client.text().includes('\r\n0\r\n\r\n')).toBe(false);
  });

  test.each([
    ['an HTTP/2 call', true],
    ['an HTTP/2 upload', false],
  ])('%s is cut', async (_, isLast) => {
    await start();
    const client = connectRawHttp2(rig.port);
    const closed = new Promise<void>((resolve) => client.socket.once('close', () => resolve()));
    client.post(1, isLast ? CHAT : '/openai/v1/files', { 'content-type': 'application/json' });
    client.data(1, BODY, isLast);
    await until(() => asked === 1, 'the call at the vendor');
    await expectCut({ closed }, 1);
  });

  test('a call that waits for the policy engine is not sent', async () => {
    let evaluated = 0;
    const engine = { evaluate: () => new Promise<never>(() => void (evaluated += 1)) };
    await start({ engine });
    const client = open(CALL);
    await until(() => evaluated === 1, 'the evaluation');
    await expectCut(client, 0);
  });

  test('a call that the policy engine allows while the stop is set is not sent', async () => {
    let allow: (result: PolicyResult) => void = () => undefined;
    const evaluate = (): Promise<PolicyResult> => new Promise((resolve) => (allow = resolve));
    const engine = { evaluate };
    await start({ engine });
    const client = open(CALL);
    const isAsked = jest.spyOn(engine, 'evaluate');
    await until(() => isAsked.mock.calls.length === 1, 'the evaluation');
    allow({ state: 'answered', denials: [] });
    await expectCut(client, 0);
  });

  test('a WebSocket ends with the code 1013 on both sides', async () => {
    await start();
    let received = '';
    rig.vendor.server.on('upgrade', (_request, socket: Socket) => {
      socket
        .on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
        .on('end', () => socket.end());
      socket.write(`${SWITCH}\x81\x02hi`, 'latin1');
    });
    const client = open(WEBSOCKET);
    await until(() => client.text().endsWith('hi'), 'the first message');
    client.socket.write('\x81\x82\0\0\0\0yo', 'latin1');
    await until(() => received.endsWith('yo'), 'the message of the client');
    await expectCut(client, 1);
    expect(client.text().slice(-4)).toBe('\x88\x02\x03\xf5');
    expect(received).toBe('\x81\x82\0\0\0\0yo\x88\x82\0\0\0\0\x03\xf5');
  });
});

describe('while the agent is stopped', () => {
  const OPENAI = {
    error: { message: MESSAGE, type: 'egress_lane_error', param: null, code: 'agent_stopped' },
  };

  test.each<[string, object]>([
    [CHAT, OPENAI],
    ['/openai/v1/any/other', OPENAI],
    ['/compatible/corp/v1/chat/completions', OPENAI],
    ['/anthropic/v1/messages', { type: 'error', error: { type: 'api_error', message: MESSAGE } }],
    [
      '/gemini/v1beta/models/g-2:generateContent',
      {
        error: {
          ...{ code: 503, message: MESSAGE, status: 'UNAVAILABLE' },
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              ...{ reason: 'agent_stopped', domain: 'platform.io' },
            },
          ],
        },
      },
    ],
    ['/cohere/v2/chat', { message: MESSAGE, code: 'agent_stopped' }],
    ['/ollama/api/chat', { error: MESSAGE, code: 'agent_stopped' }],
    [
      '/mcp/tools',
      {
        ...{ jsonrpc: '2.0', id: null },
        error: { code: -32_000, message: MESSAGE, data: { code: 'agent_stopped' } },
      },
    ],
  ])('a call to %s gets 503 in the form of its vendor', async (path, expected) => {
    await start();
    rig.stop.direct(STOP);
    const { status, headers, body } = await post(rig.port, path, CHAT_REQUEST);
    expect([status, JSON.parse(body)]).toEqual([503, expected]);
    expect(headers).toMatchObject({
      ...{ 'retry-after': '30', 'x-should-retry': 'false' },
      'content-type': 'application/json',
    });
    expect([asked, rig.stop.refused.lanes]).toEqual([0, 1]);
    expect(rig.egress.log.newest()).toEqual([]);
  });

  test.each([
    ['a WebSocket', WEBSOCKET],
    ['a call that Node.js has read', PARSED],
    ['an upload', UPLOAD],
  ])('%s gets 503', async (_, bytes) => {
    await start();
    rig.stop.direct(STOP);
    const client = open(bytes);
    await until(() => client.text().includes(MESSAGE), 'the response');
    expect(client.text()).toMatch(
      /^HTTP\/1\.1 503 .*\r\n(?:.*\r\n)*?Retry-After: 30\r\nX-Should-Retry: false\r\n/,
    );
    expect([asked, rig.stop.refused.lanes]).toEqual([0, 1]);
  });

  test('an HTTP/2 call gets 503', async () => {
    await start();
    rig.stop.direct(STOP);
    const session = connectHttp2(rig.url);
    const stream = session.request({ ':method': 'POST', ':path': CHAT, 'content-type': 'application/json' });
    stream.end(BODY);
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(headers).toMatchObject({ ':status': 503, 'retry-after': '30', 'x-should-retry': 'false' });
    session.destroy();
    expect(asked).toBe(0);
  });

  test('a path of no lane gets 404 as always, and calls pass after the stop', async () => {
    await start();
    rig.stop.direct(STOP);
    expect((await post(rig.port, '/other', {})).status).toBe(404);
    rig.stop.direct(null);
    rig.vendor.respond = (_seen, response) => void response.writeHead(200).end('{}');
    expect((await post(rig.port, CHAT, CHAT_REQUEST)).status).toBe(200);
  });
});
