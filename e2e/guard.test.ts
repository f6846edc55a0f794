// What happens while the injector is down: agents wait with the guard's words, everybody else starts, and when it is back
// the agents start by themselves within seconds.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { agentWorkload, manifestConfigMap, manifestOf } from './agent-workload.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { canKill, keepKilling, type Killer } from './container-killer.ts';
import { eventually, kubectlOf, type Kubectl, type KubeObject } from './kubectl.ts';
import { CHART, RELEASE, SYSTEM_NAMESPACE, valuesFor } from './product.ts';

const NAMESPACE = 'guard-team';
const FULLNAME = `${RELEASE}-agent-compliance`;
const WEBHOOK = `${FULLNAME}-webhook`;
const AWAY = 'has no platform-sidecar: the injector did not answer';

let cluster: Cluster;
let kubectl: Kubectl;
let system: Kubectl;

interface Pods {
  items: {
    metadata: { name: string; ownerReferences?: { kind: string; name: string }[] };
    spec: { initContainers?: { name: string }[] };
    status: { phase: string; conditions?: { type: string; status: string }[] };
  }[];
}

const describeOf = (...what: string[]) => kubectl.run('describe', ...what);
const podsOf = async (app: string) => (await kubectl.get<Pods>('pods', '-l', `app=${app}`)).items;
const isReady = (pod: Pods['items'][number]) =>
  pod.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;

/** The lines of `kubectl describe` under Events. */
async function eventsOf(...what: string[]): Promise<string> {
  const text = await describeOf(...what);
  return text.slice(text.lastIndexOf('\nEvents:'));
}

interface InjectorPods {
  items: {
    status: {
      containerStatuses?: {
        ready: boolean;
        restartCount: number;
        lastState: { terminated?: { exitCode: number } };
      }[];
    };
  }[];
}

const INJECTOR = ['pods', '-l', 'app.kubernetes.io/component=webhook'] as const;
const injectorContainers = async () =>
  (await system.get<InjectorPods>(...INJECTOR)).items.flatMap(({ status }) => status.containerStatuses ?? []);
let killer: Killer | null = null;

/** By SIGKILL for its processes; where their node cannot be reached, by taking its pods away. */
async function takeInjectorAway(): Promise<void> {
  if (canKill) killer = await keepKilling(cluster, SYSTEM_NAMESPACE, 'webhook');
  else await system.run('scale', `deploy/${WEBHOOK}`, '--replicas=0');
  await eventually('an injector that is away', 60_000, injectorContainers, (containers) =>
    containers.every(({ ready, restartCount }) => !ready && (!canKill || restartCount > 0)),
  );
}

/** Its pods are made anew: the kubelet's pauses between two starts of a killed container have grown to a minute by now. */
async function bringInjectorBack(): Promise<void> {
  if (killer === null) await system.run('scale', `deploy/${WEBHOOK}`, '--replicas=2');
  else {
    const containers = await injectorContainers();
    expect(containers).toHaveLength(2);
    for (const { lastState } of containers) expect(lastState.terminated?.exitCode).toBe(137);
    await killer.stop();
    killer = null;
    await system.run('delete', ...INJECTOR, '--grace-period=1');
  }
  await system.run('rollout', 'status', `deploy/${WEBHOOK}`, '--timeout=60s');
}

/** A workload of another kind around the pods of the agent's Deployment, with a name of its own. */
function like(name: string, kind: 'StatefulSet' | 'Job'): KubeObject[] {
  const [, deployment] = agentWorkload({ name, image: cluster.imageRef('example-agents') });
  const { template, selector } = (deployment as { spec: { template: PodTemplate; selector: object } }).spec;
  const metadata = { name };
  const manifest = manifestConfigMap(name, manifestOf(name));
  if (kind === 'StatefulSet')
    return [
      manifest,
      { apiVersion: 'apps/v1', kind, metadata, spec: { serviceName: name, selector, template } },
    ];
  const [agent] = template.spec.containers;
  const spec = {
    ...template.spec,
    restartPolicy: 'Never',
    containers: [{ ...agent, args: ['-e', 'setTimeout(() => undefined, 1_000)'] }],
  };
  return [manifest, { apiVersion: 'batch/v1', kind, metadata, spec: { template: { ...template, spec } } }];
}

interface PodTemplate {
  metadata: object;
  spec: { containers: object[] };
}

/** Opts out, with its image, in one way or the other. */
function plain(name: string, annotations: Record<string, string>): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              name: 'plain',
              image: cluster.imageRef('example-agents'),
              imagePullPolicy: 'IfNotPresent',
              args: ['-e', 'setInterval(() => undefined, 60_000)'],
            },
          ],
        },
      },
    },
  };
}

beforeAll(async () => {
  cluster = await startCluster();
  kubectl = kubectlOf(cluster, NAMESPACE);
  system = kubectlOf(cluster, SYSTEM_NAMESPACE);
  await kubectl.run('create', 'namespace', NAMESPACE);
  const values = { ...valuesFor(cluster), canary: { intervalSeconds: 5 } };
  const { code, stderr } = await cluster.exec(
    [
      ...['helm', '-n', SYSTEM_NAMESPACE, 'install', RELEASE, CHART, '--create-namespace'],
      ...['--wait', '--timeout', '120s', '-f', '-'],
    ],
    { input: JSON.stringify(values), timeoutMs: 150_000 },
  );
  if (code !== 0) throw new Error(`${stderr}\n${await system.run('get', 'pods,events')}`);
}, 240_000);

