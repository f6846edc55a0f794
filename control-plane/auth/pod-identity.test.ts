import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient } from '../../kube/client.ts';
import { KnownCas } from '../../runtime/known-cas.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { startFakeApiServer, type FakeApiServer } from '../../testing/cluster/fake-api-server.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { issueCa } from '../../webhook/certificates/issue.ts';
import { PodIdentity } from './pod-identity.ts';

const START = '2026-03-01T10:00:00.000Z';

let server: FakeApiServer;
let client: KubeClient;
let clock: ManualClock;
let pods: PodIdentity;

beforeEach(async () => {
  server = await startFakeApiServer();
  client = new KubeClient({ access: server.access, part: 'test' });
  clock = new ManualClock(START);
  pods = new PodIdentity({ client, clock, metrics: createMetrics(), sidecarImages: IMAGES, knownCas: null });
  putPod();
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const IMAGES = { repository: 'registry/sidecar', allowed: ['mirror/sidecar:7'] };
const SIDECAR = {
  name: 'platform-sidecar',
  image: 'registry/sidecar:1',
  restartPolicy: 'Always',
  env: [{ name: 'AGENT_NAME', value: 'shop' }],
  volumeMounts: [{ name: 'platform-identity' }],
};
const identity = (audience = 'platform.io') => ({
  name: 'platform-identity',
  projected: { sources: [{ serviceAccountToken: { audience, path: 'token' } }] },
});
const specOf = (change: object = {}, volumes: object[] = [identity()]) => ({
  initContainers: [{ ...SIDECAR, ...change }],
  volumes,
});

function putPod(
  overrides: {
    uid?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    phase?: string;
    spec?: object;
  } = {},
): void {
  const { uid = 'u-1', labels = { 'platform.io/agent': 'shop' }, phase = 'Running' } = overrides;
  server.put('/api/v1/namespaces/team/pods', {
    metadata: { name: 'shop-1', namespace: 'team', uid, labels, annotations: overrides.annotations },
    spec: overrides.spec ?? specOf(),
    status: { phase },
  });
}

const FOR_POD = {
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

/** Sets the result of the next TokenReview. */
function review(status: unknown, code = 201): void {
  server.fail({
    when: ({ url }) => url.pathname.endsWith('/tokenreviews'),
    response: { status: code, body: code === 201 ? { status } : { message: 'overloaded' } },
  });
}

const reviews = () => server.requests.filter(({ url }) => url.pathname.endsWith('/tokenreviews'));
const tokenUntil = (seconds: number, audience: string | string[] = 'platform.io') =>
  new UnsecuredJWT({ sub: `${seconds}` })
    .setAudience(audience)
    .setExpirationTime(Date.parse(START) / 1000 + seconds)
    .encode();
const LONG = tokenUntil(3600);
const SOURCE = '10.0.0.7';
const FOUND = { kind: 'pod', namespace: 'team', pod: 'shop-1', uid: 'u-1', agentName: 'shop' };

test("identifies the agent by the label of the token's running pod", async () => {
  review(FOR_POD);
  expect(await pods.identify(LONG, SOURCE)).toEqual(FOUND);
  expect(reviews().map(({ body }) => body)).toMatchObject([
    { spec: { token: LONG, audiences: ['platform.io'] } },
  ]);
});

test.each<[string, object, string, string]>([
  [
    'a rejected token',
    { error: 'invalid bearer token' },
    'unauthenticated',
    'the token was rejected: invalid bearer token',
  ],
  [
    'a token for another audience',
    { ...FOR_POD, audiences: ['api'] },
    'unauthenticated',
    'the token was rejected: the token is not for the audience platform.io',
  ],
  [
    'a token that is not bound to a pod',
    { ...FOR_POD, user: { username: 'system:serviceaccount:team:default' } },
    'no-agent',
    'the token is not bound to a pod, so it identifies no agent',
  ],
])('%s identifies no agent', async (_, status, kind, reason) => {
  review(status);
  expect(await pods.identify(LONG, SOURCE)).toEqual({ kind, reason });
});

test.each<[string, Parameters<typeof putPod>[0], string, string]>([
  [
    'with another UID',
    { uid: 'u-2' },
    'unauthenticated',
    'the pod team/shop-1 of the token is no longer running',
  ],
  [
    'that has succeeded',
    { phase: 'Succeeded' },
    'unauthenticated',
    'the pod team/shop-1 of the token is no longer running',
  ],
  [
    'that has failed',
    { phase: 'Failed' },
    'unauthenticated',
    'the pod team/shop-1 of the token is no longer running',
  ],
  [
    'without the label',
    { labels: {} },
    'no-agent',
    'the pod team/shop-1 has no valid label platform.io/agent',
  ],
  [
    'with an invalid name in the label',
    { labels: { 'platform.io/agent': 'Shop.1' } },
    'no-agent',
    'the pod team/shop-1 has no valid label platform.io/agent',
  ],
  ...(
    [
      ['has no injected sidecar', { containers: [{ name: 'agent' }] }],
      ['has no injected sidecar', specOf({ restartPolicy: undefined })],
      ['has a sidecar with an image that the injector does not use', specOf({ image: 'busybox' })],
      [
        'has a sidecar with an image that the injector does not use',
        specOf({ image: 'registry/sidecar-2:1' }),
      ],
      ['has a sidecar with an image that the injector does not use', specOf({ image: 'mirror/sidecar:8' })],
      ['has a sidecar without an identity token', specOf({}, [])],
      ['has a sidecar without an identity token', specOf({}, [identity('other')])],
      ['has a sidecar without an identity token', specOf({ volumeMounts: [] })],
      [
        'has a sidecar of a different agent than the agent label',
        specOf({ env: [{ name: 'AGENT_NAME', value: 'pay' }] }),
      ],
    ] as const
  ).map(([problem, spec], index): [string, Parameters<typeof putPod>[0], string, string] => [
    `that ${problem} (${index})`,
    { spec },
    'no-agent',
    `the pod team/shop-1 ${problem}`,
  ]),
])('a pod %s identifies no agent', async (_, pod, kind, reason) => {
  putPod(pod);
  review(FOR_POD);
  expect(await pods.identify(LONG, SOURCE)).toEqual({ kind, reason });
});

test.each(['registry/sidecar:2', `registry/sidecar@sha256:${'a'.repeat(64)}`, 'mirror/sidecar:7'])(
  'a pod with the sidecar image %s identifies its agent',
  async (image) => {
    putPod({ spec: specOf({ image }) });
    review(FOR_POD);
    expect(await pods.identify(LONG, SOURCE)).toEqual(FOUND);
  },
);

test('a pod that trusts another CA than the control plane identifies no agent', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'pod-identity-'));
  const file = join(directory, 'ca.crt');
  const [own, other] = await Promise.all([...Array(2)].map(() => issueCa({ now: clock.now(), days: 1 })));
  writeFileSync(file, own?.cert ?? '');
  const knownCas = new KnownCas([file], clock);
  await knownCas.read();
  pods = new PodIdentity({ client, clock, metrics: createMetrics(), sidecarImages: IMAGES, knownCas });
  const found = async (annotations: Record<string, string>) => {
    putPod({ annotations });
    review(FOR_POD);
    clock.advance(60_000);
    return pods.identify(LONG, SOURCE);
  };
  expect(await found({ 'platform.io/ca': own?.cert ?? '' })).toEqual(FOUND);
  const refused = {
    kind: 'no-agent',
    reason:
      'the annotation platform.io/ca of the pod team/shop-1 is not the CA of this control plane: restart its workload; a manifest of "platform inject" needs the current CA',
  };
  expect(await found({ 'platform.io/ca': other?.cert ?? '' })).toEqual(refused);
  expect(await found({})).toEqual(refused);
  rmSync(directory, { recursive: true });
});

