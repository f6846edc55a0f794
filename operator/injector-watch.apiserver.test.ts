// The chart's guard and canary on a real API server with its controllers, the real webhook and the real operator; and what the
// operator says about a sidecar that does not start.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Condition } from '../core/shapes/condition.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import {
  AGENT_OBSERVATIONS,
  apiVersionOf,
  collectionPath,
  DAEMON_SETS,
  DEPLOYMENTS,
  JOBS,
  objectPath,
  PODS,
  REPLICA_SETS,
  STATEFUL_SETS,
  type Resource,
} from '../kube/resources.ts';
import type { Pod } from '../kube/types.ts';
import { silentLogger, type Logger } from '../runtime/logger.ts';
import { rejectionIn } from '../testing/cluster/api-cluster.ts';
import { permissionsOf } from '../testing/cluster/api-audit.ts';
import { CANARY_POLICY, InjectorRig, optedIn, podTemplate } from '../testing/cluster/injector-rig.ts';
import { until } from '../testing/cluster/operator-rig.ts';
import { RELEASE_NAMESPACE as SYSTEM } from '../testing/cluster/rendered-chart.ts';
import { TIMING } from '../webhook/certificates/advance.ts';
import { OPERATOR_PERMISSIONS } from '../testing/cluster/operator-permissions.ts';

const NAME = 'x';
/** No new pod becomes ready without nodes, so a rolling update would never end. */
const STRATEGY = { type: 'Recreate' };

const selector = { matchLabels: { app: 'x' } };
/** Schedulable also on nodes that are not ready. */
const everywhere = {
  ...podTemplate(),
  spec: { ...podTemplate().spec, tolerations: [{ operator: 'Exists' }] },
};
const job = { ...podTemplate(), spec: { ...podTemplate().spec, restartPolicy: 'Never' } };
const deployment = { selector, template: podTemplate() };

/** A workload `x` of each kind, with the controller that creates its pods and the number of pods. */
const KINDS: { resource: Resource<unknown>; spec: object; podController: Resource<unknown>; pods: number }[] =
  [
    { resource: DEPLOYMENTS, spec: { ...deployment, replicas: 2 }, podController: REPLICA_SETS, pods: 2 },
    {
      resource: STATEFUL_SETS,
      spec: { serviceName: 'x', selector, template: podTemplate() },
      podController: STATEFUL_SETS,
      pods: 1,
    },
    { resource: DAEMON_SETS, spec: { selector, template: everywhere }, podController: DAEMON_SETS, pods: 1 },
    { resource: JOBS, spec: { template: job }, podController: JOBS, pods: 1 },
  ];

const create = (rig: InjectorRig, resource: Resource<unknown>, spec: object, namespace: string) =>
  rig.post(collectionPath(resource, namespace), {
    ...{ apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { name: 'x' }, spec },
  });

async function annotationsOf(rig: InjectorRig, podController: Resource<unknown>, namespace: string) {
  const [found] = (await rig.list(podController, namespace)) as { metadata: { annotations?: object } }[];
  return found?.metadata.annotations ?? {};
}

const havePods = (rig: InjectorRig, namespace: string, count: number) =>
  until(`the pods in ${namespace}`, async () => (await rig.list(PODS, namespace)).length === count);

async function restartOperator(rig: InjectorRig): Promise<void> {
  await rig.stopOperator();
  await rig.startOperator();
}

