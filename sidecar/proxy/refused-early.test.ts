import { connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { holdTimers } from '../../testing/time/held-timers.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { ask, startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: ProxyRig;
afterEach(() => rig.close());

/** Sends the bytes and then `more` megabytes, and starts to read only after everything is sent. */
async function sendThenRead(bytes: string, more: number): Promise<string> {
  let text = '';
  let isClosed = false;
  const socket = connect(rig.port, '127.0.0.1').pause().setEncoding('latin1');
  socket.on('error', () => undefined).on('close', () => (isClosed = true));
  const write = (piece: string): Promise<void> =>
    new Promise((resolve) => void socket.write(piece, () => resolve()));
  await write(bytes);
  for (let i = 0; i < more && !isClosed; i += 1) {
    // By now the proxy has sent the error response.
    await aMoment();
    await write('x'.repeat(1024 * 1024));
  }
  socket.on('data', (chunk: string) => (text += chunk)).resume();
  await until(() => isClosed, 'the end of the connection');
  return text;
}

test.each([
  ['a head that is too large', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(65_536)}`, '431'],
  ['an invalid head', 'no HTTP at all\r\n', '400'],
  ['two hosts', 'POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 5242880\r\n\r\n', '400'],
  [
    'an expectation',
    'POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 5242880\r\n\r\n',
    '417',
  ],
])('the response to %s reaches a client that keeps sending', async (_what, bytes, status) => {
  rig = await startRig((_request, response) => void response.end('ok'));
  const text = await sendThenRead(bytes, 5);
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\\r\\n\\r\\n\\{.*\\}$`));
  expect((await ask(rig.port)).status).toBe(200);
});

test('the response to invalid bytes after a complete request reaches a client that keeps sending', async () => {
  rig = await startRig((_request, response) => void response.end('ok'));
  const text = await sendThenRead('GET / HTTP/1.1\r\nHost: a\r\n\r\nno HTTP at all\r\n', 5);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
});

test('a client that keeps the connection open is cut off after five seconds', async () => {
  using timers = holdTimers();
  rig = await startRig((_request, response) => void response.end('ok'));
  let text = '';
  let isClosed = false;
  const socket = connect({ port: rig.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  socket.on('error', () => undefined).on('close', () => (isClosed = true));
  socket.write('no HTTP at all\r\n');
  await until(() => text.endsWith('}'), 'the error response');
  const sendByte = async (): Promise<void> => {
    socket.write('x');
    await aMoment();
  };
  for (let passedMs = 0; passedMs < 4_500; passedMs += 500) {
    await sendByte();
    await timers.pass(500);
  }
  await timers.pass(499);
  await sendByte();
  await sendByte();
  expect(isClosed).toBe(false);
  await timers.pass(1);
  // The client detects the cut only when it sends.
  await until(() => {
    socket.write('x');
    return isClosed;
  }, 'the cut');
});
