import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Response } from 'express';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openEventStream, type EventStream } from '../../testing/http/event-stream.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { until } from '../../testing/time/until.ts';
import type { AuditLog } from './audit-log.ts';
import { AuditStreams } from './audit-streams.ts';
import { auditLogOf } from '../../testing/sidecar/audit-log.ts';

let audit: AuditLog;
let clock: ManualClock;
let stopping: AbortController;
let server: Server;
let url: string;
/** The readers' connections, in the order of their arrival. */
let connections: Socket[];

beforeEach(async () => {
  clock = new ManualClock('2026-03-01T10:00:00Z');
  stopping = new AbortController();
  audit = auditLogOf(clock);
  const streams = new AuditStreams({ audit, clock, signal: stopping.signal });
  server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    streams.connect(response as Response, { since: null, limit: undefined });
  });
  connections = [];
  server.on('connection', (socket: Socket) => connections.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function pass(count: number, target = '/'): void {
  for (let index = 0; index < count; index++) {
    const recording = audit.arrive({ requestId: `r-${index}`, method: 'GET', target });
    recording.complete({ statusCode: 200, aborted: false, atMs: clock.monotonicMs() });
  }
}
const entriesOf = ({ events }: EventStream): number => events.filter(({ event }) => event === 'entry').length;
const lostOf = ({ events }: EventStream): number =>
  events
    .filter(({ event }) => event === 'gap')
    .reduce((sum, { data }) => sum + (data as { lost: number }).lost, 0);
/** A path so long that few entries fill a connection's buffers. */
const LONG = `/${'x'.repeat(2_000)}`;

/** Completes requests until this connection's buffers are full; returns the number of requests. */
async function fillBuffers(connection: Socket): Promise<number> {
  let passed = 0;
  const sentBytes = (): number => connection.bytesWritten - connection.writableLength;
  for (let stillFor = 0, before = -1; stillFor < 3; before = sentBytes()) {
    pass(500, LONG);
    passed += 500;
    await aMoment();
    stillFor = connection.writableLength > 0 && sentBytes() === before ? stillFor + 1 : 0;
  }
  return passed;
}

test('an idle stream sends a heartbeat every 15 seconds', async () => {
  const stream = await openEventStream(url);
  for (let beats = 1; beats <= 3; beats++) {
    const sleep = await clock.nextSleep();
    expect(sleep.ms).toBe(15_000);
    sleep.wake();
    await until(() => stream.text().split(': heartbeat\n\n').length === beats + 1, 'the heartbeat');
  }
  expect(stream.events).toEqual([]);
});

test('a reader that was slow receives the exact number of lost entries', async () => {
  const stream = await openEventStream(url);
  pass(1);
  await until(() => entriesOf(stream) === 1, 'the first entry');
  stream.pause();
  for (let round = 0; round < 200; round++) {
    pass(100, LONG);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.resume();
  await until(() => entriesOf(stream) + lostOf(stream) === 20_001, 'the rest');
  expect(lostOf(stream)).toBeGreaterThan(10_000);
  pass(1);
  await until(() => entriesOf(stream) + lostOf(stream) === 20_002, 'the entry that completes afterwards');
});

test('a reader that receives nothing for a minute is disconnected without an effect on other readers', async () => {
  const [stuck, other] = [await openEventStream(url), await openEventStream(url)];
  stuck.pause();
  const passed = await fillBuffers(connections[0]!);
  await until(() => entriesOf(other) + lostOf(other) === passed, 'the entries');
  for (let sleeps = 0; sleeps < 8; sleeps++) (await clock.nextSleep()).wake();
  stuck.resume();
  expect(await stuck.ended).toBe('cut');
  pass(1);
  await until(() => entriesOf(other) + lostOf(other) === passed + 1, 'the last entry');
});

test('on shutdown a reader receives the available entries and the stream ends', async () => {
  const stream = await openEventStream(url);
  for (let round = 0; round < 20; round++) pass(50, LONG);
  stopping.abort();
  expect(await stream.ended).toBe('ended');
  expect(entriesOf(stream) + lostOf(stream)).toBe(1_000);
  const late = await openEventStream(url);
  expect(await late.ended).toBe('ended');
  expect(entriesOf(late)).toBe(10);
});
