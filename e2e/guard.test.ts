// Behaviour while the injector is down: agent pods are rejected with the guard's message, other pods start, and agents start
// automatically within seconds after the injector is back.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { agentWorkload, manifestConfigMap, manifestOf } from './agent-workload.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { canKill, keepKilling, type Killer } from './container-killer.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl, type KubeObject } from './kubectl.ts';
import { installProduct, leave, RELEASE, SYSTEM_NAMESPACE } from './product.ts';
import { IN_SOAK, withinLimit } from '../testing/time/real-time.ts';

jest.setTimeout(TEST_MS);

const NAMESPACE = 'guard-team';
const FULLNAME = `${RELEASE}-agent-compliance`;
const WEBHOOK = `${FULLNAME}-webhook`;
const GUARD_MESSAGE = 'has no platform-sidecar: the injector did not answer';

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

const hasOne = ({ length }: readonly unknown[]): boolean => length === 1;

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
        lastState: { terminated?: { exitCode: number; reason: string } };
      }[];
    };
  }[];
}

const INJECTOR = ['pods', '-l', 'app.kubernetes.io/component=webhook'] as const;
const injectorContainers = async () =>
  (await system.get<InjectorPods>(...INJECTOR)).items.flatMap(({ status }) => status.containerStatuses ?? []);
let killer: Killer | null = null;

/** Kills the injector's processes; in an external cluster, scales the Deployment to zero. */
async function stopInjector(): Promise<void> {
  if (canKill) killer = await keepKilling(cluster, SYSTEM_NAMESPACE, 'webhook');
  else await system.run('scale', `deploy/${WEBHOOK}`, '--replicas=0');
  await eventually('a stopped injector', injectorContainers, (containers) =>
    containers.every(({ ready, restartCount }) => !ready && (!canKill || restartCount > 0)),
  );
}

/** Killed by SIGKILL; the runtime reports StartError if the program had not started yet. */
const wasKilled = (terminated?: { exitCode: number; reason: string }): boolean =>
  terminated?.exitCode === 137 || terminated?.reason === 'StartError';

interface Controllers {
  items: { kind: string; metadata: { annotations?: Record<string, string> } }[];
}

/** Kinds of the controllers that the operator retried: all, except a controller that has just retried by itself. */
const retriedKinds = async () =>
  (await kubectl.get<Controllers>('replicasets,statefulsets,jobs')).items
    .filter(({ metadata }) => metadata.annotations?.['platform.io/retry'] !== undefined)
    .map(({ kind }) => kind);

/** Recreates the injector's pods, because the kubelet's back-off for killed containers has grown to a minute. */
async function restoreInjector(): Promise<void> {
  if (killer === null) await system.run('scale', `deploy/${WEBHOOK}`, '--replicas=2');
  else {
    const containers = await injectorContainers();
    expect(containers).toHaveLength(2);
    expect(containers.filter(({ lastState }) => !wasKilled(lastState.terminated))).toEqual([]);
    await killer.stop();
    killer = null;
    await system.run('delete', ...INJECTOR, '--grace-period=1');
  }
  await system.rolledOut(`deploy/${WEBHOOK}`);
}

/** A workload of another kind with the pod template of the agent's Deployment and its own name. */
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

/** A workload with the same image that is not injected. */
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
  await installProduct(cluster);
});

afterAll(async () => {
  try {
    await killer?.stop();
  } finally {
    await leave(cluster, NAMESPACE);
  }
});

describe('while the injector is available', () => {
  test('the canary passes: its pod is injected as the operator expects', async () => {
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
    const { result } = await eventually('a passing canary', canary, (text) =>
      text.includes('platform_operator_canary_passing 1'),
    );
    expect(result).not.toContain('outcome="differs"');
    const ofCanary = () => kubectlOf(cluster, 'platform-canary').run('get', 'pods', '-o', 'name');
    expect(await ofCanary()).toBe('');
    const policy = `validatingadmissionpolicy/${FULLNAME}-canary`;
    await system.waitFor('condition=CanaryPassing', policy);
  });

  test('an agent starts, and its Deployment has the Event Injected', async () => {
    await kubectl.apply(agentWorkload({ name: 'early', image: cluster.imageRef('example-agents') }));
    await kubectl.rolledOut('deploy/early');
    await eventually(
      'the Event',
      () => eventsOf('deploy', 'early'),
      (text) => /Normal +Injected/.test(text),
    );
  });
});

