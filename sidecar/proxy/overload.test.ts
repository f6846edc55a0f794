import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { aMoment } from '../../testing/time/moment.ts';
import { ask, startRig, type ProxyRig } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

const MIB = 1024 * 1024;
/** Memory for 7 first requests. */
const SMALL = { memoryBytes: MIB };

let rig: ProxyRig;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await rig.close();
});

interface Client {
  socket: Socket;
  text: () => string;
}

function startClient(bytes: string): Client {
  let text = '';
  const socket = connect(rig.port, '127.0.0.1', () => socket.write(bytes));
  socket
    .setEncoding('latin1')
    .on('data', (chunk: string) => (text += chunk))
    .on('error', () => undefined);
  clients.push(socket);
  return { socket, text: () => text };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const UPGRADE =
  'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';

describe('above the limit of requests in flight', () => {
  test.each([
    ['a request', GET],
    ['a request with a body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi'],
    ['a WebSocket', UPGRADE],
  ])('%s gets 503 with Retry-After, has no audit entry, and is counted', async (_title, bytes) => {
    let waiting = 0;
    rig = await startRig(() => (waiting += 1), SMALL);
    const { maxRequests } = rig.load;
    const inFlight = Array.from({ length: maxRequests }, () => startClient(GET));
    await until(() => waiting === maxRequests, 'the requests in flight');
    const rejected = startClient(bytes);
    await once(rejected.socket, 'end');
    const [head = '', body = ''] = rejected.text().split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(head).toMatch(/^Retry-After: 1$/im);
    expect(head).toMatch(/^Content-Type: application\/problem\+json$/im);
    expect(JSON.parse(body)).toMatchObject({ status: 503, title: 'Service Unavailable' });
    expect([rig.audit.ring.last, rig.load.refused, waiting]).toEqual([maxRequests, 1, maxRequests]);

    inFlight[0]?.socket.destroy();
    await until(() => rig.audit.outcomes.notEvaluated === 1, 'the end of one request');
    startClient(GET);
    await until(() => waiting === maxRequests + 1, 'the next request');
  });

  test('a client that sends more gets the 503 before its connection ends', async () => {
    let waiting = 0;
    rig = await startRig(() => (waiting += 1), SMALL);
    const { maxRequests } = rig.load;
    for (let i = 0; i < maxRequests; i += 1) startClient(GET);
    await until(() => waiting === maxRequests, 'the requests in flight');
    const socket = connect(rig.port, '127.0.0.1').pause();
    clients.push(socket);
    socket.on('error', () => undefined).write(GET);
    await until(() => rig.load.refused === 1, 'the rejection');
    // A reset in response to these bytes would discard the 503, which the client has not read.
    await new Promise((resolve) => socket.write('x'.repeat(100_000), resolve));
    await new Promise((resolve) => socket.write('x', resolve));
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    await once(socket.resume(), 'close');
    expect(text).toMatch(/^HTTP\/1\.1 503 /);
  });

  test('of pipelined requests, only those are parsed for which there is memory, and the others after the responses', async () => {
    const waiting: ServerResponse[] = [];
    rig = await startRig((_request, response) => void waiting.push(response), { memoryBytes: 32 * MIB });
    const { text } = startClient(GET.repeat(2_000));
    await until(() => waiting.length > 0, 'the first request');
    await aMoment();
    // One in flight, and 12 KiB for each other one, up to three quarters of 1/96 of the memory.
    expect(rig.audit.ring.last).toBe(23);
    const responding = setInterval(() => waiting.splice(0).forEach((response) => response.end('<ok>')), 1);
    await until(() => text().split('<ok>').length === 2_001, 'all responses').finally(() =>
      clearInterval(responding),
    );
    expect([rig.load.refused, rig.load.cut]).toEqual([0, 0]);
  });
});

test('cuts clients that do not read before it rejects others, and the others get their responses', async () => {
  const large = Buffer.alloc(16 * MIB);
  rig = await startRig((request, response) => void response.end(request.url === '/' ? large : 'ok'), {
    memoryBytes: 8 * MIB,
  });
  // There is memory for four of these clients.
  for (let i = 0; i < 8; i += 1) {
    const { socket } = startClient('');
    socket.pause();
    socket.write(GET);
  }
  await until(() => rig.load.cut >= 4, 'the cuts');
  expect((await ask(rig.port, { path: '/other' })).body).toBe('ok');
  await until(() => rig.audit.ring.newest().filter(({ aborted }) => aborted).length >= 4, 'their entries');
  expect(rig.load.refused).toBe(0);
});

describe('heads', () => {
  const BEGUN = 'GET / HTTP/1.1\r\nHost: a\r\n';

  test('that do not end: the oldest incomplete heads are cut, and others get their responses', async () => {
    rig = await startRig((_request, response) => void response.end('ok'), { memoryBytes: 8 * MIB });
    const { load } = rig;
    const first = startClient(`${GET}${BEGUN}`);
    await until(() => first.text().endsWith('ok'), 'the first response');
    const others = Array.from({ length: load.maxUnfinishedHeads }, () => startClient(BEGUN));
    await until(() => load.cut === 1 && first.socket.closed, 'the cut');
    expect((await ask(rig.port)).body).toBe('ok');
    expect([load.cut, others.filter(({ socket }) => socket.closed).length]).toEqual([2, 1]);
    const finished = others.find(({ socket }) => !socket.closed);
    finished?.socket.write('\r\n');
    await until(() => finished?.text().endsWith('ok') === true, 'the response to a slow head');
  });

  test.each([
    [256, 200],
    [257, 431],
    [2_000, 431],
  ])('with %i fields: %i', async (fields, status) => {
    rig = await startRig((_request, response) => void response.end('ok'));
    const { text } = startClient(`${BEGUN}${'a: b\r\n'.repeat(fields - 2)}Connection: close\r\n\r\n`);
    await until(() => text().includes('\r\n\r\n'), 'the response');
    expect(text().slice(9, 12)).toBe(String(status));
  });
});

describe('a body in chunks of one byte', () => {
  const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

  test('arrives completely, in few pieces', async () => {
    let [bytes, pieces] = [0, 0];
    rig = await startRig((request, response) => {
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        pieces += 1;
      });
      request.on('end', () => response.end('ok'));
    });
    const { text } = startClient(`${CHUNKED}${'1\r\nx\r\n'.repeat(5_000)}0\r\n\r\n`);
    await until(() => text().endsWith('ok'), 'the response');
    expect(bytes).toBe(5_000);
    expect(pieces).toBeLessThan(100);
    await until(() => rig.audit.outcomes.notEvaluated === 1, 'the completion');
    expect(rig.audit.ring.newest()[0]?.bytesIn).toBe(5_000);
  });

  test('is passed on chunk by chunk as it arrives', async () => {
    let text = '';
    rig = await startRig((request) => void request.on('data', (chunk: Buffer) => (text += chunk.toString())));
    const { socket } = startClient(`${CHUNKED}1\r\ns\r\n`);
    await until(() => text === 's', 'the first chunk');
    for (const letter of 'tream') {
      socket.write(`1\r\n${letter}\r\n`);
      await until(() => text.endsWith(letter), 'the chunk');
    }
    expect(text).toBe('stream');
  });
});

