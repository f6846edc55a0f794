import { describe, expect, test } from '@jest/globals';
import type { Grade, Phase } from '../../core/shapes/values.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import type { Pod, Workload } from '../../kube/types.ts';
import { hasSidecar, isSamePod, keepOptedIn, keepPod } from './agent-pods.ts';
import { hasEnded, isLive } from '../../kube/pods.ts';
import { notesOf } from './changes.ts';
import { driftIn } from './drift.ts';
import { ownConditions } from './conditions.ts';
import { agentWorkloadFirst, desiredObservation, isAsDesired } from './desired.ts';
import { activityOf, agentNameIn, wantsSidecar } from './workload-state.ts';

const SIDECAR = { name: 'platform-sidecar', restartPolicy: 'Always' };

const INJECTED = {
  'platform.io/inject': 'true',
  'platform.io/injected': JSON.stringify({
    ...{ version: '1', config: 'c', restore: [], ownLabel: false },
    agent: { container: 'agent', port: 8000 },
  }),
};

function podOf(name: string, change: Partial<Pod> = {}): Pod {
  return {
    metadata: { name, namespace: 'n', labels: { 'platform.io/agent': 'x' }, annotations: INJECTED },
    spec: { initContainers: [SIDECAR], containers: [{ name: 'agent' }] },
    ...change,
  };
}