describe('while the injector is down', () => {
  beforeAll(async () => {
    const objects = [
      ...agentWorkload({ name: 'late', image: cluster.imageRef('example-agents'), replicas: 2 }),
      ...like('late-set', 'StatefulSet'),
      ...like('late-job', 'Job'),
      plain('silent', {}),
      plain('opted-out', { 'platform.io/inject': 'false' }),
    ];
    const isManifest = ({ kind }: KubeObject): boolean => kind === 'ConfigMap';
    await kubectl.apply(objects.filter(isManifest));
    await stopInjector();
    await kubectl.apply(objects.filter((each) => !isManifest(each)));
  });

  test('no manifest is written, because no rule is compared with it', async () => {
    const written = kubectl.apply([manifestConfigMap('late', `${manifestOf('late')}# changed\n`)]);
    await expect(written).rejects.toThrow('failed calling webhook "manifest.platform.io"');
  });

  test('every other pod starts', async () => {
    await kubectl.rolledOut('deploy/silent');
    await kubectl.rolledOut('deploy/opted-out');
  });

  test('no agent starts, and the ReplicaSet reports the reason', async () => {
    const isReported = (text: string) =>
      text.includes(GUARD_MESSAGE) && /ReplicaFailure +True +FailedCreate/.test(text);
    const { result: text } = await eventually(
      "the guard's message",
      () => describeOf('rs', '-l', 'app=late'),
      isReported,
    );
    expect(text).toContain(`check its pods in namespace ${SYSTEM_NAMESPACE}`);
    expect(await podsOf('late')).toEqual([]);
    expect(await podsOf('late-set')).toEqual([]);
    expect(await podsOf('late-job')).toEqual([]);
  });

  test.each([
    ['deploy', 'late'],
    ['statefulset', 'late-set'],
    ['job', 'late-job'],
  ])('the %s %s has exactly one Warning', async (kind, name) => {
    const { result } = await eventually(
      'the Warning',
      () => eventsOf(kind, name),
      (text) => /Warning +PodsRefused/.test(text) && text.includes(GUARD_MESSAGE),
    );
    expect(result.match(/Warning +PodsRefused/g)).toHaveLength(1);
  });

  // Takes half a minute; operator/injector-watch.apiserver.test.ts tests it with a fake clock.
  if (IN_SOAK)
    test('the injector has a Warning from the canary', async () => {
      await eventually(
        'the Warning',
        () => system.run('describe', 'deploy', WEBHOOK),
        (text) => /Warning +CanaryFailed/.test(text) && text.includes('the injector did not answer'),
      );
    });

  test('a running agent continues to run', async () => {
    await eventually('an agent that is ready', async () => (await podsOf('early')).filter(isReady), hasOne);
  });
});

describe('when the injector is back', () => {
  test('every agent starts automatically within seconds, long before its controller would retry', async () => {
    // After half a minute the controllers' back-off is 20 seconds or more.
    await restoreInjector();
    const haveStarted = withinLimit('agents started after the injector is back');
    const isWhole = ({ items }: Pods) => items.length >= 4;
    const started = () => kubectl.get<Pods>('pods', '-l', 'app in (late, late-set, late-job)');
    const { items } = (await eventually('the pods', started, isWhole)).result;
    haveStarted();
    for (const pod of items) expect(pod.spec.initContainers?.[0]?.name).toBe('platform-sidecar');
    await kubectl.rolledOut('deploy/late');
    await kubectl.rolledOut('statefulset/late-set');
    await kubectl.waitFor('condition=Complete', 'job/late-job');
  });

  if (IN_SOAK)
    test('Events report the passing canary and the retries of the owners', async () => {
      expect(await retriedKinds()).not.toEqual([]);
      await eventually(
        'the Event',
        () => system.run('describe', 'deploy', WEBHOOK),
        (text) => /Normal +CanaryPassed/.test(text),
      );
      const retried = () => kubectl.run('get', 'events', '--field-selector', 'reason=Retry', '-o', 'wide');
      const { result } = await eventually('the Event of an owner', retried, (text) => text.includes('Retry'));
      expect(result).toMatch(/Normal +Retry +(deployment|statefulset|job)\/late/);
    });
});
