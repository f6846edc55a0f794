import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { listen, type Listener } from '../../runtime/http-listener.ts';
import { withUploadBudget } from '../../runtime/upload-budget.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { createReceiver } from './receiver.ts';

const SIZE = 1_000;
let listener: Listener;
let requests: IncomingMessage[];
let sockets: Socket[];

beforeEach(async () => {
  [requests, sockets] = [[], []];
  const nothing = (): void => undefined;
  const callbacks = { onSpans: nothing, onResponse: nothing, onMalformed: nothing, onError: nothing };
  const receiver = createReceiver({ ...callbacks, forward: null });
  const limits = { bytes: 100, bodyMs: 30_000, slowRate: 40, clock: new ManualClock('2026-03-01T10:00:00Z') };
  const handler = withUploadBudget(receiver, limits);
  listener = await listen({
    handler: (request, response) => {
      requests.push(request);
      handler(request, response);
    },
    ...{ port: 0, host: '127.0.0.1' },
  });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await listener.close(0);
});

const HEAD = `POST /v1/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/x-protobuf\r\nContent-Length: ${SIZE}\r\n\r\n`;

/** Begins an upload with the first bytes of its body, and waits until the receiver has read them. */
async function upload(
  bytes: number,
): Promise<{ socket: Socket; request: IncomingMessage; status: Promise<string> }> {
  const socket = connect(listener.port, '127.0.0.1');
  sockets.push(socket);
  const count = requests.length;
  socket.write(HEAD + 'x'.repeat(bytes));
  const status = once(socket, 'data').then(([chunk]) => String(chunk).split('\r\n')[0] ?? '');
  await until(() => requests[count]?.socket.bytesRead === HEAD.length + bytes);
  return { socket, request: requests[count]!, status };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

test('a body above the budget for uploads is not read until an older one is complete', async () => {
  const older = await upload(60);
  const newer = await upload(60);
  const rest = 'x'.repeat(SIZE - 60);
  newer.socket.write(rest);
  await until(() => newer.request.socket.bytesRead === HEAD.length + SIZE);
  expect([newer.request.isPaused(), newer.request.readableLength]).toEqual([true, SIZE - 60]);
  older.socket.write(rest);
  expect(await older.status).toBe('HTTP/1.1 200 OK');
  expect(await newer.status).toBe('HTTP/1.1 200 OK');
});
