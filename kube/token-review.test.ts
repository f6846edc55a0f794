import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { startFakeApiServer, type FakeApiServer } from '../testing/fake-api-server.ts';
import { createKubeClient, type KubeClient } from './client.ts';
import { reviewToken } from './token-review.ts';

let server: FakeApiServer;
let client: KubeClient;

beforeEach(async () => {
  server = await startFakeApiServer();
  client = createKubeClient({ access: server.access, part: 'test' });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const ask = () => reviewToken(client, { token: 'eyJ', audience: 'platform.io' });
const extra = {
  'authentication.kubernetes.io/pod-name': ['agent-1'],
  'authentication.kubernetes.io/pod-uid': ['7eee'],
};
const user = { username: 'system:serviceaccount:opt:default', extra };
const valid = { authenticated: true, audiences: ['platform.io'], user };

describe('a token review', () => {
  test.each<[string, unknown, unknown]>([
    [
      "a pod's token",
      valid,
      { kind: 'pod', namespace: 'opt', serviceAccount: 'default', podName: 'agent-1', podUid: '7eee' },
    ],
    [
      'a token that is bound to no pod',
      { ...valid, user: { username: user.username } },
      { kind: 'unbound', username: user.username },
    ],
    [
      'a token with a pod name alone',
      { ...valid, user: { ...user, extra: { 'authentication.kubernetes.io/pod-name': ['agent-1'] } } },
      { kind: 'unbound', username: user.username },
    ],
    [
      'a user that is no ServiceAccount',
      { ...valid, user: { username: 'kubernetes-admin', extra } },
      { kind: 'unbound', username: 'kubernetes-admin' },
    ],
    [
      'a token for another audience',
      { ...valid, audiences: ['https://kubernetes.default.svc'] },
      { kind: 'rejected', reason: 'the token is not for the audience platform.io' },
    ],
    ['a bad token', { error: 'invalid bearer token' }, { kind: 'rejected', reason: 'invalid bearer token' }],
    ['an answer without a word', {}, { kind: 'rejected', reason: 'the token is not valid' }],
  ])('tells %s', async (_, status, verdict) => {
    server.fail({ when: () => true, answer: { status: 201, body: { status } } });
    expect(await ask()).toEqual(verdict);
    expect(server.requests).toMatchObject([
      { method: 'POST', body: { spec: { token: 'eyJ', audiences: ['platform.io'] } } },
    ]);
  });

  test('tells a refusal of the API server from a bad token', async () => {
    const body = { kind: 'Status', reason: 'TooManyRequests', message: 'slow down' };
    server.fail({ when: () => true, answer: { status: 429, headers: { 'retry-after': '1' }, body } });
    expect(await ask()).toEqual({ kind: 'unavailable', reason: 'slow down', retryAfterMs: 1_000 });
  });

  test('tells an API server that is away from a bad token', async () => {
    server.fail({ when: () => true, answer: 'cut' });
    expect(await ask()).toEqual({
      kind: 'unavailable',
      reason: 'the API server does not answer',
      retryAfterMs: null,
    });
  });
});
