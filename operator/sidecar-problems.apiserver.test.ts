// What the operator says about a sidecar that does not start, on a real API server with its controllers, the real webhook and guard.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Condition } from '../core/shapes/condition.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import {
  AGENT_OBSERVATIONS,
  apiVersionOf,
  collectionPath,
  DEPLOYMENTS,
  objectPath,
  PODS,
} from '../kube/resources.ts';
import type { Pod } from '../kube/types.ts';
import { InjectorRig, podTemplate } from '../testing/cluster/injector-rig.ts';
import { until } from '../testing/cluster/operator-rig.ts';

const NAME = 'x';
/** No new pod becomes ready without nodes, so a rolling update would never end. */
const STRATEGY = { type: 'Recreate' };

(whyNoControlPlane() ? describe.skip : describe)('a sidecar that does not start', () => {
  let rig: InjectorRig;
  let namespace = '';
  let namespaces = 0;

  beforeAll(async () => {
    rig = await InjectorRig.open();
    await until('the AgentObservations', () =>
      rig.list(AGENT_OBSERVATIONS, 'default').then(
        () => true,
        () => false,
      ),
    );
  });
  beforeEach(async () => {
    namespace = await rig.namespace(`problems-${(namespaces += 1)}`);
    await rig.startInjector();
    await rig.startOperator();
  });
  afterEach(() => rig.stop());
  afterAll(() => rig?.close());

  async function deploy(annotations: Record<string, string> = {}): Promise<void> {
    const { metadata, spec } = podTemplate({ 'platform.io/inject': 'true', ...annotations });
    const resources = { limits: { memory: '1Mi' } };
    const template = {
      metadata,
      spec: { containers: spec.containers.map((each) => ({ ...each, resources })) },
    };
    const selector = { matchLabels: template.metadata.labels };
    await rig.post(collectionPath(DEPLOYMENTS, namespace), {
      ...{ apiVersion: apiVersionOf(DEPLOYMENTS), kind: DEPLOYMENTS.kind, metadata: { name: NAME } },
      spec: { selector, template, strategy: STRATEGY },
    });
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
    expect(await rig.kubectl(['describe', 'ao', NAME, '-n', namespace])).toContain(wanted);
    expect(await rig.kubectl(['describe', 'deployment', NAME, '-n', namespace])).toContain(
      'unknown key "tols"',
    );
    expect(await rig.kubectl(['get', 'ao', NAME, '-n', namespace])).toMatch(/x +Pending/);

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
    await rig.kubectl([
      'delete',
      'pod',
      pod.metadata.name,
      '-n',
      namespace,
      '--wait=false',
      '--grace-period=0',
      '--force',
    ]);
    const text = await message('SidecarFits', 'False', 'QuotaExceeded');
    expect(text).toContain('exceeded quota: team, requested: limits.memory=193Mi');
    await rig.patch(`${path}/team`, { spec: { hard: { 'limits.memory': '1Gi' } } });
    await rig.kubectl(['rollout', 'restart', `deployment/${NAME}`, '-n', namespace]);
    // The ReplicaSet before may have created a pod first, which the Deployment removes.
    await until('the pod of the changed template', async () => {
      const { annotations = {} } = (await thePod()).metadata;
      return 'kubectl.kubernetes.io/restartedAt' in annotations;
    });
    await setSidecar({ running: {} }, true);
    await message('SidecarFits', 'True', 'SidecarFits');
  });
});
