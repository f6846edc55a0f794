import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aMoment } from '../../testing/moment.ts';
import { startRig, until, type ProxyRig } from '../../testing/proxy-rig.ts';

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const UPGRADE = 'Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const BEGUN = `GET /x HTTP/1.1\r\nHost: a\r\n${UPGRADE}`;
const NO_REQUESTS: [title: string, bytes: string, status: number][] = [
  ['CONNECT', 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n', 405],
  ['an upgrade to two protocols', `${BEGUN}Upgrade: websocket, h2c\r\n\r\n`, 400],
  ['two Hosts', 'GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
  ['no Host', 'GET /x HTTP/1.1\r\n\r\n', 400],
  ['another coding', 'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501],
  ['no HTTP at all', '\0\r\n\r\n', 400],
];
const WEBSOCKET = `${BEGUN}Sec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n\r\n`;

interface Client {
  socket: Socket;
  /** The answers so far: status and body. */
  answers: () => string[];
  isClosed: () => boolean;
}

function startClient(): Client {
  let text = '';
  let isClosed = false;
  const socket = connect(rig.port, '127.0.0.1').on('error', () => undefined);
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  socket.on('close', () => (isClosed = true));
  const answers = (): string[] =>
    text
      .split('HTTP/1.1 ')
      .slice(1)
      .map((answer) => `${answer.slice(0, 3)} ${answer.slice(answer.indexOf('\r\n\r\n') + 4)}`);
  return { socket, answers, isClosed: () => isClosed };
}

describe('behind a request that waits for its answer', () => {
  let answer: () => void;
  let seen: string[];
  beforeEach(async () => {
    seen = [];
    rig = await startRig((request, response) => {
      seen.push(request.url ?? '');
      answer = () => void response.end('the answer');
    });
    rig.agent.on('upgrade', (request, socket: Socket) => {
      seen.push(`upgrade ${request.url}`);
      socket.destroy();
    });
  });

  test.each([
    ...NO_REQUESTS.map(([title, bytes]) => [title, bytes] as const),
    ['a WebSocket', WEBSOCKET] as const,
    ['an upgrade to h2c', `${BEGUN}Upgrade: h2c\r\n\r\n`] as const,
  ])('%s is not answered in its place, and reaches no agent', async (_title, bytes) => {
    const { socket, answers, isClosed } = startClient();
    socket.write(GET + bytes + GET.replace('/', '/behind'));
    await until(() => seen.length > 0 || isClosed(), 'the first request');
    await aMoment();
    expect(answers()).toEqual([]);
    if (!isClosed()) answer();
    await until(isClosed, 'the end of the connection');
    expect(answers()[0] ?? '200 the answer').toBe('200 the answer');
    expect(seen.filter((url) => url !== '/')).toEqual([]);
    await until(() => rig.audit.ring.newest().every(({ outcome }) => outcome !== undefined));
    expect(rig.audit.ring.newest().map(({ path }) => path)).toEqual(['/']);
  });
});

describe('behind an answered request', () => {
  test.each(NO_REQUESTS)(
    '%s gets its own refusal, and ends the connection',
    async (_title, bytes, status) => {
      rig = await startRig((_request, response) => response.end('the answer'));
      const { socket, answers, isClosed } = startClient();
      socket.write(GET);
      await until(() => answers().length === 1, 'the answer');
      socket.write(bytes + GET);
      await until(isClosed, 'the end of the connection');
      expect(answers()).toEqual(['200 the answer', expect.stringMatching(new RegExp(`^${status} \\{`))]);
      expect(rig.audit.ring.last).toBe(1);
    },
  );

  test('a WebSocket passes', async () => {
    rig = await startRig((_request, response) => response.end('the answer'));
    rig.agent.on('upgrade', (_request, socket: Socket) => {
      socket.end('HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes');
    });
    const { socket, answers, isClosed } = startClient();
    socket.write(GET);
    await until(() => answers().length === 1, 'the answer');
    socket.write(WEBSOCKET);
    await until(isClosed, 'the end of the connection');
    expect(answers()).toEqual(['200 the answer', '101 frames']);
  });
});
