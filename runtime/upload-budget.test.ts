import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { listen, type Listener } from './http-listener.ts';
import { CHECK_MS, withUploadBudget } from './upload-budget.ts';

const BODY_MS = 30_000;
let clock: ManualClock;
let listener: Listener;
/** Body bytes that the handler received, by path. */
let read: Map<string, number>;
/** Paths of the ended requests. */
let over: Set<string>;
let sockets: Socket[];

beforeEach(async () => {
  clock = new ManualClock('2026-03-01T10:00:00.000Z');
  [read, over, sockets] = [new Map(), new Set(), []];
  const ended = over;
  const handler = withUploadBudget(
    (request, response) => {
      const path = request.url ?? '';
      read.set(path, 0);
      request.on('data', ({ length }: Buffer) => read.set(path, read.get(path)! + length));
      request.on('end', () => response.end(`done ${path}`));
      response.once('close', () => ended.add(path));
    },
    { bytes: 100, bodyMs: BODY_MS, slowRate: 40, clock },
  );
  listener = await listen({ handler, port: 0, host: '127.0.0.1' });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await listener.close(0);
});

interface Sent {
  socket: Socket;
  text: Promise<string>;
}

/** Sends a request head and the given part of its body. */
function send(path: string, headers: string, body = ''): Sent {
  const socket = connect(listener.port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n\r\n${body}`);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return { socket, text: once(socket, 'close').then(() => Buffer.concat(chunks).toString()) };
}
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
const untilRead = (path: string, bytes: number) => until(() => read.get(path) === bytes);
/** Sends a body of `of` bytes without its end, and waits until `bytes` bytes have arrived. */
async function part(path: string, bytes: number, of = 1_000): Promise<Sent> {
  const sent = send(path, `Content-Length: ${of}`, 'x'.repeat(bytes));
  await untilRead(path, bytes);
  return sent;
}
async function whole(path: string, bytes: number): Promise<void> {
  const { text } = send(path, `Content-Length: ${bytes}`, 'x'.repeat(bytes));
  expect(await text).toContain(`done ${path}`);
}
async function nextCheck(): Promise<void> {
  const sleep = await clock.nextSleep();
  expect(sleep.ms).toBe(CHECK_MS);
  sleep.wake();
}

test('slow uploads of large bodies do not block other requests', async () => {
  for (let index = 0; index < 50; index += 1) await part(`/slow-${index}`, 1);
  await whole('/large', 5_000);
  const chunked = send('/chunked', 'Transfer-Encoding: chunked', '1\r\nx\r\n0\r\n\r\n');
  expect(await chunked.text).toContain('done /chunked');
  expect(over.size).toBe(2);
});

test('cuts slow uploads when the budget is used up, the largest first', async () => {
  const stalled = [await part('/small', 30), await part('/large', 40)];
  await nextCheck();
  const polite = await part('/polite', 35, 60);
  expect(await stalled[1]?.text).toBe('');
  polite.socket.write('x'.repeat(25));
  expect(await polite.text).toContain('done /polite');
  expect(over).toEqual(new Set(['/large', '/polite']));
});

test('cuts all uploads that stall after the budget is used up', async () => {
  const stalled = [await part('/1', 60), await part('/2', 60), await part('/3', 60)];
  const polite = send('/polite', 'Content-Length: 70', 'x'.repeat(30));
  await untilRead('/polite', 30);
  polite.socket.write('x'.repeat(40));
  await nextCheck();
  for (const { text } of stalled.slice(0, 2)) expect(await text).toBe('');
  expect(await polite.text).toContain('done /polite');
});

test('reads only the oldest upload while the budget is used up and no upload is slow, then the next', async () => {
  const first = await part('/first', 60, 200);
  const second = await part('/second', 60, 70);
  second.socket.write('x'.repeat(10));
  for (const bytes of [100, 199]) {
    first.socket.write('x'.repeat(bytes - read.get('/first')!));
    await untilRead('/first', bytes);
  }
  expect(read.get('/second')).toBe(60);
  first.socket.write('x');
  expect(await first.text).toContain('done /first');
  expect(await second.text).toContain('done /second');
});

test('reads a body that arrives in one chunk while the budget is used up', async () => {
  await part('/1', 60);
  await part('/2', 60);
  await whole('/small', 10);
});

test('closes the connection of an endless body, even while the budget is free', async () => {
  const slow = await part('/slow', 1);
  for (let checks = 0; checks < BODY_MS / CHECK_MS; checks += 1) {
    expect(over.size).toBe(0);
    await nextCheck();
  }
  expect(await slow.text).toBe('');
  expect(over).toEqual(new Set(['/slow']));
});

test('releases the budget of a client that disconnects', async () => {
  const gone = await part('/gone', 90);
  const waits = await part('/waits', 20, 30);
  waits.socket.write('x'.repeat(10));
  gone.socket.destroy();
  expect(await waits.text).toContain('done /waits');
});