test('a deleted pod identifies no agent', async () => {
  server.remove('/api/v1/namespaces/team/pods', 'shop-1');
  review(FOR_POD);
  expect(await pods.identify(LONG, SOURCE)).toMatchObject({ kind: 'unauthenticated' });
});

test.each([
  ['a minute', 3600, 60],
  ['until the token expires', 20, 20],
])('caches a successful result for %s', async (_, tokenSeconds, seconds) => {
  const token = tokenUntil(tokenSeconds);
  review(FOR_POD);
  await pods.identify(token, SOURCE);
  clock.advance(seconds * 1000 - 1);
  expect(await pods.identify(token, SOURCE)).toEqual(FOUND);
  expect(reviews()).toHaveLength(1);
  clock.advance(1);
  review({ error: 'service account token has been invalidated' });
  expect(await pods.identify(token, SOURCE)).toMatchObject({ kind: 'unauthenticated' });
});

test('caches a failure for five seconds', async () => {
  review({ error: 'not yet' });
  await pods.identify(LONG, SOURCE);
  clock.advance(4_999);
  expect(await pods.identify(LONG, SOURCE)).toMatchObject({ kind: 'unauthenticated' });
  clock.advance(1);
  review(FOR_POD);
  expect(await pods.identify(LONG, SOURCE)).toEqual(FOUND);
});

