import { readFile, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogFields } from '../../runtime/logger.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { DashboardPlane } from '../../testing/browser/dashboard-plane.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import { lineMaker, RecordFiles } from '../../testing/record/record-files.ts';
import { sampleEvents } from '../../testing/record/sample-events.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { until } from '../../testing/time/until.ts';
import { Senders } from './senders.ts';

interface Received {
  url: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
}

const KEY = 'the-key-of-the-agent';
const servers = new TestServers();
let files: RecordFiles;
let clock: ManualClock;
let received: Received[];
/** The responses of the server in turn; then 200. 0: the connection is cut. */
let responses: { status: number; headers?: Record<string, string>; body?: unknown }[];
let url: URL;
let log: [message: string, fields: LogFields | undefined][];
let senders: Senders;

beforeEach(async () => {
  files = await RecordFiles.open();
  clock = new ManualClock('2026-03-01T12:00:00Z');
  [received, responses, log] = [[], [], []];
  const port = await servers.http((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const { status, headers, body } = responses.shift() ?? { status: 200 };
      const all = Buffer.concat(chunks);
      const isCompressed = request.headers['content-encoding'] === 'gzip';
      const text = (isCompressed ? gunzipSync(all) : all).toString();
      received.push({ url: request.url, headers: request.headers, body: text });
      if (status === 0) request.socket.destroy();
      else response.writeHead(status, headers).end(body === undefined ? '' : JSON.stringify(body));
    });
  });
  url = new URL(`http://127.0.0.1:${port}/base`);
});
afterEach(async () => {
  await senders.close(0);
  await servers.close();
  await files.close();
});

type To = 'control-plane' | 'otlp' | 'control-plane from memory';

function start(to: To, bearer = KEY): void {
  const note = (message: string, fields?: LogFields): void => void log.push([message, fields]);
  const authorize = (signal: AbortSignal) =>
    Promise.resolve({ endpoint: { base: url, caFile: null, timeoutMs: 10_000 }, bearer, signal });
  senders = new Senders({
    path: to === 'control-plane from memory' ? null : files.path,
    forward: to === 'otlp' ? 'off' : 'decisions',
    collectorUrl: to === 'otlp' ? url : null,
    ...{ agent: 'shop', clock, logger: { ...silentLogger, warn: note, info: note } },
  });
  senders.start(authorize);
}

const sequencesIn = ({ body }: Received): number[] =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { metadata: { sequence: number } }).metadata.sequence);

const counts = (): [sent: number, rejected: number] => {
  const [sender] = senders.all;
  return [sender?.sent ?? -1, sender?.lost.rejected ?? -1];
};

test('the control plane gets compressed lines with the credential of the heartbeats', async () => {
  const { request, failOpen } = sampleEvents();
  await files.write(1, request);
  await files.write(1, failOpen);
  start('control-plane');
  await until(() => received.length > 0, 'a request');
  const [first] = received;
  expect(first).toMatchObject({
    url: '/base/api/v1/audit-events',
    headers: {
      'content-type': 'application/x-ndjson',
      'content-encoding': 'gzip',
      authorization: `Bearer ${KEY}`,
    },
  });
  const [, line] = (await readFile(files.path, 'utf8')).split('\n');
  expect(first?.body).toBe(`${line}\n`);
});

test('a collector gets the lines with their time and severity', async () => {
  const { request, failOpen, deniedWithoutIdentity } = sampleEvents();
  for (const event of [request, failOpen, deniedWithoutIdentity]) await files.write(1, event);
  start('otlp');
  await until(() => received.length > 0, 'a request');
  const lines = (await readFile(files.path, 'utf8')).trimEnd().split('\n');
  expect(received[0]?.url).toBe('/base/v1/logs');
  expect(received[0]?.headers).toMatchObject({ 'content-type': 'application/json' });
  expect(received[0]?.headers).not.toHaveProperty('authorization');
  const record = (severityNumber: number, index: number) => ({
    ...{ timeUnixNano: expect.stringMatching(/^17\d{17}$/), severityNumber },
    body: { stringValue: lines[index] },
  });
  expect(JSON.parse(received[0]?.body ?? '')).toEqual({
    resourceLogs: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
        scopeLogs: [
          { scope: { name: 'agent-audit' }, logRecords: [record(9, 0), record(13, 1), record(17, 2)] },
        ],
      },
    ],
  });
});

