// The background renewal of accepted tokens (pod-identity.ts).
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import { KubeClient, type KubeRequest, type KubeResponse } from '../../kube/client.ts';
import { createMetrics, type Metrics } from '../../runtime/metrics.ts';
import { startFakeApiServer, type FakeApiServer } from '../../testing/cluster/fake-api-server.ts';
import { injectedSpec } from '../../testing/cluster/injected-spec.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { PodIdentity } from './pod-identity.ts';

const START = '2026-03-01T10:00:00.000Z';
const PODS = '/api/v1/namespaces/team/pods';
/** The tests advance in steps of this time, and each step waits for all requests. */
const STEP_MS = 5_000;

/** A client that knows how many requests are in flight, and can hold them. */
class HeldClient extends KubeClient {
  inFlight = 0;
  held: Promise<void> = Promise.resolve();

  override async send<T>(request: KubeRequest): Promise<KubeResponse<T>> {
    this.inFlight += 1;
    try {
      await this.held;
      return await super.send<T>(request);
    } finally {
      this.inFlight -= 1;
    }
  }
}

let server: FakeApiServer;
let client: HeldClient;
let clock: SteppingClock;
let metrics: Metrics;
let pods: PodIdentity;

beforeEach(async () => {
  server = await startFakeApiServer();
  client = new HeldClient({ access: server.access, part: 'test' });
  clock = new SteppingClock(START);
  metrics = createMetrics();
  pods = new PodIdentity({ client, clock, metrics, sidecarImages: null, knownCas: null });
  server.put(PODS, {
    metadata: { name: 'shop-1', namespace: 'team', uid: 'u-1', labels: { 'platform.io/agent': 'shop' } },
    spec: injectedSpec('shop'),
    status: { phase: 'Running' },
  });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const ACCEPTED = {
  authenticated: true,
  audiences: ['platform.io'],
  user: {
    username: 'system:serviceaccount:team:default',
    extra: {
      'authentication.kubernetes.io/pod-name': ['shop-1'],
      'authentication.kubernetes.io/pod-uid': ['u-1'],
    },
  },
};

/** Sets the results of the next TokenReviews. */
function accept(count = 1): void {
  for (let index = 0; index < count; index += 1) response({ status: 201, body: { status: ACCEPTED } });
}
const response = (response: { status: number; body: unknown }): void =>
  server.fail({ when: ({ url }) => url.pathname.endsWith('/tokenreviews'), response: response });

const tokenUntil = (seconds: number): string =>
  new UnsecuredJWT({})
    .setAudience('platform.io')
    .setExpirationTime(Date.parse(START) / 1000 + seconds)
    .encode();
const TOKEN = tokenUntil(3600);
const kindOf = async (token = TOKEN): Promise<string> => (await pods.identify(token, '10.0.0.7')).kind;

const reviews = (): number =>
  server.requests.filter(({ url }) => url.pathname.endsWith('/tokenreviews')).length;
const measured = (use: 'request' | 'renewal'): number =>
  Number(
    new RegExp(`^platform_control_plane_token_review_seconds_count\\{use="${use}"\\} (\\d+)$`, 'm').exec(
      metrics.render(),
    )?.[1] ?? 0,
  );

async function idle(): Promise<void> {
  do await delay(1);
  while (client.inFlight > 0);
}

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    await clock.pass(STEP_MS, STEP_MS);
    await idle();
  }
}

test.each([15, 30, 45, 55])(
  'of a pod with a heartbeat every %d s, only the first one waits for a review',
  async (seconds) => {
    accept(50);
    for (let sent = 0; sent * seconds < 300; sent += 1) {
      expect(await kindOf()).toBe('pod');
      await pass(seconds * 1_000);
    }
    expect(measured('request')).toBe(1);
    // One review in 30 to 50 s, rounded up to whole steps.
    expect(measured('renewal')).toBeGreaterThanOrEqual(Math.floor(300 / 55));
    expect(measured('renewal')).toBeLessThanOrEqual(330 / 30);
  },
);

