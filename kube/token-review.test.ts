import { describe, expect, test } from '@jest/globals';
import { fakeClusterOfEachTest } from '../testing/cluster/fake-cluster.ts';
import { reviewToken } from './token-review.ts';

const cluster = fakeClusterOfEachTest();

const review = () => reviewToken(cluster.client, { token: 'eyJ', audience: 'platform.io' });
const extra = {
  'authentication.kubernetes.io/pod-name': ['agent-1'],
  'authentication.kubernetes.io/pod-uid': ['7eee'],
};
const user = { username: 'system:serviceaccount:opt:default', extra };
const valid = { authenticated: true, audiences: ['platform.io'], user };

describe('a token review', () => {
  test.each<[string, unknown, unknown]>([
    ["a pod's token", valid, { kind: 'pod', namespace: 'opt', podName: 'agent-1', podUid: '7eee' }],
    [
      'a token that is not bound to a pod',
      { ...valid, user: { username: user.username } },
      { kind: 'unbound' },
    ],
    [
      'a token with only a pod name',
      { ...valid, user: { ...user, extra: { 'authentication.kubernetes.io/pod-name': ['agent-1'] } } },
      { kind: 'unbound' },
    ],
    [
      'a user that is not a ServiceAccount',
      { ...valid, user: { username: 'kubernetes-admin', extra } },
      { kind: 'unbound' },
    ],
    [
      'a token for another audience',
      { ...valid, audiences: ['https://kubernetes.default.svc'] },
      { kind: 'rejected', reason: 'the token is not for the audience platform.io' },
    ],
    ['a bad token', { error: 'invalid bearer token' }, { kind: 'rejected', reason: 'invalid bearer token' }],
    ['an empty status', {}, { kind: 'rejected', reason: 'the token is not valid' }],
  ])('classifies %s', async (_, status, result) => {
    cluster.server.fail({ when: () => true, response: { status: 201, body: { status } } });
    expect(await review()).toEqual(result);
    expect(cluster.server.requests).toMatchObject([
      { method: 'POST', body: { spec: { token: 'eyJ', audiences: ['platform.io'] } } },
    ]);
  });

  test('distinguishes an error response of the API server from an invalid token', async () => {
    const body = { kind: 'Status', reason: 'TooManyRequests', message: 'slow down' };
    cluster.server.fail({
      when: () => true,
      response: { status: 429, headers: { 'retry-after': '1' }, body },
    });
    await expect(review()).rejects.toMatchObject({ message: 'slow down', retryAfterMs: 1_000 });
  });

  test('distinguishes an unreachable API server from an invalid token', async () => {
    cluster.server.fail({ when: () => true, response: 'cut' });
    await expect(review()).rejects.toMatchObject({
      message: expect.stringContaining('the API server did not respond'),
      retryAfterMs: null,
    });
  });
});