describe('a response', () => {
  test.each<[to: To, response: (typeof responses)[number], pauseMs: number]>([
    ['control-plane', { status: 0 }, 1_000],
    ['control-plane', { status: 401 }, 1_000],
    ['control-plane', { status: 403 }, 1_000],
    ['control-plane', { status: 404 }, 300_000],
    ['control-plane', { status: 429, headers: { 'retry-after': '7' } }, 7_000],
    ['control-plane', { status: 500 }, 1_000],
    ['control-plane', { status: 501, body: { detail: 'this store keeps no events' } }, 300_000],
    ['control-plane', { status: 503, headers: { 'retry-after': '3' } }, 3_000],
    ['control-plane from memory', { status: 503 }, 1_000],
    ['otlp', { status: 0 }, 1_000],
    ['otlp', { status: 429, headers: { 'retry-after': '9' } }, 9_000],
    ['otlp', { status: 502 }, 1_000],
    ['otlp', { status: 503 }, 1_000],
    ['otlp', { status: 504 }, 1_000],
  ])('of %s %j delays the lines, and loses none', async (to, response, pauseMs) => {
    responses.push(response);
    await files.write(2);
    start(to);
    const line = lineMaker();
    senders.onBatch?.([line(sampleEvents().failOpen), line(sampleEvents().suspended)]);
    const isFailed = (): boolean => log.length > 0;
    let pause = await clock.nextSleep();
    // The sender from memory may have waited for its first line.
    while (!isFailed()) {
      pause.wake();
      pause = await clock.nextSleep();
    }
    expect(pause.ms / pauseMs).toBeGreaterThanOrEqual(1);
    expect(pause.ms / pauseMs).toBeLessThanOrEqual(1.1);
    expect(counts()).toEqual([0, 0]);
    pause.wake();
    await until(() => counts()[0] === 2, 'the lines');
    expect(received).toHaveLength(2);
    expect(received[1]?.body).toBe(received[0]?.body);
    expect(log.map(([message]) => message)).toEqual([
      'audit events not delivered',
      'audit events delivered again',
    ]);
    expect(JSON.stringify(log)).not.toContain(KEY);
  });

  test.each<[to: To, response: (typeof responses)[number], rejected: number]>([
    ['control-plane', { status: 400, body: { detail: 'line 1 is not valid' } }, 2],
    ['control-plane', { status: 413 }, 2],
    ['otlp', { status: 400 }, 2],
    ['otlp', { status: 401 }, 2],
    ['otlp', { status: 200, body: { partialSuccess: { rejectedLogRecords: '1' } } }, 1],
    ['otlp', { status: 200, body: { partialSuccess: {} } }, 0],
  ])('of %s %j rejects %p of 2 lines', async (to, response, rejected) => {
    responses.push(response);
    await files.write(2);
    start(to);
    const pause = await clock.nextSleep();
    expect(counts()).toEqual([2 - rejected, rejected]);
    await files.write(1);
    pause.wake();
    await until(() => received.length === 2, 'the next line');
    expect(log.map(([message]) => message)).toEqual(rejected === 0 ? [] : ['audit events rejected']);
  });
});

test('failures are logged once, and their pauses become longer up to a minute', async () => {
  responses.push(...Array.from({ length: 9 }, () => ({ status: 500 })));
  await files.write(1);
  start('control-plane');
  const pauses: number[] = [];
  while (pauses.length < 9) {
    const pause = await clock.nextSleep();
    pauses.push(pause.ms);
    pause.wake();
  }
  await until(() => counts()[0] === 1, 'the line');
  const seconds = pauses.map((ms) => Math.floor(ms / 1_000));
  expect(seconds.slice(0, 4)).toEqual([1, 2, 4, 8]);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(66_000);
  expect(pauses.at(-1)).toBeGreaterThanOrEqual(60_000);
  expect(log.map(([message]) => message)).toEqual([
    'audit events not delivered',
    'audit events delivered again',
  ]);
});

