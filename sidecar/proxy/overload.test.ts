import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { ask, startRig, until, type ProxyRig } from '../../testing/proxy-rig.ts';

const MIB = 1024 * 1024;
/** Room for 7 first requests. */
const SMALL = { memoryBytes: MIB };

let rig: ProxyRig;
const clients: Socket[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await rig.close();
});

interface Client {
  socket: Socket;
  text(): string;
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

describe('beyond the requests in flight that the memory limit allows', () => {
  test.each([
    ['a request', GET],
    ['a request with a body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi'],
    ['a WebSocket', UPGRADE],
  ])('%s gets 503 with Retry-After, is no audit entry, and is counted', async (_title, bytes) => {
    let waiting = 0;
    rig = await startRig(() => (waiting += 1), SMALL);
    const { maxRequests } = rig.load;
    const inFlight = Array.from({ length: maxRequests }, () => startClient(GET));
    await until(() => waiting === maxRequests, 'the requests in flight');
    const refused = startClient(bytes);
    await once(refused.socket, 'end');
    const [head = '', body = ''] = refused.text().split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(head).toMatch(/^Retry-After: 1$/im);
    expect(head).toMatch(/^Content-Type: application\/problem\+json$/im);
    expect(JSON.parse(body)).toMatchObject({ status: 503, title: 'Service Unavailable' });
    expect([rig.audit.ring.last, rig.load.refused, waiting]).toEqual([maxRequests, 1, maxRequests]);

    inFlight[0]?.socket.destroy();
    await until(() => rig.audit.outcomes.notEvaluated === 1, 'the end of one of them');
    startClient(GET);
    await until(() => waiting === maxRequests + 1, 'the next request');
  });

  test('requests that a client pipelines are refused, and nothing behind them is read', async () => {
    rig = await startRig(() => undefined, { memoryBytes: 32 * MIB });
    const { socket } = startClient(GET.repeat(2_000));
    await until(() => rig.load.refused > 0, 'the refusal');
    const taken = rig.audit.ring.last;
    expect(taken).toBeLessThan(64);
    await new Promise((resolve) => socket.write(GET.repeat(2_000), resolve));
    socket.destroy();
    await until(() => rig.audit.outcomes.notEvaluated === taken, 'the end of those that were taken');
    expect([rig.audit.ring.last, rig.load.refused]).toEqual([taken, 1]);
  });
});

test('a client that does not read is cut before others are refused, and those get their responses', async () => {
  const large = Buffer.alloc(16 * MIB);
  rig = await startRig((request, response) => void response.end(request.url === '/' ? large : 'ok'), {
    memoryBytes: 8 * MIB,
  });
  // Room for four of them.
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
