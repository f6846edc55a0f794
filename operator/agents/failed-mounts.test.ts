import { expect, test } from '@jest/globals';
import { systemClock } from '../../runtime/clock.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { fakeClusterOfEachTest } from '../../testing/cluster/fake-cluster.ts';
import { createFailedMounts } from './failed-mounts.ts';

const POD = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'x-1', uid: 'u' };

const cluster = fakeClusterOfEachTest();

/** As the API server accepts it: `regarding` has the namespace of the Event, and any other text. */
const event = (namespace: string, configMap: string) =>
  cluster.server.put(`/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
    metadata: { name: 'mount', namespace },
    regarding: { ...POD, namespace, fieldPath: 'x'.repeat(100_000) },
    reason: 'FailedMount',
    note: `MountVolume.SetUp failed for volume "platform-manifest" : configmap "${configMap}" not found`,
  });

test('an Event says why a pod of its own namespace waits', async () => {
  event('shop', 'own');
  event('tenant', 'forged');
  const changed: string[] = [];
  const parts = { client: cluster.client, clock: systemClock, logger: silentLogger };
  const { informer, failedMountOf } = createFailedMounts(parts, (pod) => changed.push(pod));
  informer.start();
  await informer.synced();
  expect(changed.sort()).toEqual(['shop/x-1', 'tenant/x-1']);
  const waits = (namespace: string, uid?: string) =>
    failedMountOf({ metadata: { name: 'x-1', namespace, ...(uid && { uid }) } });
  expect(waits('shop', 'u')).toBe('configmap "own" not found');
  expect(waits('shop')).toBeNull();
  expect(waits('other', 'u')).toBeNull();
  expect(JSON.stringify(informer.list())).not.toContain('xxx');
  await informer.close();
});
