import { once } from 'node:events';
import { connect, createServer, Socket, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../testing/time/until.ts';
import { readInto } from './read-buffer.ts';

const BUFFER = Buffer.alloc(64);

let server: Server;
let client: Socket;
let accepted: Socket;

beforeEach(async () => {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  [accepted] = (await once(server, 'connection')) as [Socket];
});
afterEach(() => {
  for (const socket of [client, accepted]) socket.destroy();
  server.close();
});

describe('an accepted socket', () => {
  test('reads into the buffer, in parts of its size', async () => {
    const parts: number[] = [];
    let text = '';
    const callback = (count: number, bytes: Uint8Array): boolean => {
      expect(bytes).toBe(BUFFER);
      parts.push(count);
      text += BUFFER.toString('latin1', 0, count);
      return true;
    };
    expect(readInto(accepted, { buffer: BUFFER, callback })).toBe(true);
    const sent = 'abc'.repeat(100);
    client.write(sent);
    await until(() => text.length >= sent.length, 'the bytes');
    expect(text).toBe(sent);
    expect(Math.max(...parts)).toBe(BUFFER.length);
  });

  test('stops when the callback returns false, until it is resumed', async () => {
    let text = '';
    const callback = (count: number): boolean => {
      text += BUFFER.toString('latin1', 0, count);
      return false;
    };
    readInto(accepted, { buffer: BUFFER, callback });
    client.write('x'.repeat(100));
    await until(() => text !== '', 'the first part');
    expect(text).toHaveLength(64);
    accepted.resume();
    await until(() => text.length === 100, 'the second part');
  });

  test('is an ordinary stream of the bytes that the callback pushes, with its end', async () => {
    const callback = (count: number): boolean => accepted.push(Buffer.from(BUFFER.subarray(0, count)));
    readInto(accepted, { buffer: BUFFER, callback });
    const sent = Buffer.alloc(300_000, 'abcdefg');
    client.end(sent);
    const received: Buffer[] = [];
    // An iterator stops the socket again and again.
    for await (const chunk of accepted) received.push(chunk as Buffer);
    expect(Buffer.concat(received).equals(sent)).toBe(true);
  });
});

test('does not change a socket that has a buffer, or no connection', () => {
  const none = { buffer: BUFFER, callback: () => true };
  expect(readInto(new Socket({ onread: none }), none)).toBe(false);
  expect(readInto(new Socket(), none)).toBe(false);
});
