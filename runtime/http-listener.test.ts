import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { ManualClock } from '../testing/manual-clock.ts';
import { until } from '../testing/proxy-rig.ts';
import { listen, type Listener } from './http-listener.ts';

/** More than the buffers of a connection that nobody reads hold. */
const LARGE = Buffer.alloc(64 * 1024 * 1024, 'x');
/** On the tests' clock. */
const GRACE_MS = 25_000;

let listener: Listener;
let clock: ManualClock;
let client: Socket;
afterEach(() => void client.destroy());

async function start(handler: RequestListener): Promise<void> {
  clock = new ManualClock('2026-03-01T10:00:00Z');
  listener = await listen({ handler, port: 0, host: '127.0.0.1', clock });
  client = connect(listener.port, '127.0.0.1').on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
}

test('an answer that its client takes slowly arrives whole, though the server stops meanwhile', async () => {
  let isKnown = false;
  await start((_request, response) => {
    response.end(LARGE);
    isKnown = true;
  });
  await until(() => isKnown, 'the request');
  const { server } = listener;
  const look = server.closeIdleConnections.bind(server);
  let looks = 0;
  server.closeIdleConnections = () => {
    look();
    looks += 1;
  };
  const closed = listener.close(GRACE_MS);
  await until(() => looks === 3, 'some looks for idle connections');
  let bytes = 0;
  let head = '';
  client.on('data', (chunk) => {
    if (!head.includes('\r\n\r\n')) head += chunk.toString('latin1');
    bytes += chunk.length;
  });
  await once(client, 'close');
  expect(bytes - head.indexOf('\r\n\r\n') - 4).toBe(LARGE.length);
  await closed;
});

test('a connection that waits for its next request does not hold the end, nor one whose answer comes meanwhile', async () => {
  let answer: (() => void) | undefined;
  await start((request, response) => {
    if (request.url === '/now') response.end('ok');
    else answer = () => void response.end('late');
  });
  const agent = new Agent({ keepAlive: true });
  const [response] = (await once(get({ port: listener.port, path: '/now', agent }), 'response')) as [
    IncomingMessage,
  ];
  await once(response.resume(), 'end');
  let text = '';
  client.on('data', (chunk) => (text += chunk.toString()));
  await until(() => answer !== undefined, 'the request');
  const closed = listener.close(GRACE_MS);
  answer?.();
  await closed;
  await until(() => client.closed, 'the end of the connection');
  agent.destroy();
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*late$/);
});

test('what is not answered in the time that it has is cut', async () => {
  let hasCome = false;
  await start(() => (hasCome = true));
  client.resume();
  await until(() => hasCome, 'the request');
  const closed = listener.close(GRACE_MS);
  const grace = await clock.nextSleep();
  expect([grace.ms, client.closed]).toEqual([GRACE_MS, false]);
  grace.wake();
  await closed;
  await until(() => client.closed, 'the end of the connection');
});
