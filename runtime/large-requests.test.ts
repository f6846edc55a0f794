import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ManualClock } from '../testing/manual-clock.ts';
import { listen, type Listener } from './http-listener.ts';
import { oneLargeRequestAtATime } from './large-requests.ts';

const HOLD_MS = 30_000;
let clock: ManualClock;
let listener: Listener;
/** Requests that the handler has seen and not answered, by path. */
let seen: string[];
let answer: Map<string, () => void>;
let sockets: Socket[];
/** Requests whose head the server has read, and those that are over. */
let arrived: number;
let over: Set<string>;

beforeEach(async () => {
  clock = new ManualClock('2026-03-01T10:00:00.000Z');
  [seen, answer, sockets, arrived, over] = [[], new Map(), [], 0, new Set()];
  const handler = oneLargeRequestAtATime(
    (request, response) => {
      const path = request.url ?? '';
      seen.push(path);
      answer.set(path, () => void request.resume().once('end', () => response.end(path)));
    },
    { above: 10, holdMs: HOLD_MS, mostWaiting: 2, clock },
  );
  listener = await listen({ handler, port: 0, host: '127.0.0.1' });
  listener.server.on('request', ({ url = '' }, response) => {
    arrived += 1;
    response.once('close', () => over.add(url));
  });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await listener.close(0);
});

/** Sends a head, and as much of its body as given. */
function send(path: string, headers: string, body = ''): { socket: Socket; text: Promise<string> } {
  const socket = connect(listener.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n\r\n${body}`);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { socket, text: once(socket, 'close').then(() => Buffer.concat(chunks).toString()) };
}
const large = (path: string) => send(path, 'Content-Length: 11', 'x'.repeat(11));
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
const untilSeen = (count: number) => until(() => seen.length >= count);
const untilArrived = (count: number) => until(() => arrived >= count);
async function small(path: string): Promise<void> {
  const { text } = send(path, 'Content-Length: 1', 'x');
  await until(() => seen.includes(path));
  answer.get(path)?.();
  expect(await text).toContain(path);
}

test('large requests come one after the other, small ones at once', async () => {
  const one = large('/1');
  await untilSeen(1);
  const two = large('/2');
  await untilArrived(2);
  const chunked = send('/3', 'Transfer-Encoding: chunked', '1\r\nx\r\n0\r\n\r\n');
  await untilArrived(3);
  await small('/small');
  expect(seen).toEqual(['/1', '/small']);
  answer.get('/1')?.();
  expect(await one.text).toContain('/1');
  await untilSeen(3);
  answer.get('/2')?.();
  expect(await two.text).toContain('/2');
  await untilSeen(4);
  answer.get('/3')?.();
  expect(await chunked.text).toContain('/3');
});

test('a large request that does not end loses its connection, and the next one has its turn', async () => {
  const slow = send('/slow', 'Content-Length: 11', 'x');
  await untilSeen(1);
  const next = large('/next');
  await untilArrived(2);
  const hold = await clock.nextSleep();
  expect(hold.ms).toBe(HOLD_MS);
  hold.wake();
  expect(await slow.text).toBe('');
  await untilSeen(2);
  answer.get('/next')?.();
  expect(await next.text).toContain('/next');
});

test('one that waits and goes away frees its place; beyond the places there is 503', async () => {
  const first = large('/1');
  await untilSeen(1);
  const gone = large('/gone');
  await untilArrived(2);
  const kept = large('/kept');
  await untilArrived(3);
  const refused = await large('/refused').text;
  expect(refused).toMatch(/^HTTP\/1.1 503 /);
  expect(refused).toContain('too many large requests are waiting');
  gone.socket.destroy();
  await until(() => over.has('/gone'));
  answer.get('/1')?.();
  await first.text;
  await untilSeen(2);
  answer.get('/kept')?.();
  expect(await kept.text).toContain('/kept');
  expect(seen).not.toContain('/gone');
});