test.each([
  ['not a JWT', 'garbage', 'the token is neither a registration key nor a ServiceAccount token'],
  ['three invalid parts', 'a.b.c', 'the token is neither a registration key nor a ServiceAccount token'],
  ['for another audience', tokenUntil(60, ['api', 'vault']), 'the token is not for the audience platform.io'],
  ['for no audience', tokenUntil(60, []), 'the token is not for the audience platform.io'],
  ['expired', tokenUntil(0), 'the token has expired'],
])('rejects a token without a review: %s', async (_, token, reason) => {
  expect(await pods.identify(token, SOURCE)).toEqual({ kind: 'unauthenticated', reason });
  expect(reviews()).toHaveLength(0);
});

test('rejects tokens above 100 reviews in flight, and accepts tokens again afterwards', async () => {
  const flood = Array.from({ length: 100 }, (_, index) => tokenUntil(1000 + index));
  for (let index = 0; index < 100; index += 1) review({ error: 'no' });
  const results = flood.map((token, index) => pods.identify(token, `10.1.0.${index}`));
  await expect(pods.identify(LONG, SOURCE)).rejects.toThrow('too many TokenReviews in flight');
  await Promise.all(results);
  review(FOR_POD);
  expect(await pods.identify(LONG, SOURCE)).toEqual(FOUND);
});

test('rejects when the TokenReview fails, and does not cache the failure', async () => {
  review(null, 500);
  await expect(pods.identify(LONG, SOURCE)).rejects.toThrow('TokenReview failed: overloaded');
  review(FOR_POD);
  expect(await pods.identify(LONG, SOURCE)).toEqual(FOUND);
});

test('concurrent requests with one token share one review', async () => {
  review(FOR_POD);
  const found = await Promise.all(Array.from({ length: 20 }, () => pods.identify(LONG, SOURCE)));
  expect(found).toEqual(Array.from({ length: 20 }, () => FOUND));
  expect(reviews()).toHaveLength(1);
});