test('a result is renewed at a random age from 30 to 50 s, so that the renewals of a fleet spread out', async () => {
  accept(50);
  for (let index = 0; index < 50; index += 1) await kindOf(tokenUntil(1_000 + index));
  const ages = clock.left();
  expect(ages).toHaveLength(50);
  expect(ages[0]).toBeGreaterThanOrEqual(30_000);
  expect(ages.at(-1)).toBeLessThanOrEqual(50_000);
  expect(new Set(ages).size).toBeGreaterThan(40);
});

test('a pod that was deleted is rejected by the renewal, before the accepted result ends', async () => {
  accept(2);
  expect(await kindOf()).toBe('pod');
  server.remove(PODS, 'shop-1');
  while (measured('renewal') === 0) await pass(STEP_MS);
  expect(clock.monotonicMs() - Date.parse(START)).toBeLessThanOrEqual(50_000);
  expect(await kindOf()).toBe('unauthenticated');
  expect(reviews()).toBe(2);
});

test('a failed renewal changes nothing until the result ends after 60 s; then a request waits for a review', async () => {
  accept();
  expect(await kindOf()).toBe('pod');
  response({ status: 500, body: { message: 'overloaded' } });
  await pass(55_000);
  expect(reviews()).toBe(2);
  expect(await kindOf()).toBe('pod');
  await clock.pass(4_999);
  expect(await kindOf()).toBe('pod');
  expect(reviews()).toBe(2);
  await clock.pass(1);
  response({ status: 201, body: { status: { error: 'invalidated' } } });
  expect(await kindOf()).toBe('unauthenticated');
  expect(measured('request')).toBe(2);
});

test('while renewals hang, a token is accepted for 60 s, and a request then waits for the renewal', async () => {
  accept(2);
  expect(await kindOf()).toBe('pod');
  const hold = Promise.withResolvers<void>();
  client.held = hold.promise;
  await clock.pass(59_999, 59_999);
  expect(await kindOf()).toBe('pod');
  await clock.pass(1);
  const waiting = kindOf();
  server.remove(PODS, 'shop-1');
  hold.resolve();
  expect(await waiting).toBe('unauthenticated');
  expect(reviews()).toBe(2);
});

test('the result of a pod that sends no more is renewed once, and ends', async () => {
  accept(2);
  await kindOf();
  await pass(150_000);
  expect(reviews()).toBe(2);
  expect(clock.left()).toEqual([]);
});

test('a token that expires within a minute is not renewed, because its result could not last longer', async () => {
  accept();
  expect(await kindOf(tokenUntil(60))).toBe('pod');
  expect(await kindOf(tokenUntil(60))).toBe('pod');
  expect(clock.left()).toEqual([]);
});

test('at most eight renewals are in flight, and a new token does not wait for them', async () => {
  const tokens = Array.from({ length: 12 }, (_, index) => tokenUntil(1_000 + index));
  accept(12);
  for (const token of tokens) await kindOf(token);
  const hold = Promise.withResolvers<void>();
  client.held = hold.promise;
  await clock.pass(50_000, 50_000);
  expect(client.inFlight).toBe(8);
  client.held = Promise.resolve();
  accept();
  expect(await kindOf()).toBe('pod');
  expect(reviews()).toBe(13);
  accept(12);
  hold.resolve();
  await idle();
  expect(measured('renewal')).toBe(12);
});

test('renewals that waited until their results ended are not sent', async () => {
  const tokens = Array.from({ length: 12 }, (_, index) => tokenUntil(1_000 + index));
  accept(12);
  for (const token of tokens) await kindOf(token);
  const hold = Promise.withResolvers<void>();
  client.held = hold.promise;
  await clock.pass(50_000, 50_000);
  await clock.pass(10_000, 10_000);
  accept(12);
  hold.resolve();
  await idle();
  expect(measured('renewal')).toBe(8);
});
