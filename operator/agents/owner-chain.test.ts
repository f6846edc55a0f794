import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { KubeClient } from '../../kube/client.ts';
import { startFakeApiServer, type FakeApiServer } from '../../testing/fake-api-server.ts';
import { createOwnerReader } from './owner-chain.ts';

let server: FakeApiServer;
let client: KubeClient;
beforeEach(async () => {
  server = await startFakeApiServer();
  client = new KubeClient({ access: server.access, part: 'test' });
});
afterEach(async () => {
  await client.close();
  await server.close();
});

const NAMES = ['chat/scale', '..', 'chat?x', 'chat%2F', 'Chat', 'x'.repeat(254)];

test.each(NAMES)('a workload with the name %s does not exist, and is not requested', async (name) => {
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', name };
  expect(await createOwnerReader(client).read(ref, 'n')).toEqual({ state: 'gone' });
  expect(server.requests).toEqual([]);
});

test.each([
  { apiVersion: 'apps/v1', kind: 'Deploy/ment' },
  { apiVersion: '../v1', kind: 'Deployment' },
])('a workload of $apiVersion $kind does not exist', async (type) => {
  expect(await createOwnerReader(client).read({ ...type, name: 'chat' }, 'n')).toEqual({ state: 'gone' });
});

test('a workload with a possible name is requested', async () => {
  const object = { metadata: { name: 'chat.v2', namespace: 'n' } };
  server.put('/apis/apps/v1/namespaces/n/deployments', object);
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat.v2' };
  expect(await createOwnerReader(client).read(ref, 'n')).toMatchObject({ state: 'found', object });
});

test.each([...NAMES.map((name) => ({ kind: 'ReplicaSet', name })), { kind: 'Roll/out', name: 'chat' }])(
  'a pod whose owner is $kind $name is its own workload',
  async ({ kind, name }) => {
    const owner = { apiVersion: 'apps/v1', kind, name, uid: 'o', controller: true };
    const pod = { metadata: { name: 'pod', namespace: 'n', uid: 'p', ownerReferences: [owner] } };
    const workload = { apiVersion: 'v1', kind: 'Pod', name: 'pod', uid: 'p' };
    expect(await createOwnerReader(client).ownerOf(pod)).toEqual({ state: 'found', workload });
    expect(server.requests).toEqual([]);
  },
);
