import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aMoment } from '../../testing/time/moment.ts';
import { startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const UPGRADE = 'Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const BEGUN = `GET /x HTTP/1.1\r\nHost: a\r\n${UPGRADE}`;
const INVALID: [title: string, bytes: string, status: number][] = [
  ['CONNECT', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', 405],
  ['an upgrade to two protocols', `${BEGUN}Upgrade: websocket, h2c\r\n\r\n`, 400],
  ['two Hosts', 'GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ['no Host', 'GET /x HTTP/1.1\r\n\r\n', 400],
  ['another coding', 'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501],
  ['bytes that are not HTTP', '\0\r\n\r\n', 400],
];
const WEBSOCKET = `${BEGUN}Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n\r\n`;

interface Client {
  socket: Socket;
  /** Status and body of each response so far. */
  responses: () => string[];
  isClosed: () => boolean;
}

function startClient(): Client {
  let text = '';
  let isClosed = false;
  const socket = connect(rig.port, '127.0.0.1').on('error', () => undefined);
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('close', () => (isClosed = true));
  const responses = (): string[] =>
    text
      .split('HTTP/1.1 ')
      .slice(1)
      .map((response) => `${response.slice(0, 3)} ${response.slice(response.indexOf('\r\n\r\n') + 4)}`);
  return { socket, responses, isClosed: () => isClosed };
}

describe('after a request that waits for its response', () => {
  let respond: () => void;
  let seen: string[];
  beforeEach(async () => {
    seen = [];
    rig = await startRig((request, response) => {
      seen.push(request.url ?? '');
      respond = () => void response.end('the response');
    });
    rig.agent.on('upgrade', (request, socket: Socket) => {
      seen.push(`upgrade ${request.url}`);
      socket.destroy();
    });
  });

  test.each([
    ...INVALID.map(([title, bytes]) => [title, bytes] as const),
    ['a WebSocket', WEBSOCKET] as const,
    ['an upgrade to h2c', `${BEGUN}Upgrade: h2c\r\n\r\n`] as const,
  ])('%s gets no response out of order, and does not reach the agent', async (_title, bytes) => {
    const { socket, responses, isClosed } = startClient();
    socket.write(GET + bytes + GET.replace('/', '/behind'));
    await until(() => seen.length > 0 || isClosed(), 'the first request');
    await aMoment();
    expect(responses()).toEqual([]);
    if (!isClosed()) respond();
    await until(isClosed, 'the end of the connection');
    expect(responses()[0] ?? '200 the response').toBe('200 the response');
    expect(seen.filter((url) => url !== '/')).toEqual([]);
    await until(() => rig.audit.ring.newest().every(({ outcome }) => outcome !== undefined));
    expect(rig.audit.ring.newest().map(({ path }) => path)).toEqual(['/']);
  });
});

describe('after a request with a response', () => {
  test.each(INVALID)(
    '%s gets its own error response, which ends the connection',
    async (_title, bytes, status) => {
      rig = await startRig((_request, response) => response.end('the response'));
      const { socket, responses, isClosed } = startClient();
      socket.write(GET);
      await until(() => responses().length === 1, 'the response');
      socket.write(bytes + GET);
      await until(isClosed, 'the end of the connection');
      expect(responses()).toEqual(['200 the response', expect.stringMatching(new RegExp(`^${status} \\{`))]);
      expect(rig.audit.ring.last).toBe(1);
    },
  );

  test('a WebSocket is proxied', async () => {
    rig = await startRig((_request, response) => response.end('the response'));
    rig.agent.on('upgrade', (_request, socket: Socket) => {
      socket.end('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes');
    });
    const { socket, responses, isClosed } = startClient();
    socket.write(GET);
    await until(() => responses().length === 1, 'the response');
    socket.write(WEBSOCKET);
    await until(isClosed, 'the end of the connection');
    expect(responses()).toEqual(['200 the response', '101 frames']);
  });
});
