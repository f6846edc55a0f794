import type { Request } from 'express';
import { beforeEach, expect, test } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import { fakeClusterOfEachTest } from '../../testing/cluster/fake-cluster.ts';
import type { Fault } from '../../testing/cluster/fake-api-server.ts';
import { ManualClock } from '../../testing/time/manual-clock.ts';
import { KubernetesTokens, PERSON_AUDIENCE } from './kubernetes-tokens.ts';

const cluster = fakeClusterOfEachTest();
const START = '2026-03-01T10:00:00.000Z';

let clock: ManualClock;
let tokens: KubernetesTokens;

beforeEach(() => {
  clock = new ManualClock(START);
  tokens = new KubernetesTokens({ client: cluster.client, clock, apiServer: { failed: () => true } });
});

/** The API server verifies the signature, so that an unsigned token is enough here. */
const aToken = (id = 'a', audience: string | string[] = PERSON_AUDIENCE, seconds = 3_600): string =>
  new UnsecuredJWT({ id })
    .setAudience(audience)
    .setExpirationTime(Math.floor(Date.parse(START) / 1_000) + seconds)
    .encode();

const identify = (token: string | null, address = '10.0.0.1') =>
  tokens.identify({
    get: () => (token === null ? undefined : `Bearer ${token}`),
    socket: { remoteAddress: address },
  } as unknown as Request);

const answer = (response: Fault['response']): void => cluster.server.fail({ when: () => true, response });
const valid = (username = 'system:serviceaccount:team:ci'): void =>
  answer({
    status: 201,
    body: {
      status: { authenticated: true, audiences: [PERSON_AUDIENCE], user: { username, groups: ['g'] } },
    },
  });
const invalid = (): void => answer({ status: 201, body: { status: { error: 'invalid bearer token' } } });
const reviews = (): number => cluster.server.requests.length;

const CI = {
  ...{ method: 'kubernetes', sub: 'system:serviceaccount:team:ci', user: 'system:serviceaccount:team:ci' },
  ...{ groups: ['g'], overage: false, until: '2026-03-01T11:00:00.000Z' },
};

test('is reviewed once per 60 s', async () => {
  valid();
  expect(await identify(aToken())).toEqual(CI);
  clock.advance(59_999);
  expect(await identify(aToken())).toEqual(CI);
  expect(reviews()).toBe(1);
  clock.advance(1);
  invalid();
  await expect(identify(aToken())).rejects.toMatchObject({
    ...{ status: 401, message: 'the token was rejected: invalid bearer token' },
  });
  expect(reviews()).toBe(2);
});

test.each([
  ['no token', null, null],
  ['no JWT', 'abc', 'the token is not a token for the audience agent-compliance'],
  [
    'another audience',
    aToken('a', 'platform.io'),
    'the token is not a token for the audience agent-compliance',
  ],
  ['an expired token', aToken('a', PERSON_AUDIENCE, 0), 'the token has expired'],
])('%s costs no review', async (_, token, message) => {
  if (message === null) expect(await identify(token)).toBeNull();
  else await expect(identify(token)).rejects.toMatchObject({ status: 401, message });
  expect(reviews()).toBe(0);
});

test('a user that is not a ServiceAccount is refused', async () => {
  valid('system:admin');
  await expect(identify(aToken())).rejects.toMatchObject({
    ...{ status: 401, message: 'the token is not the token of a ServiceAccount' },
  });
});

test('invalid tokens of an address are limited, known and other ones are not affected', async () => {
  valid();
  await identify(aToken('known'));
  for (let index = 0; index < 20; index += 1) {
    invalid();
    await expect(identify(aToken(`bad-${index}`))).rejects.toMatchObject({ status: 401 });
  }
  await expect(identify(aToken('bad'))).rejects.toMatchObject({
    ...{ status: 429, message: 'too many invalid tokens from this address; try again' },
    headers: { 'retry-after': '60' },
  });
  expect(reviews()).toBe(21);
  expect(await identify(aToken('known'))).toEqual(CI);
  clock.advance(60_000);
  valid();
  expect(await identify(aToken('known'))).toEqual(CI);
  valid();
  expect(await identify(aToken('new'), '10.0.0.2')).toEqual(CI);
});

test('while the API server is unavailable, a token that was valid counts for five minutes', async () => {
  valid();
  await identify(aToken());
  clock.advance(299_999);
  answer('cut');
  expect(await identify(aToken())).toEqual(CI);
  answer('cut');
  await expect(identify(aToken('other'))).rejects.toMatchObject({
    ...{ status: 503, message: 'cannot verify the token: the API server is unavailable; try again' },
  });
  clock.advance(1);
  answer('cut');
  await expect(identify(aToken())).rejects.toMatchObject({ status: 503 });
});

test('concurrent requests share a review', async () => {
  valid();
  await Promise.all([identify(aToken()), identify(aToken())]);
  expect(reviews()).toBe(1);
});