test('responds to forty small pipelined requests with bodies', async () => {
  rig = await startRig((request, response) => void request.resume().on('end', () => response.end('<ok>')), {
    memoryBytes: 192 * MIB,
  });
  const { text } = startClient('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi'.repeat(40));
  await until(() => text().split('<ok>').length === 41 || rig.load.refused > 0, 'the responses');
  expect(rig.load.refused).toBe(0);
});

test('reads the token usage of responses although clients that do not read use up the budget', async () => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  const text = JSON.stringify({ model: 'm', text: 'x'.repeat(2 * MIB) });
  rig = await startRig(
    (request, response) => {
      const body =
        request.url === '/v1/messages'
          ? text
          : JSON.stringify({ model: 'm', text: 'x'.repeat(100_000), usage });
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    },
    { memoryBytes: 32 * MIB },
  );
  const { load } = rig;
  // Exceeds the budget: each response keeps the bytes received before it was paused.
  for (let i = 0; i < 8; i += 1) {
    const { socket } = startClient('');
    socket.pause();
    socket.write('POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n');
    await until(() => rig.audit.ring.last === i + 1, 'the request');
    await until(() => (rig.audit.ring.newest()[i]?.bytesOut ?? 0) > 100_000, 'the response');
  }
  expect(load.cut).toBe(0);
  await ask(rig.port, { method: 'POST', path: '/v1/chat/completions' });
  await until(() => rig.audit.ring.newest(1)[0]?.outcome !== undefined, 'the completion');
  expect(rig.audit.ring.newest(1)[0]?.usage).toMatchObject({ promptTokens: 3, completionTokens: 4 });
});
