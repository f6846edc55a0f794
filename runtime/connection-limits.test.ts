import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { aMoment } from '../testing/time/moment.ts';
import { until } from '../testing/time/until.ts';
import type { ConnectionLimits } from './connection-limits.ts';
import { listen, type Listener } from './http-listener.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const MIB = 1024 * 1024;

let listener: Listener;
let refused: number;
let cut: number;
/** Responses of the requests that reached the handler. */
let begun: ServerResponse[];
const clients: Socket[] = [];

beforeEach(() => {
  [refused, cut, begun] = [0, 0, []];
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await listener.close(0);
});

async function start(limits: Partial<ConnectionLimits> = {}, handler?: RequestListener): Promise<void> {
  listener = await listen({
    handler: (request, response) => {
      begun.push(response);
      handler?.(request, response);
    },
    port: 0,
    host: '0.0.0.0',
    limits: {
      maxConnections: 4,
      maxUnfinishedHeads: 4,
      maxUnanswered: 4,
      maxHeaderFields: 100,
      maxUnreadBytes: MIB,
      groupOf: ({ localAddress = '' }) => localAddress,
      onRefused: () => (refused += 1),
      onCut: () => (cut += 1),
      ...limits,
    },
  });
}

interface Client {
  socket: Socket;
  text: () => string;
}

/** Connects to a loopback address. Each address is a group. */
async function open(address = '127.0.0.1'): Promise<Client> {
  let text = '';
  const socket = connect(listener.port, address).on('error', () => undefined);
  clients.push(socket);
  await once(socket, 'connect');
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  return { socket, text: () => text };
}

test('handles pipelined requests one after the other', async () => {
  await start();
  const { socket, text } = await open();
  socket.write(GET.repeat(3));
  for (let count = 1; count <= 3; count += 1) {
    await until(() => begun.length === count, 'the request');
    await aMoment();
    expect(begun).toHaveLength(count);
    begun.at(-1)?.end(`response ${count}`);
  }
  await until(() => text().includes('response 3'), 'the last response');
  expect([refused, cut]).toEqual([0, 0]);
});

test('ends a connection with too many unanswered requests with 503, and ignores further requests', async () => {
  await start();
  const { socket, text } = await open();
  socket.write(GET.repeat(1_000));
  await until(() => refused === 1, 'the 503 response');
  for (let count = 1; count <= 4; count += 1) {
    await until(() => begun.length === count, 'the request');
    begun.at(-1)?.end(`response ${count}`);
  }
  await once(socket, 'close');
  expect(text().match(/HTTP\/1\.1 \d+/g)).toEqual([...Array<string>(4).fill('HTTP/1.1 200'), 'HTTP/1.1 503']);
  expect(text()).toMatch(/^retry-after: 1$/im);
  expect(text().match(/^x-content-type-options: nosniff$/gim)).toHaveLength(5);
  expect([begun.length, refused]).toEqual([4, 1]);
});

test('rejects a request with too many header fields with 431', async () => {
  await start();
  const { socket, text } = await open();
  socket.write(`GET / HTTP/1.1\r\nHost: a\r\n${'a: b\r\n'.repeat(100)}\r\n`);
  await once(socket, 'close');
  expect(text()).toMatch(/^HTTP\/1\.1 431 .*^x-content-type-options: nosniff\r$/ims);
  expect(begun).toEqual([]);
});

test('serves a new connection at the connection limit and closes the longest idle connection', async () => {
  await start({}, (_request, response) => void response.end('ok'));
  const idle: Client[] = [];
  for (let i = 0; i < 4; i += 1) {
    idle.push(await open());
    idle[i]?.socket.write('GET / HTTP/1.1\r\nX: ');
  }
  const polite = await open();
  polite.socket.write(GET);
  await until(() => polite.text().endsWith('ok'), 'the response');
  await until(() => idle[0]?.socket.closed === true, 'the end of the longest idle');
  expect([cut, idle.filter(({ socket }) => socket.closed).length]).toEqual([1, 1]);
});

const BEGUN = 'GET / HTTP/1.1\r\nX: ';
const REST = 'x\r\nHost: a\r\n\r\n';

test('above the limit of incomplete heads, the oldest of them is closed, and completed ones do not count', async () => {
  await start({ maxConnections: 100 }, (_request, response) => void response.end('ok'));
  const begunHeads: Client[] = [];
  for (let i = 0; i < 10; i += 1) {
    const client = await open();
    client.socket.write(BEGUN + REST);
    await until(() => client.text().endsWith('ok'), 'the response');
    client.socket.write(BEGUN);
    begunHeads.push(client);
    await aMoment();
    expect(begunHeads.map(({ socket }) => socket.closed)).toEqual(
      begunHeads.map((_, index) => index < i - 3),
    );
  }
  expect(cut).toBe(6);
  begunHeads[9]?.socket.write(REST);
  await until(() => begunHeads[9]?.text().match(/ok/g)?.length === 2, 'the response to a slow head');
});

test('closes no connection with a response in progress while another connection is idle', async () => {
  await start();
  const busy = await open();
  busy.socket.write(GET);
  await until(() => begun.length === 1, 'the request');
  for (let i = 0; i < 6; i += 1) await open();
  await until(() => cut === 3, 'the cuts');
  expect(busy.socket.closed).toBe(false);
});

test('connections of one group do not count towards the limit of another group', async () => {
  await start({}, (_request, response) => void response.end('ok'));
  const loopback = await open('127.0.0.1');
  for (let i = 0; i < 20; i += 1) await open('127.0.0.2');
  await until(() => cut === 16, 'the cuts');
  expect(loopback.socket.closed).toBe(false);
  loopback.socket.write(GET);
  await until(() => loopback.text().endsWith('ok'), 'the response');
});

test('cuts the oldest unread responses above the limit of unread bytes, never the newest response', async () => {
  const large = Buffer.alloc(32 * MIB);
  await start({}, (_request, response) => void response.end(large));
  const unread: Client[] = [];
  for (let i = 0; i < 3; i += 1) {
    const client = await open();
    unread.push(client);
    client.socket.pause().write(GET);
    await until(() => begun.length === i + 1, 'the request');
  }
  await until(() => cut === 2, 'the cuts');
  await until(() => begun.filter((response) => response.destroyed).length === 2, 'their end');
  expect(begun.map(({ destroyed }) => destroyed)).toEqual([true, true, false]);
});