/** Expects an unchanged condition after a restart of the operator and after a policy change that the API server re-checks. */
async function expectConditionToStay(rig: InjectorRig): Promise<void> {
  const checkedPolicy = async (after = 0) => {
    await until('the check of its expressions', async () => {
      const { metadata, status } = await rig.policy();
      return metadata.generation > after && status.observedGeneration === metadata.generation;
    });
    return rig.policy();
  };
  const before = await checkedPolicy();
  await restartOperator(rig);
  await rig.checked('passed', 3);
  expect((await rig.policy()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  await rig.patchPolicy({ validations: [{ expression: 'request.dryRun', reason: 'Invalid' }] });
  const after = await checkedPolicy(before.metadata.generation);
  expect(after.status.conditions).toEqual(before.status.conditions);
  await rig.patchPolicy({ validations: before.spec.validations });
}

async function detectsInjectorOutage(rig: InjectorRig): Promise<void> {
  await rig.startInjector();
  await rig.startOperator();
  await rig.checked('passed');
  expect(await rig.metric('platform_operator_canary_passing')).toBe(1);
  expect(await rig.metric('platform_operator_canary_checks_total{outcome="differs"}')).toBeNull();
  await until('the condition', async () => (await rig.condition())?.status === 'True');
  expect(await rig.condition()).toMatchObject({ status: 'True', reason: 'Passed' });
  await expectConditionToStay(rig);
  const passedSince = (await rig.condition())?.lastTransitionTime ?? '';
  await rig.stopInjector();
  await rig.checked('no-answer');
  expect(await rig.metric('platform_operator_canary_passing')).toBe(0);
  // The operator stays ready, because its restart would not fix the injector.
  expect(await rig.readiness()).toBe(200);
  // A failure is reported after half a minute.
  rig.skip(30_000);
  expect(await rig.firstEvent('CanaryFailed', SYSTEM)).toMatchObject({
    regarding: { kind: 'Deployment', name: 'agent-compliance-webhook' },
    type: 'Warning',
    note: expect.stringContaining('the injector did not answer'),
  });
  const failed = await rig.condition();
  expect(failed).toMatchObject({
    status: 'False',
    reason: 'NoAnswer',
    message: expect.stringContaining('the injector did not answer'),
  });
  expect(Date.parse(failed?.lastTransitionTime ?? '')).toBeGreaterThan(Date.parse(passedSince));
  // The next leader reads the condition of the previous leader.
  await restartOperator(rig);
  await rig.checked('no-answer');
  await rig.startInjector();
  await rig.checked('passed');
  await rig.firstEvent('CanaryPassed', SYSTEM);
  expect(await rig.condition()).toMatchObject({ status: 'True', reason: 'Passed' });
  expect(await rig.list(PODS, 'platform-canary')).toEqual([]);
}

async function trustsOldCaUntilCanaryPassed(rig: InjectorRig): Promise<void> {
  const steps: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (_message, fields) => steps.push(...((fields?.['steps'] as string[] | undefined) ?? [])),
  };
  const retired = () => steps.filter((step) => step === 'retire-previous').length;
  // Every CA is due for renewal immediately.
  const timing = { ...TIMING, caDays: 10, caRenewDays: 5_000, leafDays: 5, leafRenewDays: 1 };
  const options = { timing: { ...timing, settleMs: 300 }, everyMs: 100, logger };
  await rig.startInjector({ CANARY_POLICY }, options);
  await until('a new CA', () => steps.includes('promote-next'));
  // The next step waits for the canary, although it is due after 0.3 s and pods are injected with the new certificate.
  for (const end = performance.now() + 1_000; performance.now() < end;) {
    expect(await rig.refused(optedIn('while-it-waits'))).toBeNull();
    expect(retired()).toBe(0);
    await sleep(50);
  }
  await rig.startOperator();
  await until('two complete CA rotations', () => retired() >= 2);
  expect(await rig.refused(optedIn('after'))).toBeNull();
  expect(await rig.metric('platform_operator_canary_checks_total{outcome="no-answer"}')).toBeNull();
  expect(await rig.metric('platform_operator_canary_checks_total{outcome="differs"}')).toBeNull();
}

async function createsNothing(rig: InjectorRig, namespace: string): Promise<void> {
  const account = rig.as(`system:serviceaccount:${SYSTEM}:agent-compliance-canary`);
  const body = { ...optedIn('real', {}), spec: { ...podTemplate().spec, securityContext: {} } };
  const attempt = async (home: string, query: Record<string, string> = {}) => {
    const path = collectionPath(PODS, home);
    return rejectionIn(await account.send({ method: 'POST', path, query, body }));
  };
  const dryRun = { dryRun: 'All' };
  expect(await attempt(namespace, dryRun)).toContain('cannot create resource "pods"');
  expect(await attempt('platform-canary')).toMatch(/only dry-run pods are allowed|PodSecurity/);
  // An administrator cannot create pods either.
  const enforce = (level: string | null) =>
    rig.patch('/api/v1/namespaces/platform-canary', {
      metadata: { labels: { 'pod-security.kubernetes.io/enforce': level } },
    });
  await enforce(null);
  try {
    const rejection = 'only dry-run pods are allowed in this namespace';
    // Pod Security applies a changed namespace label after a delay.
    await until('the other rejection', async () => (await attempt('platform-canary')).includes(rejection));
    expect(await attempt('platform-canary', dryRun)).toBe('');
  } finally {
    await enforce('restricted');
  }
}

async function retriesEveryKind(rig: InjectorRig, namespace: string): Promise<void> {
  await rig.startOperator();
  const connect = await rig.prepareInjector();
  // Each workload has its own namespace, because their labels are equal.
  const homes = await Promise.all(
    KINDS.map(async (each) => {
      const home = await rig.controlledNamespace(`${namespace}-${each.resource.kind.toLowerCase()}`);
      return { ...each, kind: each.resource.kind, home };
    }),
  );
  await Promise.all(homes.map(({ resource, spec, home }) => create(rig, resource, spec, home)));
  for (const { kind, home } of homes)
    expect(await rig.firstEvent('PodsRefused', home)).toMatchObject({
      regarding: { kind, name: 'x' },
      type: 'Warning',
      note: expect.stringContaining('has no platform-sidecar: the injector did not answer'),
    });
  // Suspended, so that no controller retries by itself before the operator does.
  await rig.suspendControllers();
  await connect();
  try {
    for (const { home, podController, kind } of homes)
      await until(`the retry of the ${kind}`, async () =>
        Object.hasOwn(await annotationsOf(rig, podController, home), 'platform.io/retry'),
      );
  } finally {
    rig.resumeControllers();
  }
  await Promise.all(homes.map(({ home, pods }) => havePods(rig, home, pods)));
  expect(await rig.metric('platform_operator_wakes_total')).toBeGreaterThanOrEqual(homes.length);
  for (const { kind, home } of homes) expect((await rig.firstEvent('Retry', home)).regarding.kind).toBe(kind);
}

async function reportsUnfixableRejections(rig: InjectorRig, namespace: string): Promise<void> {
  await rig.startInjector();
  await rig.startOperator();
  const annotations = { 'platform.io/inject': 'true', 'platform.io/agent-port': 'many' };
  await create(rig, DEPLOYMENTS, { selector, template: podTemplate(annotations) }, namespace);
  expect(await rig.firstEvent('PodsRefused', namespace)).toMatchObject({
    regarding: { kind: 'Deployment', name: 'x' },
    note: 'annotation platform.io/agent-port: "many" is not an integer from 1 to 65535',
  });
  // Each response of the injector could trigger a retry.
  const passed = (await rig.metric('platform_operator_canary_checks_total{outcome="passed"}')) ?? 0;
  await rig.checked('passed', passed + 3);
  expect(await annotationsOf(rig, REPLICA_SETS, namespace)).not.toHaveProperty(['platform.io/retry']);
  expect(await rig.events('PodsRefused', namespace)).toHaveLength(1);
}

const retries = (rig: InjectorRig) => rig.metric('platform_operator_wakes_total{kind="ReplicaSet"}');

async function retriesWithoutCanary(rig: InjectorRig, namespace: string): Promise<void> {
  await rig.startOperator({ CANARY_NAMESPACE: '' });
  const began = performance.now();
  await create(rig, DEPLOYMENTS, deployment, namespace);
  await rig.firstEvent('PodsRefused', namespace);
  // The first retry comes after five seconds, independent of the injector; each further delay doubles.
  await until('a retry', async () => (await retries(rig)) !== null);
  const afterMs = performance.now() - began;
  expect(afterMs).toBeGreaterThan(5_000);
  expect(await retries(rig)).toBeLessThanOrEqual(1 + Math.log2((performance.now() - began) / 5_000));
  await rig.startInjector();
  await havePods(rig, namespace, 1);
  expect(await annotationsOf(rig, REPLICA_SETS, namespace)).toHaveProperty(['platform.io/retry']);
  expect(await rig.metric('platform_operator_canary_passing')).toBeNull();
}

async function reportsWithoutRetries(rig: InjectorRig, namespace: string): Promise<void> {
  await rig.startOperator({ WAKE_CONTROLLERS: 'false' });
  const connect = await rig.prepareInjector();
  await create(rig, DEPLOYMENTS, deployment, namespace);
  await rig.firstEvent('PodsRefused', namespace);
  // While no controller retries by itself, an annotation could come only from the operator.
  await rig.suspendControllers();
  try {
    await connect();
    await rig.checked('passed', 3);
    expect(await annotationsOf(rig, REPLICA_SETS, namespace)).not.toHaveProperty(['platform.io/retry']);
  } finally {
    rig.resumeControllers();
  }
  await havePods(rig, namespace, 1);
  expect(await retries(rig)).toBeNull();
  expect(await annotationsOf(rig, REPLICA_SETS, namespace)).not.toHaveProperty(['platform.io/retry']);
  expect(await rig.metric('platform_operator_canary_passing')).toBe(1);
}

const TESTS: [name: string, run: (rig: InjectorRig, namespace: string) => Promise<void>][] = [
  ['the canary passes, detects an outage of the injector, and passes again', detectsInjectorOutage],
  [
    'the canary detects another version when the injector has another log level',
    finds('other-version', 'debug'),
  ],
  ['the canary passes when the injector injects the expected pod', finds('passed')],
  ['workloads of every kind get their pods when the injector is available again', retriesEveryKind],
  [
    'a rejection that the injector cannot fix is reported, and no controller is retried',
    reportsUnfixableRejections,
  ],
  ['the webhook trusts an old CA until the canary has passed with the new one', trustsOldCaUntilCanaryPassed],
  ['without a canary, controllers are retried with backoff', retriesWithoutCanary],
  ['with WAKE_CONTROLLERS=false rejections are reported and no controller is retried', reportsWithoutRetries],
  ["the canary's account can create only dry-run pods, and nothing in other namespaces", createsNothing],
];

function finds(outcome: string, logLevel?: string) {
  return async (rig: InjectorRig) => {
    await rig.startInjector(logLevel === undefined ? {} : { SIDECAR_LOG_LEVEL: logLevel });
    await rig.startOperator();
    await rig.checked(outcome);
  };
}

(whyNoControlPlane() ? describe.skip : describe)('the injector watch of the operator', () => {
  let rig: InjectorRig;
  let namespaces = 0;

  beforeAll(async () => {
    rig = await InjectorRig.open();
  });
  afterEach(() => rig.stop());
  afterAll(() => rig?.close());

  test.each(TESTS)('%s', async (_name, run) => {
    await run(rig, await rig.controlledNamespace(`team-${(namespaces += 1)}`));
  });

  describe('reports a sidecar that does not start', () => {
    let namespace = '';

    beforeAll(() => until('the AgentObservations', () => rig.serves(collectionPath(AGENT_OBSERVATIONS))));
    beforeEach(async () => {
      namespace = await rig.controlledNamespace(`problems-${(namespaces += 1)}`);
      await rig.startInjector();
      await rig.startOperator();
    });

    const podOf = (annotations: Record<string, string> = {}) => {
      const { metadata, spec } = podTemplate({ 'platform.io/inject': 'true', ...annotations });
      const resources = { limits: { memory: '1Mi' } };
      return { metadata, spec: { containers: spec.containers.map((each) => ({ ...each, resources })) } };
    };
    async function deploy(annotations?: Record<string, string>): Promise<void> {
      const template = podOf(annotations);
      await create(rig, DEPLOYMENTS, { selector, template, strategy: STRATEGY }, namespace);
    }

    async function thePod(): Promise<Pod & { metadata: { uid: string } }> {
      let found: Pod[] = [];
      await until('the pod', async () => (found = await rig.list(PODS, namespace)).length === 1);
      return found[0] as Pod & { metadata: { uid: string } };
    }

    /** Writes what the kubelet would write. */
    async function setSidecar(state: object, started = false, lastState: object = {}): Promise<void> {
      const { name } = (await thePod()).metadata;
      const sidecar = { name: 'platform-sidecar', ready: started, restartCount: 1, image: 'i', imageID: 'i' };
      await rig.patch(objectPath(PODS, { namespace, name }, 'status'), {
        status: { initContainerStatuses: [{ ...sidecar, started, state, lastState }] },
      });
    }

    /** Waits for a condition of the AgentObservation, and returns its message. */
    async function message(type: Condition['type'], status: string, reason: string): Promise<string> {
      let found: Condition | undefined;
      await until(`${type}=${status} ${reason}`, async () => {
        const [observation] = await rig.list(AGENT_OBSERVATIONS, namespace);
        found = observation?.status?.conditions?.find((each) => each.type === type);
        return found?.status === status && found.reason === reason;
      });
      return found?.message ?? '';
    }

    /** Waits for `count` Events: the operator writes one after the other. */
    async function warnings(reason: string, count: number): Promise<string[]> {
      let events = await rig.events(reason, namespace);
      await until(`${count} × ${reason}`, async () => {
        events = await rig.events(reason, namespace);
        return events.length >= count;
      });
      return events.map(({ regarding, note }) => `${regarding.kind} ${regarding.name}: ${note}`).sort();
    }

    test('because its manifest is invalid: the condition and one Event on the Deployment have its message', async () => {
      await deploy();
      await message('ManifestValid', 'Unknown', 'NotStarted');
      const text = 'The manifest is not valid\nagent.yaml:3:1 spec.tols: unknown key "tols"';
      const ended = { exitCode: 65, reason: 'Error', message: text };
      const wanted =
        'ConfigMap x-manifest: The manifest is not valid; agent.yaml:3:1 spec.tols: unknown key "tols"';
      await setSidecar({ terminated: ended });
      expect(await message('ManifestValid', 'False', 'ManifestInvalid')).toBe(wanted);
      // Further attempts change nothing.
      await setSidecar({ running: {} }, false, { terminated: ended });
      await setSidecar({ waiting: { reason: 'CrashLoopBackOff' } }, false, { terminated: ended });
      await warnings('ManifestInvalid', 2);
      await setSidecar({ running: {} }, true, { terminated: ended });
      await message('ManifestValid', 'True', 'ManifestInForce');
      await message('SidecarFits', 'True', 'SidecarFits');
      expect(await warnings('ManifestInvalid', 2)).toEqual([
        `AgentObservation x: ${wanted}`,
        `Deployment x: ${wanted}`,
      ]);
    });

    test('because its ConfigMap does not exist: the condition names it until the sidecar has started', async () => {
      await deploy({ 'platform.io/manifest-configmap': 'own' });
      const { name, uid } = (await thePod()).metadata;
      await rig.post(`/api/v1/namespaces/${namespace}/events`, {
        metadata: { name: 'mount', namespace },
        involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
        ...{ type: 'Warning', reason: 'FailedMount' },
        message: 'MountVolume.SetUp failed for volume "platform-manifest" : configmap "own" not found',
      });
      expect(await message('ManifestValid', 'False', 'ManifestMissing')).toContain(
        'ConfigMap own: configmap "own" not found; create the ConfigMap',
      );
      expect(await warnings('ManifestInvalid', 2)).toEqual([
        expect.stringContaining('AgentObservation x: ConfigMap own'),
        expect.stringContaining('Deployment x: ConfigMap own'),
      ]);
      await setSidecar({ running: {} }, true);
      await message('ManifestValid', 'True', 'ManifestInForce');
    });

    test('because of its memory limit', async () => {
      await deploy();
      await setSidecar({ running: {} }, true, { terminated: { exitCode: 137, reason: 'OOMKilled' } });
      expect(await message('SidecarFits', 'False', 'OutOfMemory')).toContain('in 1 of 1 pods');
      expect(await warnings('SidecarOutOfMemory', 2)).toHaveLength(2);
    });

    test('because of a LimitRange: the Deployment has the words of the API server', async () => {
      await rig.post(`/api/v1/namespaces/${namespace}/limitranges`, {
        metadata: { name: 'small' },
        spec: { limits: [{ type: 'Container', max: { memory: '128Mi' } }] },
      });
      await deploy();
      const [event] = await warnings('PodsRefused', 1);
      expect(event).toMatch(/^Deployment x: .*maximum memory usage per Container is 128Mi/);
    });

    test('because of a quota that was reduced: the condition says so, and no more when pods are created', async () => {
      await deploy();
      const pod = await thePod();
      await setSidecar({ running: {} }, true);
      await message('SidecarFits', 'True', 'SidecarFits');
      const path = `/api/v1/namespaces/${namespace}/resourcequotas`;
      await rig.post(path, { metadata: { name: 'team' }, spec: { hard: { 'limits.memory': '1Mi' } } });
      await until('the quota', async () => {
        const { status } = await rig.get<{ status?: { used?: object } }>(`${path}/team`);
        return status?.used !== undefined;
      });
      await rig.remove(objectPath(PODS, { namespace, name: pod.metadata.name }), { gracePeriodSeconds: 0 });
      const text = await message('SidecarFits', 'False', 'QuotaExceeded');
      expect(text).toContain('exceeded quota: team, requested: limits.memory=193Mi');
      await rig.patch(`${path}/team`, { spec: { hard: { 'limits.memory': '1Gi' } } });
      // A ReplicaSet whose pod is still rejected would wait for longer and longer.
      const { metadata: _, ...probe } = podOf();
      const query = { dryRun: 'All' };
      const body = { ...probe, metadata: { name: 'probe' } };
      await until('the changed quota', async () => {
        const pods = collectionPath(PODS, namespace);
        return (await rig.client.send({ method: 'POST', path: pods, query, body })).ok;
      });
      const metadata = { annotations: { restarted: 'yes' } };
      await rig.patch(objectPath(DEPLOYMENTS, { namespace, name: NAME }), {
        spec: { template: { metadata } },
      });
      // The ReplicaSet before may have created a pod first, which the Deployment removes.
      await until('the pod of the changed template', async () => {
        const { annotations = {} } = (await thePod()).metadata;
        return 'restarted' in annotations;
      });
      await setSidecar({ running: {} }, true);
      await message('SidecarFits', 'True', 'SidecarFits');
    });
  });

  test('uses exactly the granted permissions, and the operator itself creates no pod', () => {
    const of = (part: string) => {
      const { used, decisions } = rig.audit.of(part);
      return { used: [...new Set(used)].sort(), decisions: [...new Set(decisions)].sort() };
    };
    expect(of('operator').decisions).toEqual(['allow']);
    const { retry, canary } = OPERATOR_PERMISSIONS;
    expect(of('operator').used).toEqual(
      expect.arrayContaining(permissionsOf([...retry, ...canary.cluster, ...canary.namespace])),
    );
    expect(of('operator').used).not.toContain('create  pods');
    expect(of('canary')).toEqual({ used: permissionsOf(canary.account), decisions: ['allow'] });
  });
});