test('a control plane keeps each decision once, also of a process that was killed and of rotated files', async () => {
  const plane = await DashboardPlane.open();
  const { request, failOpen, deniedWithoutIdentity } = sampleEvents();
  const startOnPlane = (): Promise<void> => {
    url = new URL(plane.url);
    start('control-plane', 'pod/retail/shop/shop-1');
    return until(async () => {
      (await clock.nextSleep()).wake();
      return senders.all[0]?.sent !== 0;
    }, 'the lines');
  };
  try {
    for (const event of [request, failOpen, deniedWithoutIdentity]) await files.write(600, event);
    await files.rotate();
    await startOnPlane();
    await senders.close(10_000);
    // Before the position was stored.
    await rm(`${files.path}.forward`);
    await files.write(2, failOpen);
    await startOnPlane();
    await senders.close(10_000);
    expect([log, senders.all[0]?.sent]).toEqual([[], 1_202]);
    const kept = await plane.store.auditEvents?.find({ namespaces: null, limit: 2_000, after: null });
    const written = (await readFile(`${files.path}.1`, 'utf8')) + (await readFile(files.path, 'utf8'));
    const decisions = written.trimEnd().split('\n').slice(600);
    expect(kept?.lines.toSorted()).toEqual(decisions.toSorted());
  } finally {
    await senders.close(0);
    await plane.close();
  }
});

test('another process continues after the last line that was sent', async () => {
  await files.write(2);
  start('control-plane');
  await clock.nextSleep();
  await senders.close(0);
  await files.write(1);
  start('control-plane');
  await until(() => received.length === 2, 'the next line');
  expect(received.map(sequencesIn)).toEqual([[1, 2], [3]]);
});

describe('at the end of the process', () => {
  test.each(['control-plane', 'control-plane from memory'] as const)(
    'the last lines are sent to the %s',
    async (to) => {
      start(to);
      await clock.nextSleep();
      await files.write(1);
      senders.onBatch?.([lineMaker()(sampleEvents().failOpen)]);
      await senders.close(1_000);
      expect(received.map(sequencesIn)).toEqual([[1]]);
    },
  );

  test('a receiver that fails is tried once more', async () => {
    responses.push({ status: 503 }, { status: 503 }, { status: 503 });
    await files.write(1);
    start('control-plane');
    await clock.nextSleep();
    await senders.close(1_000);
    expect(received).toHaveLength(2);
  });

  test('a receiver that does not respond is not waited for longer than the grace time', async () => {
    const port = await servers.tcp(() => undefined);
    url = new URL(`http://127.0.0.1:${port}`);
    await files.write(1);
    start('otlp');
    const closed = senders.close(1_000);
    (await clock.nextSleep()).wake();
    await closed;
    expect(counts()).toEqual([0, 0]);
  });
});

test('in memory, lines above 2 MiB are dropped and counted', async () => {
  responses.push({ status: 503 });
  start('control-plane from memory');
  const line = lineMaker()(sampleEvents().failOpen);
  const fitting = Math.floor((2 * 1024 * 1024) / (line.length + 1));
  senders.onBatch?.(Array.from({ length: fitting + 5 }, () => line));
  expect(senders.all[0]?.lost.full).toBe(5);
});

test('in memory, a text that is not an event is counted and not sent', async () => {
  start('control-plane from memory');
  const idle = await clock.nextSleep();
  senders.onBatch?.(['not an event', lineMaker()(sampleEvents().failOpen), 'not an event']);
  idle.wake();
  await until(() => counts()[0] === 1, 'the line');
  await clock.nextSleep();
  expect([received.length, senders.all[0]?.lost.invalid]).toEqual([1, 2]);
});
