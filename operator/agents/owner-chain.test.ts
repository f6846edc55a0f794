import { expect, test } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubeClient } from '../../kube/client.ts';
import { fakeClusterOfEachTest } from '../../testing/cluster/fake-cluster.ts';
import { collectGarbage } from '../../testing/http/held-bytes.ts';
import { createOwnerReader } from './owner-chain.ts';

const cluster = fakeClusterOfEachTest();

const NAMES = ['chat/scale', '..', 'chat?x', 'chat%2F', 'Chat', 'x'.repeat(254)];

test.each(NAMES)('a workload with the name %s does not exist, and is not requested', async (name) => {
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', name };
  expect(await createOwnerReader(cluster.client).read(ref, 'n')).toEqual({ state: 'gone' });
  expect(cluster.server.requests).toEqual([]);
});

test.each([
  { apiVersion: 'apps/v1', kind: 'Deploy/ment' },
  { apiVersion: '../v1', kind: 'Deployment' },
])('a workload of $apiVersion $kind does not exist', async (type) => {
  expect(await createOwnerReader(cluster.client).read({ ...type, name: 'chat' }, 'n')).toEqual({
    state: 'gone',
  });
});

test('a workload with a possible name is requested', async () => {
  const object = { metadata: { name: 'chat.v2', namespace: 'n' } };
  cluster.server.put('/apis/apps/v1/namespaces/n/deployments', object);
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat.v2' };
  expect(await createOwnerReader(cluster.client).read(ref, 'n')).toMatchObject({ state: 'found', object });
});

test.each<{ kind: string; name: string; uid?: string }>([
  ...NAMES.map((name) => ({ kind: 'ReplicaSet', name })),
  { kind: 'Roll/out', name: 'chat' },
  // The chart's policy would reject the AgentObservation with this reference, and the agent would not be observed.
  { kind: 'Rollout', name: 'chat', uid: 'o'.repeat(64) },
])('a pod whose owner is $kind $name is its own workload', async ({ kind, name, uid = 'o' }) => {
  const owner = { apiVersion: 'apps/v1', kind, name, uid, controller: true };
  const pod = { metadata: { name: 'pod', namespace: 'n', uid: 'p', ownerReferences: [owner] } };
  const workload = { apiVersion: 'v1', kind: 'Pod', name: 'pod', uid: 'p' };
  expect(await createOwnerReader(cluster.client).ownerOf(pod)).toEqual({ state: 'found', workload });
  expect(cluster.server.requests).toEqual([]);
});

test('a workload is reduced to what is read of it', async () => {
  const large = 'x'.repeat(1_000);
  const template = {
    metadata: { labels: { app: 'chat' }, annotations: { 'platform.io/inject': 'true', note: large } },
    spec: {
      containers: [{ name: 'agent', image: large, env: [{ name: 'A', value: large }] }],
      initContainers: [{ name: 'platform-sidecar', restartPolicy: 'Always' }],
    },
  };
  const metadata = { name: 'chat', namespace: 'n', uid: 'u', annotations: { note: large } };
  const spec = { replicas: 2, template, paused: large };
  cluster.server.put('/apis/apps/v1/namespaces/n/deployments', { metadata, spec, status: { replicas: 1 } });
  const ref = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'chat' };
  const result = await createOwnerReader(cluster.client).read(ref, 'n');
  expect(result).toMatchObject({
    state: 'found',
    object: {
      metadata: { uid: 'u' },
      spec: {
        replicas: 2,
        template: {
          metadata: { labels: { app: 'chat' }, annotations: { 'platform.io/inject': 'true' } },
          spec: { containers: [], initContainers: [{ name: 'platform-sidecar', restartPolicy: 'Always' }] },
        },
      },
      status: { replicas: 1 },
    },
  });
  expect(JSON.stringify(result)).not.toContain(large);
});

test('at most four workloads are read at a time, and one for an agent', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `chat-${index}`);
  let open = 0;
  let most = 0;
  const slow = {
    send: async () => {
      most = Math.max(most, (open += 1));
      await nextTurn();
      open -= 1;
      return { ok: false, status: 404, reason: 'NotFound', message: '', retryAfterMs: null };
    },
  } as unknown as KubeClient;
  const readWith = (reader: ReturnType<typeof createOwnerReader>) => (name: string) =>
    reader.read({ apiVersion: 'apps/v1', kind: 'Deployment', name }, 'n');
  await Promise.all(names.map(readWith(createOwnerReader(slow))));
  expect(most).toBe(1);
  await Promise.all(names.map((name) => readWith(createOwnerReader(slow))(name)));
  expect(most).toBe(4);
});

test('keeps little of the owners of an agent, which can have megabytes each', async () => {
  const ports = Array.from({ length: 1_000 }, (_, index) => ({ name: `p${index}`, containerPort: 80 }));
  const body = JSON.stringify({ spec: { template: { spec: { containers: [{ name: 'agent', ports }] } } } });
  const responses = {
    send: async ({ path, only }) => {
      await nextTurn();
      expect(only).toBe('metadata');
      const name = path.slice(path.lastIndexOf('/') + 1);
      const workload = { ...(JSON.parse(body) as object), metadata: { name, uid: name } };
      return { ok: true, status: 200, body: workload };
    },
  } as Pick<KubeClient, 'send'> as KubeClient;
  const reader = createOwnerReader(responses);
  const stateOf = async (name: string) => {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: name, controller: true };
    const pod = { metadata: { name: 'pod', namespace: 'n', uid: 'p', ownerReferences: [owner] } };
    return (await reader.ownerOf(pod)).state;
  };
  await stateOf('chat');
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 200; index += 1) expect(await stateOf(`chat-${index}`)).toBe('found');
  collectGarbage();
  // The 200 templates have 200,000 ports, which are about 50 bytes each in the heap.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000);
  expect(await stateOf('chat-0')).toBe('found');
});
