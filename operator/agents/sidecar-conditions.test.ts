import { describe, expect, test } from '@jest/globals';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import { stateOf } from '../../core/observation/condition-table.ts';
import type { ContainerStatus, Pod } from '../../kube/types.ts';
import { keepPod } from './agent-pods.ts';
import { idleConditions } from './conditions.ts';
import { keepFailedMount } from './failed-mounts.ts';
import { SIDECAR_FITS, type Misfit } from './fits-condition.ts';
import { MANIFEST_VALID, rejectedChangeIn } from './manifest-condition.ts';

type State = NonNullable<ContainerStatus['state']>;

const TEXT =
  'The manifest is not valid: correct the key agent.yaml\nagent.yaml:3:1 spec.tols: unknown key\u001b[31m\n';
const LINE =
  'The manifest is not valid: correct the key agent.yaml; agent.yaml:3:1 spec.tols: unknown key [31m';
const INVALID: State = { terminated: { exitCode: 65, reason: 'Error', message: TEXT } };
const CRASH_LOOP: State = { waiting: { reason: 'CrashLoopBackOff' } };
const RUNNING: State = { running: { startedAt: 'now' } };
const KILLED: State = { terminated: { exitCode: 137, reason: 'OOMKilled' } };

const podOf = (...statuses: Omit<ContainerStatus, 'name'>[]): Pod => ({
  metadata: { name: 'x-1', namespace: 'n', uid: 'u', labels: { 'platform.io/agent': 'x' } },
  spec: { initContainers: [{ name: 'platform-sidecar' }], containers: [{ name: 'agent' }] },
  status: {
    phase: 'Pending',
    initContainerStatuses: statuses.map((each) => ({ name: 'platform-sidecar', ...each })),
  },
});
const policyStep = (state: State): Pod => ({
  ...podOf(),
  status: {
    initContainerStatuses: [
      { name: 'platform-policy', state },
      { name: 'platform-sidecar', state: { waiting: { reason: 'PodInitializing' } } },
    ],
  },
});
const STARTED = podOf({ started: true, state: RUNNING });
const WAITING = podOf({ state: { waiting: { reason: 'PodInitializing' } } });

const manifestVerdict = (pods: Pod[], mount: string | null = null, rejectedChange: string | null = null) => {
  const { status, reason, message } = stateOf(MANIFEST_VALID, {
    pods,
    failedMountOf: () => mount,
    rejectedChange,
  });
  return `${status} ${reason}: ${message}`;
};

describe('the condition ManifestValid', () => {
  const invalid = `False ManifestInvalid: ConfigMap x-manifest: ${LINE}`;
  const started = 'True ManifestInForce: the sidecar has started with the manifest';
  const unknown = 'Unknown NotStarted: no sidecar has started yet';

  test('bounds the name of the ConfigMap, which an annotation of a running pod sets to any text', () => {
    const annotations = { 'platform.io/manifest-configmap': `a\u001b[2J\n${'b'.repeat(5_000)}` };
    const changed = { ...WAITING, metadata: { ...WAITING.metadata, annotations } };
    const text = manifestVerdict([changed], 'not found');
    expect(text).toContain('ConfigMap a [2J; bbb');
    expect(text.length).toBeLessThan(500);
  });

  test.each<[string, Pod, string]>([
    ['has not started', WAITING, unknown],
    ['cannot pull its image', podOf({ state: { waiting: { reason: 'ImagePullBackOff' } } }), unknown],
    ['runs, but does not serve yet', podOf({ started: false, state: RUNNING }), unknown],
    ['has just ended', podOf({ state: INVALID }), invalid],
    ['waits for its restart', podOf({ state: CRASH_LOOP, lastState: INVALID }), invalid],
    ['tries again', podOf({ started: false, state: RUNNING, lastState: INVALID }), invalid],
    ['serves after a correction', podOf({ started: true, state: RUNNING, lastState: INVALID }), started],
    ['ended for another reason since', podOf({ state: KILLED, lastState: INVALID }), unknown],
    ['serves', STARTED, started],
    ['waits for an engine without rules', policyStep(INVALID), invalid],
    ['waits for an engine', policyStep({ terminated: { exitCode: 0 } }), unknown],
    [
      'wrote no message',
      podOf({ state: { terminated: { exitCode: 65 } } }),
      'False ManifestInvalid: ConfigMap x-manifest: see the log of the sidecar',
    ],
  ])('of a sidecar that %s', (_, pod, expected) => {
    expect([manifestVerdict([pod]), manifestVerdict([keepPod(pod)])]).toEqual([expected, expected]);
  });

  test('names the ConfigMap of the annotation, and bounds the message of the pod', () => {
    const long = podOf({ state: { terminated: { exitCode: 65, message: 'x'.repeat(9_000) } } });
    const annotations = { 'platform.io/manifest-configmap': 'own' };
    const pod = { ...long, metadata: { ...long.metadata, annotations } };
    expect(manifestVerdict([keepPod(pod)])).toBe(
      `False ManifestInvalid: ConfigMap own: ${'x'.repeat(2_048)}`,
    );
    expect(JSON.stringify(keepPod(pod)).length).toBeLessThan(2_600);
  });

  test('is False while one of several pods cannot start, and its message does not name the pod', () => {
    const other = podOf({ state: INVALID });
    const renamed = { ...other, metadata: { ...other.metadata, name: 'x-2', uid: 'v' } };
    expect(manifestVerdict([STARTED, other])).toBe(invalid);
    expect(manifestVerdict([renamed, other])).toBe(invalid);
  });

  test.each<[string, Pod, boolean]>([
    ['waits', WAITING, true],
    ['has no status yet', podOf(), true],
    ['pulls its image', podOf({ state: { waiting: { reason: 'ErrImagePull' } } }), false],
    ['runs', podOf({ started: false, state: RUNNING }), false],
    ['serves', STARTED, false],
    ['waits for an engine', policyStep({ terminated: { exitCode: 0 } }), false],
  ])('with a ConfigMap that was missing and a sidecar that %s', (_, pod, isMissing) => {
    for (const each of [pod, keepPod(pod)])
      expect(manifestVerdict([each], 'configmap "x-manifest" not found').startsWith('False')).toBe(isMissing);
  });

  test('says what to do about a missing ConfigMap', () => {
    expect(manifestVerdict([WAITING], 'configmap "x-manifest" not found')).toBe(
      'False ManifestMissing: ConfigMap x-manifest: configmap "x-manifest" not found; create the ConfigMap with the manifest in the key agent.yaml, the pod then starts by itself',
    );
  });

  test('shows the invalid change that running sidecars report, but not what a model says', () => {
    const issue = {
      severity: 'high' as const,
      property: 'manifest.invalid',
      description: 'agent.yaml:3:1 spec.tols: unknown key',
      recommendation: 'r',
    };
    const change = (source?: 'llm') =>
      rejectedChangeIn({ phase: 'Healthy', issues: [{ ...issue, ...(source && { source }) }] });
    expect(manifestVerdict([STARTED], null, change())).toBe(
      'False ChangeInvalid: agent.yaml:3:1 spec.tols: unknown key',
    );
    expect(change('llm')).toBeNull();
    expect(rejectedChangeIn(undefined)).toBeNull();
  });
});

