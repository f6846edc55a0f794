import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Agent } from 'node:https';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { startEgressRig, type EgressRig } from '../../testing/sidecar/egress-rig.ts';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { askRaw } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: EgressRig;
afterEach(async () => {
  jest.restoreAllMocks();
  await rig.close();
});

const WEBSOCKET = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n';
const get = (path: string, more = ''): string =>
  `GET /openai/v1/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`;

/** Requests a WebSocket. Returns the response, which ends with its connection. */
const upgrade = (more = ''): Promise<string> => askRaw(rig.port, get('realtime', WEBSOCKET + more));

async function recorded(statusCode: number): Promise<void> {
  await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
  expect(rig.egress.log.newest()).toMatchObject([{ path: '/v1/realtime', statusCode }]);
}

test('a WebSocket whose request announces trailers reaches the vendor without the announcement', async () => {
  rig = await startEgressRig();
  let seen: string[] = [];
  rig.vendor.server.on('upgrade', (request, socket) => {
    seen = Object.keys(request.headers);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  });
  expect(await upgrade('Trailer: X-Sum\r\nX-Own: 1\r\n')).toMatch(/^HTTP\/1\.1 101 /);
  expect(seen).toContain('x-own');
  expect(seen).not.toContain('trailer');
  await recorded(101);
});

test('a WebSocket whose request cannot be sent gets 502', async () => {
  rig = await startEgressRig();
  jest.spyOn(Agent.prototype, 'createConnection').mockImplementation(() => {
    throw new Error('thrown');
  });
  expect(await upgrade()).toMatch(/^HTTP\/1\.1 502 /);
  await recorded(502);
  expect(rig.egress.log.counts.get('openai')?.failed).toBe(1);
});

test('a WebSocket request gets 502 if the response of the vendor is not valid', async () => {
  rig = await startEgressRig();
  rig.vendor.server.on('upgrade', (_request, socket) =>
    socket.end('HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n'),
  );
  expect(await upgrade()).toMatch(/^HTTP\/1\.1 502 /);
  await recorded(502);
  expect(rig.egress.log.counts.get('openai')?.failed).toBe(1);
});

test('an agent that leaves before the vendor has responded ends the call', async () => {
  rig = await startEgressRig();
  const closed = new Promise<void>((resolve) =>
    rig.vendor.server.on('upgrade', (_request, socket: Socket) => {
      // A handler that waits for the rest of the request also reads its end.
      socket
        .on('close', () => resolve())
        .on('end', () => socket.end())
        .resume();
      agent.end();
    }),
  );
  const agent = connect(rig.port, '127.0.0.1', () => agent.write(get('realtime', WEBSOCKET)));
  await closed;
  await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
  expect(rig.egress.log.newest()).toMatchObject([{ statusCode: null }]);
});

test('the response of a vendor that does not switch protocols has no time limit', async () => {
  rig = await startEgressRig();
  let sendRest = (): void => undefined;
  rig.vendor.server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 8\r\n\r\nhalf');
    sendRest = () => void socket.write('rest');
  });
  using timers = holdTimers();
  let text = '';
  const agent = connect(rig.port, '127.0.0.1', () => agent.write(get('realtime', WEBSOCKET)));
  const closed = once(
    agent.setEncoding('latin1').on('data', (part: string) => (text += part)),
    'close',
  );
  await until(() => text.endsWith('half'), 'half of the body');
  await timers.pass(60_000);
  sendRest();
  await closed;
  expect(text).toMatch(/^HTTP\/1\.1 403 [^]*halfrest$/);
});

test('upgrades that are ignored leave no listeners at their connection', async () => {
  rig = await startEgressRig();
  rig.vendor.respond = (_seen, response) => void response.end();
  const accepted: Socket[] = [];
  const onSocket = (message: unknown): void => void accepted.push((message as { socket: Socket }).socket);
  subscribe('net.server.socket', onSocket);
  const socket = connect(rig.port, '127.0.0.1').resume();
  const listeners: (number | undefined)[] = [];
  for (let calls = 1; calls <= 3; calls++) {
    socket.write(get('models', H2C));
    await until(() => rig.egress.log.newest().length === calls, 'the end of the call');
    listeners.push(accepted.find(({ localPort }) => localPort === rig.port)?.listenerCount('close'));
  }
  unsubscribe('net.server.socket', onSocket);
  socket.destroy();
  const [first] = listeners;
  expect(first).toBeGreaterThan(0);
  expect(listeners).toEqual([first, first, first]);
});

const NEEDS_SOCKET: [title: string, bytes: string][] = [
  ['a WebSocket', get('realtime', WEBSOCKET)],
  ['an upgrade that is ignored', get('second', H2C) + get('third')],
  ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'],
];

describe('a request that needs the bare connection ends it while an earlier request waits for its response:', () => {
  test.each(NEEDS_SOCKET)('%s in one part with the end of its body', async (_title, next) => {
    rig = await startEgressRig();
    rig.vendor.respond = () => undefined;
    const first = get('files', 'Content-Length: 2\r\n').replace('GET', 'POST');
    expect(await askRaw(rig.port, `${first}hi${next}`)).toBe('');
    await until(() => rig.egress.log.newest().length === 1, 'the end of the first call');
    expect(rig.egress.log.newest()).toMatchObject([{ path: '/v1/files', statusCode: null }]);
  });
});

test.each(NEEDS_SOCKET)('%s behind another request waits for its response', async (_title, next) => {
  rig = await startEgressRig();
  const responses: ServerResponse[] = [];
  rig.vendor.respond = (_seen, response) => void responses.push(response);
  const response = askRaw(rig.port, get('models') + next, '200 OK');
  await until(() => responses.length === 1, 'the first call');
  await aMoment();
  expect(rig.vendor.requests.map(({ url }) => url)).toEqual(['/v1/models']);
  responses[0]?.end();
  expect(await response).toMatch(/^HTTP\/1\.1 200 OK/);
});

test('pipelined requests of a connection are sent one after the other', async () => {
  rig = await startEgressRig();
  rig.vendor.respond = ({ url }, response) => void response.end(`<${url}>`);
  const paths = Array.from({ length: 50 }, (_, index) => `${index}`);
  const text = await askRaw(rig.port, paths.map((path) => get(path)).join(''), '/49>');
  expect(text.match(/<[^>]*>/g)).toEqual(paths.map((path) => `</v1/${path}>`));
});

test('of thousands of pipelined requests, one is parsed before its response', async () => {
  rig = await startEgressRig();
  let hasArrived = false;
  rig.vendor.respond = () => void (hasArrived = true);
  let parsed = 0;
  const onRequest = (message: unknown): void => {
    if ((message as { request: IncomingMessage }).request.socket.localPort === rig.port) parsed += 1;
  };
  subscribe('http.server.request.start', onRequest);
  const socket = connect(rig.port, '127.0.0.1').on('error', () => undefined);
  socket.write(get('models').repeat(2_000));
  await until(() => hasArrived, 'the first call');
  await aMoment();
  unsubscribe('http.server.request.start', onRequest);
  socket.destroy();
  expect(parsed).toBe(1);
});
