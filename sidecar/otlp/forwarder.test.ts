import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogFields } from '../../runtime/logger.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { until } from '../../testing/time/until.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import { Forwarder, type Export } from './forwarder.ts';

const servers = new TestServers();
let listener: RequestListener;
let forwarder: Forwarder;
let log: [string, LogFields | undefined][];
/** Milliseconds that the forwarder waited. */
let waits: number[];

beforeEach(async () => {
  [log, waits] = [[], []];
  const port = await servers.http((request, response) => listener(request, response));
  forwarder = new Forwarder({
    url: new URL(`http://127.0.0.1:${port}`),
    clock: {
      sleep: (ms) => {
        waits.push(ms);
        return Promise.resolve();
      },
    },
    logger: {
      ...silentLogger,
      warn: (message, fields) => void log.push([message, fields]),
      info: (message, fields) => void log.push([message, fields]),
    },
  });
});
afterEach(async () => {
  await forwarder.close(0);
  await servers.close();
});

const anExport = (bytes = 1): Export => ({
  ...{ path: '/v1/traces', contentType: 'application/x-protobuf', contentEncoding: null },
  body: Buffer.alloc(bytes),
});

const respondsWith =
  (...statuses: number[]): RequestListener =>
  (request, response) => {
    request.resume().on('end', () => response.writeHead(statuses.shift() ?? 200).end());
  };

describe('a slow collector', () => {
  beforeEach(() => {
    listener = (request) => void request.resume();
  });

  test('fills the queue up to 64 exports', () => {
    for (let count = 0; count < 70; count += 1) forwarder.add(anExport());
    expect([forwarder.queued, forwarder.dropped.full, forwarder.bytes]).toEqual([64, 6, 64]);
    expect(log).toEqual([['OTLP export dropped', { reason: 'full', queued: 64 }]]);
  });

  test('fills the queue up to 8 MiB', () => {
    for (let count = 0; count < 3; count += 1) forwarder.add(anExport(4 * 1024 * 1024));
    expect([forwarder.queued, forwarder.dropped.full]).toEqual([2, 1]);
  });
});

test('an export is sent three times', async () => {
  listener = respondsWith(503, 429, 502);
  forwarder.add(anExport());
  await until(() => forwarder.dropped.failed === 1, 'the export to be dropped');
  expect(waits).toEqual([1_000, 4_000]);
  forwarder.add(anExport());
  await until(() => forwarder.forwarded === 1, 'the next export');
  expect(log).toEqual([
    ['OTLP export dropped', { reason: 'failed', status: 502 }],
    ['OTLP exports are forwarded again', { dropped: { full: 0, failed: 1, rejected: 0 } }],
  ]);
});

test('an export that succeeds at the second attempt is not logged', async () => {
  listener = respondsWith(503);
  forwarder.add(anExport());
  await until(() => forwarder.forwarded === 1, 'the export');
  expect([log, forwarder.bytes, forwarder.queued]).toEqual([[], 0, 0]);
});

test('an unreachable collector is logged once', async () => {
  listener = (request) => void request.socket.destroy();
  for (let count = 0; count < 3; count += 1) forwarder.add(anExport());
  await until(() => forwarder.dropped.failed === 3, 'the exports to be dropped');
  expect(log).toEqual([['OTLP export dropped', { reason: 'failed', error: expect.any(String) }]]);
});
