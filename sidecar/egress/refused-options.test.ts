import { afterEach, describe, expect, test } from '@jest/globals';
import { parseLanes } from '../../core/egress/lanes.ts';
import { routeOf } from '../../core/egress/lane-routes.ts';
import { CHAT } from '../../testing/sidecar/chat-vendor.ts';
import {
  laneManifest,
  post,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/sidecar/egress-rig.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { until } from '../../testing/time/until.ts';
import { RefusedOptions } from './refused-options.ts';

const ASK = '{"model":"gpt-5","stream":true,"seed":12345678901234567890}';
const STREAM = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`;
const HOUR_MS = 3_600_000;

let rig: EgressRig;
afterEach(() => rig.close());
const start = async (options: EgressRigOptions = {}): Promise<EgressRig> =>
  (rig = await startEgressRig(options));

/** For each request that the vendor received, whether it has the option. */
const options = (): boolean[] => rig.vendor.requests.map(({ body }) => body.includes('stream_options'));

/** Refuses the option with this status; other requests get a stream without usage. */
function refuse(status: number): void {
  rig.vendor.respond = ({ body }, response) =>
    body.includes('stream_options')
      ? void response.writeHead(status, { 'content-type': 'application/json' }).end('{"detail":"unknown"}')
      : void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(STREAM);
}

describe('an option of the lane that the vendor refuses', () => {
  test.each([
    ['track', 400],
    ['off', 400],
    ['enforce', 422],
    ['enforce', 415],
  ] as const)('is taken back in the mode %s after status %d', async (mode, status) => {
    await start({ mode });
    refuse(status);
    expect(await post(rig.port, CHAT, ASK)).toMatchObject({ status: 200, body: STREAM });
    expect(options()).toEqual([true, false]);
    expect(rig.vendor.requests[1]?.body).toBe(ASK);
    await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
    expect(rig.egress.log.newest()).toMatchObject([{ statusCode: 200, usage: null, violations: [] }]);
    expect(rig.egress.log.counts.get('openai')).toMatchObject({ withoutUsage: 1, failed: 0 });
    expect(rig.audit.responsesWithoutUsage).toBe(1);
    expect(rig.egress.reservations.total.tokens).toBe(Math.ceil(ASK.length / 4));
  });

  test('is not sent again for this path and model within an hour', async () => {
    const clock = new ManualClock('2026-11-23T12:00:00Z');
    const model = {
      ...laneManifest().spec.model,
      fallback: { provider: 'openai', id: 'gpt-6', apiKey: 'x' },
    };
    await start({ clock, manifest: laneManifest({ model }) });
    refuse(400);
    await post(rig.port, CHAT, ASK);
    await post(rig.port, `${CHAT}?key=1`, ASK);
    expect(options()).toEqual([true, false, false]);
    await post(rig.port, CHAT, ASK.replace('gpt-5', 'gpt-6'));
    expect(options().slice(3)).toEqual([true, false]);
    clock.advance(HOUR_MS);
    await post(rig.port, CHAT, ASK);
    expect(options().slice(5)).toEqual([true, false]);
  });
});

describe('an error', () => {
  const fail = (status: number): void => {
    rig.vendor.respond = ({ body }, response) =>
      void response.writeHead(status, { 'x-length': String(body.length) }).end(`error ${status}`);
  };

  test('with another cause is the one of the request that the agent wrote, and is not remembered', async () => {
    await start();
    fail(400);
    for (let round = 1; round <= 2; round += 1) {
      const response = await post(rig.port, CHAT, ASK);
      expect(response).toMatchObject({ status: 400, body: 'error 400' });
      expect(response.headers['x-length']).toBe(String(ASK.length));
    }
    expect(options()).toEqual([true, false, true, false]);
    await until(() => rig.egress.log.newest().length === 2, 'the calls in the log');
    expect(rig.egress.reservations.total.tokens).toBe(0);
    expect(rig.egress.log.counts.get('openai')).toMatchObject({ withoutUsage: 0 });
  });

  test.each([401, 404, 413, 429, 500])('with status %d is not repeated', async (status) => {
    await start();
    fail(status);
    expect(await post(rig.port, CHAT, ASK)).toMatchObject({ status, body: `error ${status}` });
    expect(options()).toEqual([true]);
  });

  test.each([
    ['an option of the agent', '{"model":"gpt-5","stream":true,"stream_options":{"include_usage":true}}'],
    ['a request without a stream', '{"model":"gpt-5"}'],
  ])('for %s is not repeated', async (_name, body) => {
    await start();
    fail(400);
    expect((await post(rig.port, CHAT, body)).status).toBe(400);
    expect(rig.vendor.requests.map((seen) => seen.body)).toEqual([body]);
  });
});

test('the memory of refusals is limited', () => {
  const parsed = parseLanes('openai=https://vendor.example');
  if ('problem' in parsed) throw new Error(parsed.problem);
  const route = routeOf(parsed.lanes, 'POST', CHAT)!;
  const refused = new RefusedOptions(new ManualClock('2026-11-23T12:00:00Z'));
  for (let model = 0; model < 1_000; model += 1) refused.add(route, `m${model}`);
  const known = Array.from({ length: 1_000 }, (_, model) => refused.has(route, `m${model}`));
  expect(known.filter(Boolean).length).toBeLessThanOrEqual(500);
  expect(known.at(-1)).toBe(true);
  const long = { ...route, upstreamPath: `/${'a'.repeat(1_000)}` };
  refused.add(long, 'm');
  expect(refused.has(long, 'm')).toBe(false);
});