describe('a pod', () => {
  test.each<[string, Pod['spec'], boolean]>([
    ['as a native sidecar', { initContainers: [SIDECAR], containers: [] }, true],
    ['as a plain container', { containers: [{ name: 'platform-sidecar' }] }, true],
    [
      'as an init container that terminates',
      { initContainers: [{ name: 'platform-sidecar' }], containers: [] },
      false,
    ],
    ['absent', { containers: [{ name: 'agent' }] }, false],
  ])('with the sidecar %s', (_, spec, expected) => {
    expect(hasSidecar(spec)).toBe(expected);
  });

  test.each([
    ['Pending', undefined, true, false],
    ['Running', undefined, true, false],
    ['Running', '2026-11-21T00:00:00Z', false, false],
    ['Succeeded', undefined, false, true],
    ['Failed', undefined, false, true],
  ])('that is %s with the deletion time %j: live %j, ended %j', (phase, deletionTimestamp, live, ended) => {
    const metadata = { name: 'p', ...(deletionTimestamp ? { deletionTimestamp } : {}) };
    const pod = { metadata, status: { phase } };
    expect([isLive(pod), hasEnded(pod)]).toEqual([live, ended]);
  });

  test('is cached without unused fields', () => {
    const full = {
      metadata: {
        name: 'p',
        namespace: 'n',
        uid: 'u',
        resourceVersion: '1',
        labels: { a: 'b' },
        annotations: { 'platform.io/inject': 'true', 'platform.io/ca': 'PEM', other: 'x' },
        managedFields: [{}],
      },
      spec: {
        containers: [
          {
            name: 'agent',
            image: 'i',
            env: [{ name: 'KEY', value: 'v' }],
            ports: [{ name: 'http', containerPort: 1 }, { containerPort: 2 }],
          },
          { name: 'other', ports: [{ containerPort: 3 }] },
        ],
        initContainers: [{ name: 'platform-sidecar', image: 'i', ports: [{ containerPort: 4000 }] }],
      },
      status: { phase: 'Running', conditions: [{}] },
    };
    expect(keepPod(full)).toEqual({
      metadata: {
        name: 'p',
        namespace: 'n',
        uid: 'u',
        resourceVersion: '1',
        labels: { a: 'b' },
        annotations: { 'platform.io/inject': 'true', 'platform.io/ca': 'PEM' },
      },
      spec: {
        containers: [{ name: 'agent', ports: [{ name: 'http', containerPort: 1 }] }],
        initContainers: [{ name: 'platform-sidecar' }],
      },
      status: { phase: 'Running' },
    });
  });

  test('is cached without a CA that is too long to be a known CA', () => {
    const annotations = { 'platform.io/ca': 'PEM'.repeat(10_000) };
    const { metadata } = keepPod({ metadata: { name: 'p', annotations } });
    expect(metadata.annotations).toEqual({ 'platform.io/ca': '' });
  });

  test('without the label is cached only when it opts in, and only its metadata', () => {
    const metadata = { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1' };
    const opted = { 'platform.io/inject': 'true', 'kubernetes.io/config.mirror': 'm' };
    expect(keepOptedIn({ metadata: { ...metadata, annotations: { ...opted, other: 'x' } } })).toEqual({
      metadata: { ...metadata, annotations: opted },
    });
    expect(
      keepOptedIn({ metadata: { ...metadata, annotations: { 'platform.io/inject': 'false' } } }),
    ).toBeNull();
    expect(keepOptedIn({ metadata })).toBeNull();
  });

  test('counts as unchanged when only its resourceVersion has changed', () => {
    const pod = keepPod(podOf('p'));
    const metadata = { ...pod.metadata, resourceVersion: '2' };
    expect(isSamePod(pod, { ...pod, metadata })).toBe(true);
    expect(isSamePod(pod, { ...pod, metadata: { ...metadata, deletionTimestamp: 'now' } })).toBe(false);
  });
});

describe('a workload without live pods', () => {
  const done = (type: string, status = 'True') => ({ status: { conditions: [{ type, status }] } });
  test.each<[string, string, Partial<Workload>, string]>([
    ['Deployment', 'with 0 replicas', { spec: { replicas: 0 } }, 'scaled-to-zero'],
    ['Deployment', 'with replicas', { spec: { replicas: 1 } }, 'running'],
    ['StatefulSet', 'with 0 replicas', { spec: { replicas: 0 } }, 'scaled-to-zero'],
    ['DaemonSet', 'without a node', { status: { desiredNumberScheduled: 0 } }, 'scaled-to-zero'],
    ['DaemonSet', 'with a node', { status: { desiredNumberScheduled: 1 } }, 'running'],
    ['CronJob', 'between two runs', {}, 'idle'],
    ['Job', 'that is complete', done('Complete'), 'idle'],
    ['Job', 'that has failed', done('Failed'), 'idle'],
    ['Job', 'that is about to fail', done('Failed', 'False'), 'running'],
    ['Job', 'that is suspended', { spec: { suspend: true } }, 'idle'],
    ['Job', 'that should run', {}, 'running'],
    ['Pod', 'that has ended', {}, 'idle'],
  ])('%s %s', (kind, _, workload, activity) => {
    expect(activityOf(kind, { metadata: { name: 'x' }, ...workload })).toBe(activity);
  });

  const opted = (inject?: string) => ({
    metadata: { annotations: inject === undefined ? {} : { 'platform.io/inject': inject } },
  });
  test.each<[string, Workload['spec'], boolean]>([
    ['a template that opts in', { template: opted('true') }, true],
    ['a template that opts out', { template: opted('false') }, false],
    ['a template without the annotation', { template: opted() }, false],
    ["a CronJob's template that opts in", { jobTemplate: { spec: { template: opted('true') } } }, true],
    ["a CronJob's template without the annotation", { jobTemplate: { spec: { template: opted() } } }, false],
    [
      'a template with the sidecar in it',
      { template: { spec: { containers: [], initContainers: [SIDECAR] } } },
      true,
    ],
    ['no template', {}, true],
  ])('with %s', (_, spec, expected) => {
    expect(wantsSidecar({ metadata: { name: 'x' }, ...(spec ? { spec } : {}) })).toBe(expected);
  });
});

describe('the agent name of the pods of a workload', () => {
  const named = (annotations: Record<string, string>, labels: Record<string, string> = {}) => ({
    template: { metadata: { annotations: { 'platform.io/inject': 'true', ...annotations }, labels } },
  });
  test.each<[string, string, Workload['spec'], string | null]>([
    ['Deployment', 'x', named({}), 'x'],
    ['Deployment', 'x', named({ 'platform.io/agent-name': 'y' }), 'y'],
    ['Deployment', 'x', named({ 'platform.io/agent-name': 'Not_A_Label' }), null],
    ['Deployment', 'x', named({}, { 'platform.io/agent': 'z' }), 'z'],
    ['ReplicaSet', 'x-5d9f', named({}, { 'pod-template-hash': '5d9f' }), 'x'],
    ['ReplicaSet', 'x-5d9f', named({}), 'x-5d9f'],
    ['CronJob', 'x', { jobTemplate: { spec: named({}) } }, 'x'],
    ['Job', 'x-29388720', named({}), 'x'],
    ['Pod', 'x', undefined, null],
  ])('%s %s with %j: %j', (kind, name, spec, expected) => {
    expect(agentNameIn(kind, { metadata: { name }, ...(spec ? { spec } : {}) })).toBe(expected);
  });
});

describe('the conditions of the operator', () => {
  const NOTHING_ELSE = { misfit: null, rejectedChange: null, failedMountOf: () => null };
  const AT = new Date('2026-11-21T12:00:00.500Z');
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x', uid: '1' };
  const agentState = {
    pods: [podOf('a')],
    workloads: [workload],
    services: [],
    drift: [],
    ...NOTHING_ELSE,
  };
  const shown = (conditions: Condition[]) =>
    conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

  test('always contain all types', () => {
    expect(shown(ownConditions(agentState, [], AT))).toEqual([
      'Injected=True SidecarPresent',
      'Routed=Unknown NoService',
      'Conflict=False OneWorkload',
      'ManifestValid=Unknown NotStarted',
      'SidecarFits=Unknown NotStarted',
    ]);
  });

  test.each([
    ['true', 'restart the workload'],
    ['false', 'the pods have the label platform.io/agent but do not opt in; opt in or remove the label'],
  ])('report a pod with inject %s without the sidecar, and the remedy', (inject, remedy) => {
    const metadata = { name: 'b', annotations: { 'platform.io/inject': inject } };
    const bare = podOf('b', { metadata, spec: { containers: [{ name: 'agent' }] } });
    const pods = [podOf('a'), bare];
    const [injected] = ownConditions({ ...agentState, pods, drift: driftIn(pods, null) }, [], AT);
    expect(injected).toMatchObject({
      status: 'False',
      reason: 'SidecarMissing',
      message: `1 of 2 pods run without the sidecar, such as b; ${remedy}`,
    });
  });

  test('change lastTransitionTime only with their status', () => {
    const before = '2026-11-20T00:00:00Z';
    const known: Condition[] = [
      { type: 'Injected', status: 'True', reason: 'Old', message: 'old', lastTransitionTime: before },
      { type: 'Conflict', status: 'True', reason: 'Old', message: 'old', lastTransitionTime: before },
    ];
    const times = ownConditions(agentState, known, AT).map((each) => each.lastTransitionTime);
    const now = '2026-11-21T12:00:00Z';
    expect(times).toEqual([before, now, now, now, now]);
  });
});

describe('the desired observation', () => {
  const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x', uid: '1' };
  const statefulSet = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'x', uid: '2' };
  const key = { namespace: 'n', name: 'x' };
  const from = (pods: Pod[]) => ({ pods, minimum: { grade: 'F' as const, evidence: 0 } });
  const gradedPod = (grade: string | undefined): Pod => ({
    metadata: {
      name: 'a',
      ...(grade === undefined ? {} : { annotations: { 'platform.io/compliant-grade': grade } }),
    },
  });
  const stored = (desired: ReturnType<typeof desiredObservation>): AgentObservation => ({
    apiVersion: 'platform.io/v1',
    kind: 'AgentObservation',
    metadata: desired.metadata,
    spec: desired.spec,
  });

  test('is owned by the workload without blocking its deletion', () => {
    const pod = podOf('a');
    const graded = {
      ...pod,
      metadata: { ...pod.metadata, annotations: { 'platform.io/compliant-grade': 'A' } },
    };
    const lower = {
      ...pod,
      metadata: { ...pod.metadata, annotations: { 'platform.io/compliant-grade': 'C' } },
    };
    expect(desiredObservation(key, deployment, from([pod, lower, graded]))).toEqual({
      metadata: {
        ...key,
        ownerReferences: [deployment],
        annotations: { 'platform.io/compliant-grade': 'A' },
      },
      spec: { source: 'sidecar', agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' } },
    });
  });

  test.each<[string | undefined, string[], Grade, Grade | undefined]>([
    [undefined, [], 'F', undefined],
    ['F', [], 'F', 'F'],
    ['B', ['0', '', 'a'], 'F', 'B'],
    [undefined, [], 'C', 'B'],
    ['F', [], 'C', 'C'],
    ['C', ['D'], 'D', 'C'],
    ['C', [], 'B', 'B'],
    ['A', [], 'B', 'A'],
    [undefined, ['E'], 'A', 'A'],
  ])(
    'for pods with the grade bars %s and %j and the minimum %s has the bar %s',
    (grade, others, minimumGrade, bar) => {
      const pods = [gradedPod(grade), ...others.map(gradedPod)];
      const minimum = { grade: minimumGrade, evidence: 0 };
      const { metadata } = desiredObservation(key, deployment, { pods, minimum });
      expect(metadata.annotations?.['platform.io/compliant-grade']).toBe(bar);
    },
  );

  test.each<[string[], number, string | undefined]>([
    [[], 0, undefined],
    [['0'], 0, '0'],
    [['30', '70', '40'], 0, '70'],
    [['30', '101', '', '9x'], 0, '30'],
    [[], 20, '50'],
    [[], 60, '60'],
    [['10'], 20, '20'],
    [['30'], 20, '30'],
    [['9', '80'], 60, '80'],
  ])('for pods with the evidence bars %j and the minimum %d has the bar %s', (percents, evidence, bar) => {
    const name = 'platform.io/compliant-evidence';
    const pods = percents.map((percent): Pod => ({
      metadata: { name: 'a', annotations: { [name]: percent } },
    }));
    const minimum = { grade: 'F' as const, evidence };
    const { metadata } = desiredObservation(key, deployment, { pods, minimum });
    expect(metadata.annotations?.[name]).toBe(bar);
  });

  test.each<[string, Partial<typeof deployment>, boolean]>([
    ['the same workload', {}, true],
    ['a new workload of the same name', { uid: '3' }, false],
    ['another workload', { name: 'y' }, false],
  ])('needs an apply or not: %s', (_, change, expected) => {
    const observation = stored(desiredObservation(key, deployment, from([])));
    expect(isAsDesired(observation, desiredObservation(key, { ...deployment, ...change }, from([])))).toBe(
      expected,
    );
  });

  test.each([
    ['A', 'A', true],
    ['A', 'B', false],
    ['A', undefined, false],
    [undefined, 'A', false],
  ])('with the compliance bar %s, for pods with %s, needs no apply: %s', (is, wanted, expected) => {
    const of = (grade: string | undefined) => desiredObservation(key, deployment, from([gradedPod(grade)]));
    expect(isAsDesired(stored(of(is)), of(wanted))).toBe(expected);
  });

  test('needs an apply when the evidence bar differs', () => {
    const of = (evidence: number) =>
      desiredObservation(key, deployment, { pods: [], minimum: { grade: 'F', evidence } });
    expect([isAsDesired(stored(of(60)), of(60)), isAsDesired(stored(of(60)), of(70))]).toEqual([true, false]);
  });

  test('keeps its workload while the workload has pods', () => {
    const named = stored(desiredObservation(key, statefulSet, from([])));
    expect(agentWorkloadFirst([deployment, statefulSet, deployment], named)).toEqual([
      statefulSet,
      deployment,
    ]);
    expect(agentWorkloadFirst([statefulSet, deployment], undefined)).toEqual([deployment, statefulSet]);
    expect(agentWorkloadFirst([deployment], named)).toEqual([deployment]);
  });
});

describe('Events about an observation', () => {
  const observation = (status?: AgentObservation['status']): AgentObservation => ({
    apiVersion: 'platform.io/v1',
    kind: 'AgentObservation',
    metadata: { name: 'x', namespace: 'n', uid: 'u' },
    spec: { source: 'remote' },
    ...(status ? { status } : {}),
  });
  const issue = {
    severity: 'high' as const,
    property: 'healthcheckable',
    description: 'd',
    recommendation: 'r',
  };
  const shown = (before?: AgentObservation['status'], after?: AgentObservation['status']) =>
    notesOf(observation(before), observation(after)).map(
      ({ type, reason, note }) => `${type} ${reason} ${note}`,
    );

  test.each<[string, string[], AgentObservation['status'], AgentObservation['status']]>([
    ['the first report', ['Normal Healthy phase Pending became Healthy'], undefined, { phase: 'Healthy' }],
    ['no change', [], { phase: 'Healthy', grade: 'A' }, { phase: 'Healthy', grade: 'A', tokens: 5 }],
    [
      'a worse phase and grade',
      [
        'Warning Unhealthy phase Healthy became Unhealthy',
        'Warning GradeChanged grade A became C, score 70: healthcheckable',
      ],
      { phase: 'Healthy', grade: 'A', score: 100 },
      { phase: 'Unhealthy', grade: 'C', score: 70, issues: [issue] },
    ],
    [
      'a better grade',
      ['Normal GradeChanged grade F became B, score 80'],
      { phase: 'Healthy', grade: 'F' },
      { phase: 'Healthy', grade: 'B', score: 80 },
    ],
    [
      'a bad first grade',
      ['Normal Healthy phase Pending became Healthy', 'Warning GradeChanged grade (none) became D, score 50'],
      { phase: 'Pending' },
      { phase: 'Healthy', grade: 'D', score: 50 },
    ],
  ])('are emitted for %s', (_, expected, before, after) => {
    expect(shown(before, after)).toEqual(expected);
  });

  test('of a flapping phase and grade are counted in one Event per transition, for any score and message', () => {
    const of = (phase: Phase, grade: Grade, score: number): AgentObservation['status'] => {
      const fields = { reason: 'R', message: `score ${score}`, lastTransitionTime: '2026-11-21T00:00:00Z' };
      return { phase, grade, score, conditions: [{ type: 'Ready', status: 'False', ...fields }] };
    };
    const seriesOf = (score: number) =>
      [
        notesOf(observation(of('Healthy', 'A', 95)), observation(of('Degraded', 'C', score))),
        notesOf(observation(of('Degraded', 'C', score)), observation(of('Healthy', 'A', 95))),
      ].flatMap((notes) => notes.map(({ series }) => series));
    const expected = ['phase Healthy became Degraded', 'grade A became C'];
    expect(seriesOf(70)).toEqual([...expected, 'phase Degraded became Healthy', 'grade C became A']);
    expect(seriesOf(65)).toEqual(seriesOf(70));
  });

  const injected = (status: Condition['status']): AgentObservation => {
    const fields = { message: `status ${status}`, reason: 'R', lastTransitionTime: '2026-11-21T00:00:00Z' };
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'o' };
    const created = observation({ phase: 'Pending', conditions: [{ type: 'Injected', status, ...fields }] });
    return { ...created, metadata: { ...created.metadata, resourceVersion: '7', ownerReferences: [owner] } };
  };
  test.each<[Condition['status'], Condition['status'], string[]]>([
    ['True', 'False', ['Warning SidecarMissing status False']],
    [
      'False',
      'True',
      ['Normal Injected all pods run with the sidecar; see AgentObservation x for the results'],
    ],
    ['False', 'False', []],
  ])('are emitted on the owner when Injected changes from %s to %s', (from, to, expected) => {
    const notes = notesOf(injected(from), injected(to));
    expect(notes.map(({ type, reason, note }) => `${type} ${reason} ${note}`)).toEqual(expected);
    for (const note of notes)
      expect(note).toMatchObject({ regarding: { kind: 'Deployment', uid: 'o' }, occurrence: 'u/7' });
  });

  const routed = (reason: string | null): AgentObservation => {
    const base = injected('True');
    const fields = { message: 'port 4000', lastTransitionTime: '2026-11-21T00:00:00Z' };
    const conditions: Condition[] =
      reason === null ? [] : [{ type: 'Routed', status: 'False', reason, ...fields }];
    return { ...base, status: { phase: 'Pending', conditions } };
  };
  test.each<[string | null, string, string[]]>([
    [null, 'PortTaken', ['AgentObservation', 'Deployment']],
    ['ServiceBypassesSidecar', 'PortTaken', ['AgentObservation', 'Deployment']],
    ['PortTaken', 'PortTaken', []],
    ['PortTaken', 'ServiceBypassesSidecar', []],
  ])('warn of a sidecar port in use when Routed changes from %s to %s', (from, to, expected) => {
    const notes = notesOf(routed(from), routed(to));
    expect(notes.map(({ regarding }) => regarding.kind)).toEqual(expected);
    for (const note of notes)
      expect(note).toMatchObject({
        type: 'Warning',
        reason: 'PortTaken',
        note: 'port 4000',
        occurrence: 'u/7',
      });
  });

  const judged = (
    type: 'ManifestValid' | 'SidecarFits',
    state: [Condition['status'], string, string] | null,
  ): AgentObservation => {
    const conditions =
      state === null
        ? []
        : [{ type, status: state[0], reason: state[1], message: state[2], lastTransitionTime: 't' }];
    return { ...injected('True'), status: { phase: 'Pending', conditions } };
  };
  const invalid: [Condition['status'], string, string] = ['False', 'ManifestInvalid', 'line 3'];
  test.each<[Parameters<typeof judged>[1], Parameters<typeof judged>[1], string | null]>([
    [null, invalid, 'Warning ManifestInvalid line 3'],
    [['True', 'ManifestInForce', 'm'], invalid, 'Warning ManifestInvalid line 3'],
    [['False', 'ManifestInvalid', 'line 2'], invalid, 'Warning ManifestInvalid line 3'],
    [invalid, ['False', 'ManifestMissing', 'no ConfigMap'], 'Warning ManifestInvalid no ConfigMap'],
    [invalid, invalid, null],
    [invalid, ['True', 'ManifestInForce', 'm'], null],
  ])('warn on both objects when ManifestValid changes from %j to %j', (from, to, expected) => {
    const notes = notesOf(judged('ManifestValid', from), judged('ManifestValid', to));
    const kinds = notes.map(({ regarding }) => regarding.kind);
    expect(kinds).toEqual(expected === null ? [] : ['AgentObservation', 'Deployment']);
    for (const { type, reason, note } of notes) expect(`${type} ${reason} ${note}`).toBe(expected);
  });

  test.each([
    ['LOW', 'Normal'],
    ['MEDIUM', 'Warning'],
    [undefined, 'Warning'],
  ] as const)('tell a changed manifest of severity %s once, on both objects', (severity, type) => {
    const changed = (at: string): AgentObservation => ({
      ...injected('True'),
      status: {
        phase: 'Pending',
        manifestChange: {
          ...{ at, from: 'a'.repeat(64), to: 'b'.repeat(64), summary: 's' },
          ...(severity && { severity }),
        },
      },
    });
    const notes = notesOf({ ...injected('True'), status: { phase: 'Pending' } }, changed('t1'));
    expect(notes.map(({ regarding }) => regarding.kind)).toEqual(['AgentObservation', 'Deployment']);
    for (const each of notes)
      expect(`${each.type} ${each.reason} ${each.note}`).toBe(
        `${type} ManifestChanged manifest aaaaaaaaaaaa… became bbbbbbbbbbbb…: s`,
      );
    expect(notesOf(changed('t1'), changed('t1'))).toEqual([]);
    expect(notesOf(changed('t1'), changed('t2'))).toHaveLength(2);
  });

  const stopped = (id?: string, status: Condition['status'] = 'False'): AgentObservation => ({
    ...injected('True'),
    status: {
      phase: 'Pending',
      conditions: [
        { type: 'Stopped', status, reason: 'x', message: 'why', lastTransitionTime: '2026-11-29T12:00:00Z' },
      ],
      ...(id !== undefined && {
        stop: { id, reason: 'leak', by: 'alice', since: '2026-11-29T12:00:00Z', instances: 1, confirmed: 0 },
      }),
    },
  });
  test.each<[string, string[], Parameters<typeof stopped>, Parameters<typeof stopped>]>([
    ['a stop that no instance confirmed', [], [], ['n/a', 'Unknown']],
    ['a confirmed stop', ['Warning AgentStopped why, by alice: leak'], ['n/a', 'Unknown'], ['n/a', 'True']],
    ['another stop', ['Warning AgentStopped why, by alice: leak'], ['n/a', 'True'], ['n/b', 'True']],
    ['a new instance that has not confirmed it', [], ['n/a', 'True'], ['n/a', 'Unknown']],
    ['the end of a stop', ['Normal AgentResumed the stop n/a ended'], ['n/a', 'True'], []],
    ['the end before it was confirmed', ['Normal AgentResumed the stop n/a ended'], ['n/a', 'Unknown'], []],
    ['nothing', [], ['n/a', 'True'], ['n/a', 'True']],
  ])('tell %s on both objects', (_what, expected, from, to) => {
    const notes = notesOf(stopped(...from), stopped(...to));
    expect(notes.map(({ type, reason, note }) => `${type} ${reason} ${note}`)).toEqual(
      expected.flatMap((each) => [each, each]),
    );
    expect(notes.map(({ regarding }) => regarding.kind)).toEqual(
      expected.length > 0 ? ['AgentObservation', 'Deployment'] : [],
    );
  });

  test('warn of a sidecar without enough memory once, whatever the number of pods', () => {
    const killed = (message: string) => judged('SidecarFits', ['False', 'OutOfMemory', message]);
    const before = judged('SidecarFits', ['True', 'SidecarFits', 'm']);
    const notes = notesOf(before, killed('1 of 2'));
    expect(notes.map(({ reason, note }) => `${reason} ${note}`)).toEqual(
      Array(2).fill('SidecarOutOfMemory 1 of 2'),
    );
    expect(notesOf(killed('1 of 2'), killed('2 of 2'))).toEqual([]);
    // The Event PodsRefused has reported a quota.
    expect(notesOf(before, judged('SidecarFits', ['False', 'QuotaExceeded', 'q']))).toEqual([]);
  });

  test('are not emitted for the first state, which the creation of the observation emits', () => {
    expect(notesOf({ ...injected('True'), status: { phase: 'Pending' } }, injected('False'))).toEqual([]);
  });

  test('refer to the object with its uid', () => {
    expect(notesOf(observation(), observation({ phase: 'Healthy' }))[0]?.regarding).toEqual({
      apiVersion: 'platform.io/v1',
      kind: 'AgentObservation',
      name: 'x',
      namespace: 'n',
      uid: 'u',
    });
  });
});
