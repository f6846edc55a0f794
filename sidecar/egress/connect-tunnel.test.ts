import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { expect, test } from '@jest/globals';
import { startTunnel } from './connect-tunnel.ts';

/** A stream in place of a socket: TCP would join the chunks. */
const socket = (): Socket =>
  Object.assign(new PassThrough({ highWaterMark: 2 ** 20 }), {
    setTimeout: () => undefined,
  }) as unknown as Socket;

test('a handshake message in very many chunks is not valid, because each one is read with all before it', () => {
  const [client, upstream] = [socket(), socket()];
  const judged: unknown[] = [];
  const judge = (hello: unknown): boolean => judged.push(hello) === 0;
  const times = { helloMs: 60_000, idleMs: 60_000, halfOpenMs: 60_000 };
  startTunnel({ client, upstream, head: Buffer.alloc(0), judge, ...times });
  client.emit('data', Buffer.from('160301400001003f00', 'hex'));
  for (let count = 1; count < 4_095; count++) client.emit('data', Buffer.alloc(1));
  expect(judged).toEqual([]);
  client.emit('data', Buffer.alloc(1));
  expect(judged).toEqual([{ kind: 'malformed' }]);
  expect(client.destroyed && upstream.destroyed).toBe(true);
});
