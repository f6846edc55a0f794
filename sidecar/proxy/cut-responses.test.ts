import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { eachRequest } from '../../testing/http/each-request.ts';
import { completedEntry, startRawRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: ProxyRig;
afterEach(async () => {
  await rig.close();
});

/** Starts an agent that sends these bytes in one segment as the response to every request. */
async function startSending(bytes: string): Promise<void> {
  rig = await startRawRig((socket) => eachRequest(socket, () => socket.write(bytes, 'latin1')));
}

/** Sends a request. Returns everything the client received and the error code of its connection. */
function receive(
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
])('in response to %s, a response that breaks in the segment of its head', (_title, request) => {
  test.each([
    ['before its first chunk', `${HEAD}zz\r\n`, ''],
    ['after its first chunk', `${HEAD}5\r\nhello\r\nzz\r\n`, '5\r\nhello\r\n'],
  ])('%s is passed on up to there and is recognisably truncated', async (_place, bytes, rest) => {
    await startSending(bytes);
    const { text } = await receive(request);
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
])(
  'in response to %s, an agent that resets its connection during its response truncates the response',
  async (_title, request, head) => {
    let reset = (): void => undefined;
    rig = await startRawRig((socket) => {
      eachRequest(socket, () => socket.write(`${head}hello`));
      reset = () => void socket.resetAndDestroy();
    });
    // A reset discards data that has not been read, so it must come after the data.
    const { text } = await receive(request, (soFar) => soFar.includes('hello') && reset());
    expect(text).toMatch(/hello(?:\r\n)?$/);
    expect(await completedEntry(rig)).toMatchObject({
      statusCode: 200,
      upstreamFailure: 'broken',
      aborted: true,
    });
  },
);

test('a truncated response to a pipelined request does not affect the previous response', async () => {
  let respondToFirst: (() => void) | undefined;
  rig = await startRawRig((socket) => {
    eachRequest(socket, (request) => {
      if (request.startsWith('GET /second')) socket.write(`${HEAD}zz\r\n`);
      else respondToFirst = () => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst');
    });
  });
  const received = receive(GET + GET.replace('/', '/second'));
  await until(() => rig.audit.ring.newest()[1]?.upstreamFailure === 'broken', 'the broken response');
  await until(() => respondToFirst !== undefined, 'the first request');
  respondToFirst?.();
  const { text } = await received;
  await until(() => rig.audit.outcomes.notEvaluated === 2, 'the completion of both entries');
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nfirstHTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n$/);
  expect(rig.audit.ring.newest()).toMatchObject([
    { statusCode: 200, bytesOut: 5 },
    { statusCode: 200, aborted: true },
  ]);
});

test('resets the connection of an HTTP/1.0 client, for which a closed connection means a complete response', async () => {
  await startSending(`${HEAD}5\r\nhello\r\nzz\r\n`);
  const { text, code } = await receive('GET / HTTP/1.0\r\n\r\n');
  expect(text).toMatch(/hello$/);
  expect(code).toBe('ECONNRESET');
});
