// Why pods of each kind of workload are rejected, as the real controllers of Kubernetes report it.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { known, type Fact, type WorkloadFacts } from '../../authoring/diagnosis/facts.ts';
import { whyNoControlPlane } from '../../e2e/cluster/control.ts';
import type { KubeClient } from '../../kube/client.ts';
import { workloadOfKind } from '../../testing/cluster/annotation-mistakes.ts';
import { ApiCluster, creationOf } from '../../testing/cluster/api-cluster.ts';
import { until as untilTrue } from '../../testing/time/until.ts';
import { workloadsOf } from './gather-workloads.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const NAMES = ['deployment', 'statefulset', 'daemonset', 'replicaset', 'job', 'cronjob'];

/** A workload of `team` that opts in; its ConfigMap does not matter here. */
const workload = (kind: string): object =>
  workloadOfKind(kind, { inner: { 'platform.io/inject': 'true' } }, kind.toLowerCase());

const QUOTA = '/api/v1/namespaces/team/resourcequotas/none';
const pathIn = (group: string, path: string) => `/apis/${group}/v1/namespaces/team/${path}`;

interface CronJob {
  metadata: { uid: string; name: string };
  spec: { jobTemplate: object };
}

(whyNoControlPlane() ? describe.skip : describe)('rejected pods', () => {
  let cluster: ApiCluster;
  let client: KubeClient;

  /** The workloads, once they are as expected. */
  async function eventually(
    isExpected: (all: WorkloadFacts[]) => boolean,
    before: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<WorkloadFacts[]> {
    for (const end = Date.now() + 120_000; ;) {
      await before();
      const { workloads } = await workloadsOf(client, known([]));
      const all = valueOf(workloads);
      if (isExpected(all)) return all;
      if (Date.now() > end) throw new Error(JSON.stringify(all, null, 1));
      await delay(200);
    }
  }
  /**
   * Waits until the API server admits a pod. It caches quotas for up to 30 seconds after their deletion, and a controller whose retry
   * is rejected meanwhile waits minutes before the next.
   */
  async function quotaIsForgotten(): Promise<void> {
    const spec = { containers: [{ name: 'agent', image: 'agent' }] };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'admitted', namespace: 'team' }, spec };
    const isAdmitted = async () => (await client.send(creationOf(pod))).ok;
    await untilTrue(isAdmitted, 'the admission of a pod without a quota');
  }
  const refusedOf = (all: WorkloadFacts[], name: string) => {
    const found = all.find((each) => each.name === name);
    return found === undefined ? undefined : valueOf(found.refused);
  };

  beforeAll(async () => {
    cluster = await ApiCluster.start({ controllers: true });
    ({ client } = cluster);
    await cluster.controlledNamespace('team');
    // No kubelet runs; the DaemonSet needs a node to create a pod for.
    await cluster.post('/api/v1/nodes', { metadata: { name: 'node-1' } });
    await cluster.post(dirname(QUOTA), { metadata: { name: 'none' }, spec: { hard: { pods: '0' } } });
    await untilTrue(async () => {
      const { status } = await cluster.get<{ status?: { hard?: { pods?: string } } }>(QUOTA);
      return status?.hard?.pods === '0';
    }, 'the quota');
    const kinds = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob'];
    await cluster.apply(kinds.map(workload));
    const cronJob = await cluster.get<CronJob>(pathIn('batch', 'cronjobs/cronjob'));
    const { uid, name } = cronJob.metadata;
    const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name, uid, controller: true };
    await cluster.post(pathIn('batch', 'jobs'), {
      ...cronJob.spec.jobTemplate,
      metadata: { name: 'cronjob-1', ownerReferences: [owner] },
    });
  });
  afterAll(() => cluster?.close());

  test.each(NAMES)('of a %s are found', async (name) => {
    const all = await eventually((found) => typeof refusedOf(found, name) === 'string');
    const message =
      /^pods "[a-z0-9-]+" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0$/;
    expect(refusedOf(all, name)).toMatch(message);
    // The ReplicaSet of the Deployment and the Job of the CronJob are no workloads.
    expect(all.map((each) => each.name).sort()).toEqual([...NAMES].sort());
  });

  test('are no longer found after the pods were created, or are not wanted any more', async () => {
    const set = pathIn('apps', 'statefulsets/statefulset');
    await cluster.patch(set, { spec: { replicas: 0 } });
    await eventually((all) => refusedOf(all, 'statefulset') === null);
    await cluster.remove(QUOTA);
    await quotaIsForgotten();
    await cluster.patch(set, { spec: { replicas: 1 } });
    const restarted = { metadata: { annotations: { restarted: 'yes' } } };
    await cluster.patch(pathIn('apps', 'deployments/deployment'), { spec: { template: restarted } });
    // A change makes a controller retry at once. Repeated, because a retry may be rejected once more.
    let tries = 0;
    const retry = () => {
      const body = { metadata: { annotations: { retry: String((tries += 1)) } } };
      const apps = ['replicasets/replicaset', 'daemonsets/daemonset', 'statefulsets/statefulset'];
      const paths = [
        ...apps.map((path) => pathIn('apps', path)),
        ...['jobs/job', 'jobs/cronjob-1'].map((path) => pathIn('batch', path)),
      ];
      return Promise.all(paths.map((path) => cluster.patch(path, body)));
    };
    await eventually(
      (all) => all.length === NAMES.length && all.every(({ refused }) => valueOf(refused) === null),
      retry,
    );
  });
});

function valueOf<T>(fact: Fact<T>): T {
  if (!fact.known) throw new Error(fact.why);
  return fact.value;
}