describe('the FailedMount Events', () => {
  const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: 'n', name: 'x-1', uid: 'u' };
  const cause = 'configmap "x-manifest" not found';
  test.each<[string, string, string | null]>([
    ['of the manifest', `MountVolume.SetUp failed for volume "platform-manifest" : ${cause}`, cause],
    ['of another volume', `MountVolume.SetUp failed for volume "data" : ${cause}`, null],
    [
      'of a kubelet that has not read the ConfigMap yet',
      'MountVolume.SetUp failed for volume "platform-manifest" : failed to sync configmap cache: timed out waiting for the condition',
      null,
    ],
    ['without a text', '', null],
  ])('%s', (_, note, kept) => {
    const event = { metadata: { name: 'e', namespace: 'n' }, regarding, note, reason: 'FailedMount' };
    expect(keepFailedMount(event)?.note ?? null).toBe(kept);
    expect(keepFailedMount({ ...event, regarding: { ...regarding, kind: 'Node' } })).toBeNull();
  });
});

describe('the condition SidecarFits', () => {
  const quota: Misfit = { reason: 'QuotaExceeded', message: 'exceeded quota: team' };
  const range: Misfit = { reason: 'OutsideLimitRange', message: 'maximum memory usage per Container is 1Mi' };
  const annotations = 'or set the annotations platform.io/sidecar-{cpu,memory}-{request,limit}';

  test.each<[string, Pod[], Misfit | null, string]>([
    ['before a start', [WAITING], null, 'Unknown NotStarted: no sidecar has started yet'],
    ['with a sidecar', [STARTED], null, 'True SidecarFits: the sidecar runs with its resources'],
    [
      'with a used-up quota',
      [STARTED],
      quota,
      `False QuotaExceeded: a pod with the sidecar is refused: exceeded quota: team; increase the quota, ${annotations}`,
    ],
    [
      'with a LimitRange',
      [],
      range,
      `False OutsideLimitRange: a pod with the sidecar is refused: maximum memory usage per Container is 1Mi; change the LimitRange, ${annotations}`,
    ],
    [
      'with a killed sidecar that runs again',
      [STARTED, podOf({ started: true, state: RUNNING, lastState: KILLED })],
      null,
      'False OutOfMemory: the sidecar was killed in 1 of 2 pods because it exceeded its memory limit; set a larger platform.io/sidecar-memory-limit and restart the workload',
    ],
    [
      'with a sidecar that something else killed',
      [
        podOf({
          started: true,
          state: RUNNING,
          lastState: { terminated: { exitCode: 137, reason: 'Error' } },
        }),
      ],
      null,
      'True SidecarFits: the sidecar runs with its resources',
    ],
  ])('%s', (_, pods, misfit, expected) => {
    for (const each of [pods, pods.map(keepPod)]) {
      const { status, reason, message } = stateOf(SIDECAR_FITS, { pods: each, misfit });
      expect(`${status} ${reason}: ${message}`).toBe(expected);
    }
  });

  test('is the only condition of the operator that changes without live pods, while pods are refused', () => {
    const at = new Date('2026-11-21T12:00:00Z');
    const known = (reason: string): Condition[] =>
      (['Ready', 'Injected', 'SidecarFits'] as const).map((type) => {
        const lastTransitionTime = '2026-11-20T00:00:00Z';
        return { type, status: 'True', reason, message: 'm', lastTransitionTime };
      });
    const shown = (reason: string, misfit: Misfit | null) =>
      idleConditions(
        { status: { conditions: known(reason) } } as unknown as AgentObservation,
        misfit,
        at,
      ).map((each) => `${each.type} ${each.reason}`);
    expect(shown('Old', null)).toEqual(['Injected Old', 'SidecarFits Old']);
    expect(shown('Old', quota)).toEqual(['Injected Old', 'SidecarFits QuotaExceeded']);
    expect(shown('QuotaExceeded', null)).toEqual(['Injected QuotaExceeded', 'SidecarFits NotStarted']);
  });
});
