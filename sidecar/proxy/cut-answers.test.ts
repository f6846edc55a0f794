import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { eachRequest } from '../../testing/each-request.ts';
import { completedEntry, startRawRig, until, type ProxyRig } from '../../testing/proxy-rig.ts';

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

/** An agent that says this in one segment to whoever asks. */
async function startSaying(bytes: string): Promise<void> {
  rig = await startRawRig((socket) => eachRequest(socket, () => socket.write(bytes, 'latin1')));
}

/** All that the client got, and how its connection ended. `onText` is told what has come so far. */
function listen(
  bytes: string,
  onText: (text: string) => void = () => undefined,
): Promise<{ text: string; code: string | undefined }> {
  return new Promise((resolve) => {
    let text = '';
    let code: string | undefined;
    const socket = connect(rig.port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('latin1').on('data', (chunk: string) => onText((text += chunk)));
    socket.on('error', (error: NodeJS.ErrnoException) => (code = error.code));
    socket.on('close', () => resolve({ text, code }));
  });
}

const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const CHUNKS = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';

describe.each([
  ['a request without a body', GET],
  ['a request in chunks', CHUNKS],
])('to %s an answer that breaks off in the segment of its head', (_title, request) => {
  test.each([
    ['at its first chunk', `${HEAD}zz\r\n`, ''],
    ['behind its first chunk', `${HEAD}5\r\nhello\r\nzz\r\n`, '5\r\nhello\r\n'],
  ])('%s gives its head and what had come, and never looks whole', async (_place, bytes, rest) => {
    await startSaying(bytes);
    const { text } = await listen(request);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe(rest);
    expect(await completedEntry(rig)).toMatchObject({
      statusCode: 200,
      upstreamStatusCode: 200,
      upstreamFailure: 'broken',
      aborted: true,
      bytesOut: rest === '' ? 0 : 5,
    });
  });
});

test.each([
  ['a request without a body', GET, 'HTTP/1.0 200 OK\r\n\r\n'],
  ['a request in chunks', CHUNKS, 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n'],
  ['a request without a body', GET, HEAD.replace('Tr', 'Connection: close\r\nTr') + '5\r\n'],
])('to %s an agent that resets its connection in its answer cuts it', async (_title, request, head) => {
  let reset = (): void => undefined;
  rig = await startRawRig((socket) => {
    eachRequest(socket, () => socket.write(`${head}hello`));
    reset = () => void socket.resetAndDestroy();
  });
  // A reset overtakes what has not been read.
  const { text } = await listen(request, (soFar) => soFar.includes('hello') && reset());
  expect(text).toMatch(/hello(?:\r\n)?$/);
  expect(await completedEntry(rig)).toMatchObject({
    statusCode: 200,
    upstreamFailure: 'broken',
    aborted: true,
  });
});

test('the answer to a request behind another breaks off in its own place', async () => {
  let answerFirst: (() => void) | undefined;
  rig = await startRawRig((socket) => {
    eachRequest(socket, (request) => {
      if (request.startsWith('GET /second')) socket.write(`${HEAD}zz\r\n`);
      else answerFirst = () => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst');
    });
  });
  const heard = listen(GET + GET.replace('/', '/second'));
  await until(() => rig.audit.ring.newest()[1]?.upstreamFailure === 'broken', 'the broken answer');
  await until(() => answerFirst !== undefined, 'the first request');
  answerFirst?.();
  const { text } = await heard;
  await until(() => rig.audit.outcomes.notEvaluated === 2, 'the completion of both entries');
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nfirstHTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n$/);
  expect(rig.audit.ring.newest()).toMatchObject([
    { statusCode: 200, bytesOut: 5 },
    { statusCode: 200, aborted: true },
  ]);
});

test('to HTTP/1.0, where the end of a connection is the end of an answer, the connection is reset', async () => {
  await startSaying(`${HEAD}5\r\nhello\r\nzz\r\n`);
  const { text, code } = await listen('GET / HTTP/1.0\r\n\r\n');
  expect(text).toMatch(/hello$/);
  expect(code).toBe('ECONNRESET');
});
