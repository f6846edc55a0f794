import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startFakeApiServer, type FakeApiServer } from '../testing/cluster/fake-api-server.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { KubeClient } from './client.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { accessAs } from './service-account.ts';

const PATH = '/api/v1/namespaces/system/serviceaccounts/canary/token';

let server: FakeApiServer;
let client: KubeClient;
let clock: ManualClock;
let access: ClusterAccess;

beforeEach(async () => {
  server = await startFakeApiServer();
  client = new KubeClient({ access: server.access, part: 'test' });
  clock = new ManualClock('2026-01-01T00:00:00Z');
  const own = async () => {
    const { tls } = await server.access.credentials();
    return { headers: { authorization: 'Bearer own' }, tls: { ...tls, ca: 'CA', cert: 'own', key: 'own' } };
  };
  access = accessAs(
    { namespace: 'system', name: 'canary' },
    { client, access: { ...server.access, credentials: own }, clock },
  );
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const nextToken = (status: number, token: string) =>
  server.fail({
    when: ({ url }) => url.pathname === PATH,
    response: { status, body: { status: { token } } },
  });
const bearer = async () => (await access.credentials()).headers['authorization'];

test("uses the account's token for two thirds of its lifetime", async () => {
  nextToken(201, 'one');
  expect(await bearer()).toBe('Bearer one');
  clock.advance(399_000);
  expect(await bearer()).toBe('Bearer one');
  nextToken(201, 'two');
  clock.advance(2_000);
  expect(await bearer()).toBe('Bearer two');
  const tokenRequests = server.requests.filter(({ url }) => url.pathname === PATH);
  expect(tokenRequests.map(({ method, body }) => [method, body])).toEqual(
    [1, 2].map(() => ['POST', expect.objectContaining({ spec: { expirationSeconds: 600 } })]),
  );
});

test('uses only the CA of its own credentials', async () => {
  nextToken(201, 'one');
  const { headers, tls } = await access.credentials();
  expect(headers).toEqual({ authorization: 'Bearer one' });
  expect(tls).toMatchObject({ ca: 'CA' });
  expect(Object.keys(tls)).not.toEqual(expect.arrayContaining(['cert']));
  expect(Object.keys(tls)).not.toEqual(expect.arrayContaining(['key']));
});

test('rejects when a token request fails, and requests a token again', async () => {
  nextToken(403, '');
  await expect(access.credentials()).rejects.toMatchObject({ status: 403 });
  nextToken(201, 'one');
  expect(await bearer()).toBe('Bearer one');
});
