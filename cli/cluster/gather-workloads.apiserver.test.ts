// Why pods of each kind of workload are rejected, as the real controllers of Kubernetes report it.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { known, type Fact, type WorkloadFacts } from '../../authoring/diagnosis/facts.ts';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../../e2e/cluster/control.ts';
import { run } from '../../e2e/cluster/run.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { workloadOfKind } from '../../testing/cluster/annotation-mistakes.ts';
import { clusterBinary } from '../../testing/machine/cluster-binary.ts';
import { workloadsOf } from './gather-workloads.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const NAMES = ['deployment', 'statefulset', 'daemonset', 'replicaset', 'job', 'cronjob'];

/** A workload of `team` that opts in; its ConfigMap does not matter here. */
const workload = (kind: string): object =>
  workloadOfKind(kind, { inner: { 'platform.io/inject': 'true' } }, kind.toLowerCase());

(whyNoControlPlane() ? describe.skip : describe)('rejected pods', () => {
  let control: ControlPlane;
  let client: KubeClient;

  async function kubectl(args: readonly string[], input: unknown = ''): Promise<string> {
    const { stdout, stderr, code } = await run(
      [clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args],
      { input: JSON.stringify(input) },
    );
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return stdout;
  }

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
    const isAdmitted = () =>
      kubectl(['create', '--dry-run=server', '-f', '-'], pod).then(
        () => true,
        () => false,
      );
    for (const end = Date.now() + 120_000; !(await isAdmitted());) {
      if (Date.now() > end) throw new Error('the API server does not admit a pod without a quota');
      await delay(500);
    }
  }
  const refusedOf = (all: WorkloadFacts[], name: string) => {
    const found = all.find((each) => each.name === name);
    return found === undefined ? undefined : valueOf(found.refused);
  };

  beforeAll(async () => {
    control = await startControlPlane({ controllers: true });
    client = new KubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
    await kubectl(['create', 'namespace', 'team']);
    // No kubelet runs; the DaemonSet needs a node to create a pod for.
    await kubectl(['create', '-f', '-'], { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' } });
    await kubectl(['create', 'quota', 'none', '-n', 'team', '--hard=pods=0']);
    const used = ['quota/none', '-n', 'team', '--for=jsonpath={.status.hard.pods}=0', '--timeout=100s'];
    await kubectl(['wait', ...used]);
    const items = ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob'].map(workload);
    await kubectl(['create', '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
    await kubectl(['create', 'job', 'cronjob-1', '-n', 'team', '--from=cronjob/cronjob']);
  });
  afterAll(async () => {
    await client.close();
    await control.close();
  });

  test.each(NAMES)('of a %s are found', async (name) => {
    const all = await eventually((found) => typeof refusedOf(found, name) === 'string');
    const message =
      /^pods "[a-z0-9-]+" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0$/;
    expect(refusedOf(all, name)).toMatch(message);
    // The ReplicaSet of the Deployment and the Job of the CronJob are no workloads.
    expect(all.map((each) => each.name).sort()).toEqual([...NAMES].sort());
  });

  test('are no longer found after the pods were created, or are not wanted any more', async () => {
    await kubectl(['scale', 'statefulset', 'statefulset', '-n', 'team', '--replicas=0']);
    await eventually((all) => refusedOf(all, 'statefulset') === null);
    await kubectl(['delete', 'quota', 'none', '-n', 'team']);
    await quotaIsForgotten();
    await kubectl(['scale', 'statefulset', 'statefulset', '-n', 'team', '--replicas=1']);
    await kubectl(['rollout', 'restart', 'deployment/deployment', '-n', 'team']);
    // A change makes a controller retry at once. Repeated, because a retry may be rejected once more.
    let tries = 0;
    const retry = () =>
      kubectl([
        'annotate',
        ...['replicaset/replicaset', 'daemonset/daemonset', 'job/job', 'job/cronjob-1'],
        ...['statefulset/statefulset', '--overwrite', '-n', 'team', `retry=${(tries += 1)}`],
      ]);
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
