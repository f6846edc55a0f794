import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { stillness } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';
import { ResponseWriter } from './response-writer.ts';

let server: Server;
let respond: (response: ServerResponse) => void;
let steps: string[];

beforeEach(async () => {
  steps = [];
  server = createServer((_request, response) => respond(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const source = { pause: () => void steps.push('pause'), resume: () => void steps.push('resume') };
const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const bytesOf = (length: number): Buffer => Buffer.from(Array.from({ length }, (_, index) => index % 256));

describe('delivers every byte unchanged', () => {
  test.each([
    ['short', [300], 'in one write'],
    ['just short', [15 * 1024], 'in one write'],
    ['long', [15 * 1024 + 1], 'in one write'],
    ['several short', [1, 256, 700], 'in one write'],
    ['together long', [9_000, 9_000, 1], 'in one write'],
    ['several', [300, 20_000, 5], 'in several writes'],
  ])('%s, %j bytes, %s', async (_title, lengths, flushes) => {
    const pieces = lengths.map(bytesOf);
    for (const length of [undefined, Buffer.concat(pieces).length]) {
      respond = (response) => {
        const writer = new ResponseWriter(response, source);
        response.writeHead(200, length === undefined ? {} : { 'Content-Length': length });
        writer.begin();
        for (const piece of pieces) {
          writer.write(piece);
          if (flushes === 'in several writes') writer.flush();
        }
        writer.end();
      };
      const response = await fetch(url());
      expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(pieces))).toBe(true);
    }
  });
});

test('sends a head before there is a body, and each piece before there is another piece', async () => {
  let writer: ResponseWriter | null = null;
  respond = (response) => {
    writer = new ResponseWriter(response, source);
    response.writeHead(200);
    writer.begin();
    writer.flush();
  };
  const reader = (await fetch(url())).body!.getReader();
  for (const word of ['one', 'two']) {
    writer!.write(Buffer.from(word));
    writer!.flush();
    expect(Buffer.from((await reader.read()).value).toString()).toBe(word);
  }
  writer!.end();
  expect((await reader.read()).done).toBe(true);
});

test('pauses the source while the client does not read', async () => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let written = 0;
  let isClosed = false;
  respond = (response) => {
    response.once('close', () => (isClosed = true));
    const writer = new ResponseWriter(response, source);
    response.writeHead(200);
    const fill = (): void => {
      if (response.destroyed) return;
      if (!writer.isFull) {
        writer.write(Buffer.alloc(64 * 1024));
        writer.flush();
        written += 1;
      }
      setImmediate(fill);
    };
    fill();
  };
  socket.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => written > 0, 'the request');
  await stillness(() => written);
  const before = written;
  expect(steps.at(-1)).toBe('pause');
  socket.resume();
  await until(() => written > before, 'more of the response');
  expect(steps).toContain('resume');
  socket.destroy();
  await until(() => isClosed, 'the end of the response');
});

test('ignores data after the client has disconnected', async () => {
  let writer: ResponseWriter | null = null;
  let response: ServerResponse | null = null;
  respond = (given) => {
    response = given;
    writer = new ResponseWriter(given, source);
    given.writeHead(200);
    writer.begin();
    writer.flush();
  };
  const aborter = new AbortController();
  await fetch(url(), { signal: aborter.signal });
  aborter.abort();
  await until(() => response!.destroyed, 'the end of the connection');
  writer!.write(Buffer.from('late'));
  writer!.flush();
  await new Promise(setImmediate);
  expect(steps).toEqual([]);
});