describe('invalid tokens', () => {
  const forged = (count: number, from: number) =>
    Array.from({ length: count }, (_, index) => tokenUntil(10_000 + from + index));
  const rejected = { authenticated: false, error: 'invalid bearer token' };
  const kindsOf = async (tokens: string[], source = SOURCE, reviewed = tokens.length) => {
    const kinds: string[] = [];
    for (const [index, token] of tokens.entries()) {
      if (index < reviewed) review(rejected);
      kinds.push((await pods.identify(token, source)).kind);
    }
    return kinds;
  };

  test('use up a small review budget of their sender, and block neither other senders nor a reporting pod', async () => {
    review(FOR_POD);
    expect(await pods.identify(LONG, SOURCE)).toEqual(FOUND);
    clock.advance(30_000);
    const kinds = await kindsOf(forged(500, 0), SOURCE, 20);
    expect(kinds.filter((kind) => kind === 'unauthenticated')).toHaveLength(20);
    expect(kinds.filter((kind) => kind === 'limited')).toHaveLength(480);
    expect(reviews()).toHaveLength(21);
    expect(await pods.identify(tokenUntil(20_000), SOURCE)).toEqual({
      kind: 'limited',
      retryAfterSeconds: 60,
    });
    expect(await kindsOf(forged(1, 600), '10.0.0.8')).toEqual(['unauthenticated']);
    // The cached result of the pod's token is one minute old, so the token is reviewed again.
    clock.advance(30_000);
    review(FOR_POD);
    expect(await pods.identify(LONG, SOURCE)).toEqual(FOUND);
    expect(reviews()).toHaveLength(23);
    clock.advance(30_000);
    expect(await kindsOf(forged(1, 601))).toEqual(['unauthenticated']);
  });

  test('are limited when sent concurrently', async () => {
    for (let index = 0; index < 20; index += 1) review(rejected);
    const found = await Promise.all(forged(50, 0).map((token) => pods.identify(token, SOURCE)));
    expect(found.filter(({ kind }) => kind === 'limited')).toHaveLength(30);
  });

  test('use up the budget; valid tokens and an unavailable API server do not', async () => {
    for (const token of forged(30, 0)) {
      review(FOR_POD);
      expect(await pods.identify(token, SOURCE)).toEqual(FOUND);
    }
    for (const token of forged(30, 100)) {
      review(null, 500);
      await expect(pods.identify(token, SOURCE)).rejects.toThrow('TokenReview failed');
    }
    expect(await kindsOf(forged(20, 200))).toEqual(Array.from({ length: 20 }, () => 'unauthenticated'));
  });

  test('use up the budget only after the result, so any number of new pods can start behind one address', async () => {
    for (let index = 0; index < 60; index += 1) review(FOR_POD);
    const found = await Promise.all(forged(60, 0).map((token) => pods.identify(token, SOURCE)));
    expect(found).toEqual(Array.from({ length: 60 }, () => FOUND));
    expect(await kindsOf(forged(20, 200))).toEqual(Array.from({ length: 20 }, () => 'unauthenticated'));
    expect(await kindsOf(forged(1, 300), SOURCE, 0)).toEqual(['limited']);
  });

  const tokenOf = (uid: unknown, seconds: number) =>
    new UnsecuredJWT({ 'kubernetes.io': { pod: { name: 'shop-1', uid } } })
      .setAudience('platform.io')
      .setExpirationTime(Date.parse(START) / 1000 + seconds)
      .encode();

  test('do not block the next token of a reporting pod', async () => {
    review(FOR_POD);
    expect(await pods.identify(tokenOf('u-1', 3600), SOURCE)).toEqual(FOUND);
    clock.advance(2 * 3600_000 - 1);
    await kindsOf(forged(20, 0));
    review(FOR_POD);
    expect(await pods.identify(tokenOf('u-1', 20_000), SOURCE)).toEqual(FOUND);
    clock.advance(2 * 3600_000);
    await kindsOf(forged(20, 20_000));
    expect(await pods.identify(tokenOf('u-1', 30_000), SOURCE)).toMatchObject({ kind: 'limited' });
  });

  test.each([['u-2'], [7], [null]])('get no extra budget by naming the pod UID %j', async (uid) => {
    await kindsOf(forged(20, 0));
    expect(await pods.identify(tokenOf(uid, 3600), SOURCE)).toMatchObject({ kind: 'limited' });
  });

  test('get a small extra budget with the UID of a reporting pod, shared by all addresses', async () => {
    review(FOR_POD);
    await pods.identify(LONG, SOURCE);
    await kindsOf(forged(20, 0), '10.0.0.8');
    await kindsOf(forged(20, 100), '10.0.0.9');
    const copies = (from: number) =>
      Array.from({ length: 5 }, (_, index) => tokenOf('u-1', 4000 + from + index));
    const kinds = await kindsOf([...copies(0), ...copies(5)], '10.0.0.8', 5);
    expect(kinds.filter((kind) => kind === 'unauthenticated')).toHaveLength(5);
    expect(kinds.filter((kind) => kind === 'limited')).toHaveLength(5);
    expect(await kindsOf(copies(10), '10.0.0.9', 0)).toEqual(Array.from({ length: 5 }, () => 'limited'));
    // The pod itself has another address, and that address has its own budget.
    review(FOR_POD);
    expect(await pods.identify(tokenOf('u-1', 5000), SOURCE)).toEqual(FOUND);
  });
});
