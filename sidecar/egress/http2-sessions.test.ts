import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startEgressRig, type EgressRig } from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';
import { connectRawHttp2 } from '../../testing/http/raw-http2.ts';

const PATH = '/openai/v1/models';

let rig: EgressRig;
/** Responses of the vendor that are not sent. */
let waiting: ServerResponse[];
const sessions: ClientHttp2Session[] = [];
beforeEach(async () => {
  waiting = [];
  // Two sessions.
  rig = await startEgressRig({ memoryBytes: 48 * 1024 ** 2 });
  rig.vendor.respond = (_seen, response) => void waiting.push(response);
});
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await rig.close();
});

async function connect(): Promise<ClientHttp2Session> {
  const session = connectHttp2(rig.url).on('error', () => undefined);
  sessions.push(session);
  await once(session, 'remoteSettings');
  return session;
}

const get = (session: ClientHttp2Session, headers = {}): ClientHttp2Stream =>
  session.request({ ':path': PATH, ...headers }).on('error', () => undefined);

test('a session above the limit is closed while all others have calls, which get their responses', async () => {
  const streams = [get(await connect()), get(await connect())];
  await until(() => waiting.length === 2, 'the calls');
  const refused = connectHttp2(rig.url).on('error', () => undefined);
  await until(() => refused.closed, 'the end of the session');
  expect([rig.load.dropped, rig.load.cut]).toEqual([1, 0]);
  for (const response of waiting) response.end('<answer>');
  expect(await Promise.all(streams.map((stream) => text(stream)))).toEqual(['<answer>', '<answer>']);
});

test('above the limit, the longest open session without a call is closed', async () => {
  const [first, second] = [await connect(), await connect()];
  const busy = get(first);
  await until(() => waiting.length === 1, 'the call');
  const third = get(await connect());
  await until(() => waiting.length === 2, 'the call of the new session');
  await until(() => second.closed, 'the end of the idle session');
  expect([rig.load.dropped, rig.load.cut, first.closed]).toEqual([0, 1, false]);
  for (const response of waiting) response.end('<answer>');
  expect(await Promise.all([text(busy), text(third)])).toEqual(['<answer>', '<answer>']);
});

test('a head of more than 16 KiB is rejected, and the session is kept', async () => {
  const session = await connect();
  expect(session.remoteSettings.maxHeaderListSize).toBe(16 * 1024);
  const large = get(session, { 'x-large': 'x'.repeat(17_000) });
  await new Promise((resolve) => large.once('close', resolve));
  expect(large.rstCode).not.toBe(0);
  const next = get(session);
  await until(() => waiting.length === 1, 'the next call');
  waiting[0]?.end('<answer>');
  expect(await text(next)).toBe('<answer>');
});

test('a session that resets hundreds of streams at once ends', async () => {
  const client = connectRawHttp2(rig.port);
  client.socket.cork();
  for (let id = 1; id < 1_000; id += 2) {
    client.post(id, PATH, {});
    client.reset(id);
  }
  client.socket.uncork();
  await until(() => client.socket.closed, 'the end of the session');
  const { id = 0 } = rig.egress.log.newest(1)[0] ?? {};
  expect(id).toBeLessThanOrEqual(200);
});