afterAll(async () => {
  await killer?.stop();
  await cluster
    .exec(['helm', '-n', SYSTEM_NAMESPACE, 'uninstall', RELEASE, '--ignore-not-found', '--wait'])
    .catch(() => undefined);
  await kubectl.run('delete', 'namespace', NAMESPACE, '--wait=false').catch(() => undefined);
  await cluster.close();
}, 120_000);

describe('while the injector answers', () => {
  test('the canary passes: its pod comes back as the operator expects it', async () => {
    const canary = async () => {
      const forward = await cluster.forward({
        namespace: SYSTEM_NAMESPACE,
        name: `${FULLNAME}-operator`,
        port: 8081,
      });
      try {
        return await (await fetch(`${forward.url}/metrics`)).text();
      } finally {
        await forward.close();
      }
    };
    const { answer } = await eventually('a canary that passes', 60_000, canary, (text) =>
      text.includes('platform_operator_canary_passing 1'),
    );
    expect(answer).not.toContain('outcome="differs"');
    expect(
      await cluster.exec(['kubectl', '-n', 'platform-canary', 'get', 'pods', '-o', 'name']),
    ).toMatchObject({
      stdout: '',
    });
    const policy = `validatingadmissionpolicy/${FULLNAME}-canary`;
    await system.run('wait', '--for=condition=CanaryPassing', policy, '--timeout=30s');
  }, 120_000);

  test('an agent starts, and its Deployment says that it is injected', async () => {
    await kubectl.apply(agentWorkload({ name: 'early', image: cluster.imageRef('example-agents') }));
    await kubectl.run('rollout', 'status', 'deploy/early', '--timeout=90s');
    await eventually(
      'the Event',
      30_000,
      () => eventsOf('deploy', 'early'),
      (text) => /Normal +Injected/.test(text),
    );
  }, 150_000);
});

describe('while the injector is down', () => {
  beforeAll(async () => {
    await takeInjectorAway();
    await kubectl.apply([
      ...agentWorkload({ name: 'late', image: cluster.imageRef('example-agents'), replicas: 2 }),
      ...like('late-set', 'StatefulSet'),
      ...like('late-job', 'Job'),
      plain('silent', {}),
      plain('opted-out', { 'platform.io/inject': 'false' }),
    ]);
  }, 120_000);

  test('every other pod starts', async () => {
    await kubectl.run('rollout', 'status', 'deploy/silent', '--timeout=60s');
    await kubectl.run('rollout', 'status', 'deploy/opted-out', '--timeout=60s');
  }, 130_000);

  test('no agent starts, and the ReplicaSet says why', async () => {
    await eventually(
      "the guard's words",
      30_000,
      () => describeOf('rs', '-l', 'app=late'),
      (text) => text.includes(AWAY),
    );
    const text = await describeOf('rs', '-l', 'app=late');
    expect(text).toMatch(/ReplicaFailure +True +FailedCreate/);
    expect(text).toContain(`its pods are in namespace ${SYSTEM_NAMESPACE}`);
    expect(await podsOf('late')).toEqual([]);
    expect(await podsOf('late-set')).toEqual([]);
    expect(await podsOf('late-job')).toEqual([]);
  }, 60_000);

  test.each([
    ['deploy', 'late'],
    ['statefulset', 'late-set'],
    ['job', 'late-job'],
  ])(
    'the %s %s has a Warning of its own, once',
    async (kind, name) => {
      const { answer } = await eventually(
        'the Warning',
        30_000,
        () => eventsOf(kind, name),
        (text) => /Warning +PodsRefused/.test(text) && text.includes(AWAY),
      );
      expect(answer.match(/Warning +PodsRefused/g)).toHaveLength(1);
    },
    60_000,
  );

  test('the injector has one too, from the canary', async () => {
    await eventually(
      'the Warning',
      60_000,
      () => system.run('describe', 'deploy', WEBHOOK),
      (text) => /Warning +CanaryFailed/.test(text) && text.includes('the injector did not answer'),
    );
  }, 80_000);

  test('an agent that runs already goes on', async () => {
    const [pod] = await podsOf('early');
    expect(pod && isReady(pod)).toBe(true);
  }, 30_000);
});

describe('when the injector is back', () => {
  test('every agent starts by itself within seconds, long before its controller would try again', async () => {
    // By now, half a minute later, the controllers wait for 20 seconds and more.
    await bringInjectorBack();
    const back = performance.now();
    const { items } = (
      await eventually(
        'the pods',
        60_000,
        () => kubectl.get<Pods>('pods', '-l', 'app in (late, late-set, late-job)'),
        (pods) => pods.items.length >= 4,
      )
    ).answer;
    const tookMs = performance.now() - back;
    for (const pod of items) expect(pod.spec.initContainers?.[0]?.name).toBe('platform-sidecar');
    expect(tookMs).toBeLessThan(15_000);
    const [replicaSet] = (
      await kubectl.get<{ items: { metadata: { annotations: Record<string, string> } }[] }>(
        ...['rs', '-l', 'app=late'],
      )
    ).items;
    expect(replicaSet?.metadata.annotations).toHaveProperty(['platform.io/retry']);
    await kubectl.run('rollout', 'status', 'deploy/late', '--timeout=90s');
    await kubectl.run('rollout', 'status', 'statefulset/late-set', '--timeout=90s');
    await kubectl.run('wait', '--for=condition=Complete', 'job/late-job', '--timeout=90s');
  }, 300_000);

  test('the canary says so, and the owners who woke them', async () => {
    await eventually(
      'the Event',
      30_000,
      () => system.run('describe', 'deploy', WEBHOOK),
      (text) => /Normal +CanaryPassed/.test(text),
    );
    expect(await eventsOf('deploy', 'late')).toMatch(/Normal +Retry/);
  }, 60_000);
});
