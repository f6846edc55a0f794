// The chart's policy for AgentObservations at a real API server, and what the aggregated role `edit` allows.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { APPLY, clusterBinary, UNVALIDATED } from '../testing/machine/cluster-binary.ts';
import { render, RELEASE_NAMESPACE, type ChartObject } from '../testing/cluster/rendered-chart.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const EDITOR = ['--as', 'eve', '--as-group', 'system:authenticated'];
const ACCOUNT = (part: string) => `system:serviceaccount:${RELEASE_NAMESPACE}:agent-compliance-${part}`;
const REMOTE =
  'source remote is allowed only in namespace platform-remote: register the agent at the control plane';

const entries = (count: number, value = 'v') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/${index}`, value]));
const list = <T>(count: number, item: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => item(index));
const owner = (index: number, name = 'x') => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  name,
  uid: `u-${index}`,
});
const finalizer = (index: number) => `example.com/${index}`;
const observation = (metadata: object, source = 'sidecar') => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'new', ...metadata },
  spec:
    source === 'sidecar'
      ? { source, agentRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' } }
      : { source },
});

const ADMITTED: [string, object][] = [
  ['no metadata', {}],
  ['30 annotations of 2,000 characters', { annotations: entries(30, '漢'.repeat(2_000)) }],
  ['an annotation of 4,096 characters', { annotations: { a: 'x'.repeat(4_096) } }],
  ['50 labels', { labels: entries(50) }],
  ['10 finalizers and 10 owners', { finalizers: list(10, finalizer), ownerReferences: list(10, owner) }],
];
const REJECTED: [string, object, string][] = [
  [
    '31 annotations',
    { annotations: entries(31) },
    'at most 30 annotations with at most 4,096 characters each are allowed',
  ],
  ['a longer annotation', { annotations: { a: 'x'.repeat(4_097) } }, 'at most 30 annotations'],
  ['annotations of 250 kB', { annotations: entries(12_000, 'v') }, 'at most 30 annotations'],
  ['51 labels', { labels: entries(51) }, 'at most 50 labels are allowed'],
  ['8,000 labels', { labels: entries(8_000) }, 'at most 50 labels are allowed'],
  ['11 finalizers', { finalizers: list(11, finalizer) }, 'at most 10 finalizers are allowed'],
  ['11 owners', { ownerReferences: list(11, owner) }, 'at most 10 ownerReferences'],
  [
    'an owner with a long name',
    { ownerReferences: [owner(0, 'x'.repeat(254))] },
    'at most 10 ownerReferences',
  ],
];

(whyNoControlPlane() ? describe.skip : describe)('the policy for AgentObservations', () => {
  let control: ControlPlane;
  let policy: ChartObject[];

  const kubectl = (args: readonly string[], input?: unknown): Promise<RunResult> =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args], {
      input: JSON.stringify(input),
    });
  const create = async (
    object: object,
    namespace = 'team',
    user: string[] = [],
    dryRun = ['--dry-run=server'],
  ) =>
    (await kubectl(['create', UNVALIDATED, '-n', namespace, ...dryRun, ...user, '-f', '-'], object)).stderr;
  const merge = (patch: object, user: string[] = []) =>
    kubectl([
      'patch',
      'ao',
      'old',
      '-n',
      'team',
      '--type=merge',
      ...user,
      '-p',
      JSON.stringify({ metadata: patch }),
    ]);
  async function apply(items: readonly object[]): Promise<void> {
    const { code, stderr } = await kubectl([...APPLY, '-f', '-'], { apiVersion: 'v1', kind: 'List', items });
    if (code !== 0) throw new Error(stderr);
  }

  beforeAll(async () => {
    control = await startControlPlane();
    const namespaces = ['team', 'platform-remote', 'other-remote', RELEASE_NAMESPACE].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name,
        ...(name === 'other-remote' && { labels: { 'app.kubernetes.io/part-of': 'agent-compliance' } }),
      },
    }));
    const objects = await render();
    await apply([...namespaces, ...objects.filter(({ kind }) => kind === 'CustomResourceDefinition')]);
    await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']);
    const stored = {
      annotations: entries(31),
      labels: entries(51),
      finalizers: list(12, finalizer),
      ownerReferences: list(12, owner),
    };
    // As stored before the policy existed.
    expect(await create(observation({ name: 'old', ...stored }), 'team', [], [])).toBe('');
    await apply(objects.filter(({ kind }) => kind === 'ClusterRole'));
    policy = objects.filter(({ metadata }) => metadata.name === 'agent-compliance-observations');
    await apply(policy);
    const grant = (name: string, role: string, users: string[]) =>
      kubectl([
        'create',
        'clusterrolebinding',
        name,
        '--clusterrole',
        role,
        ...users.flatMap((user) => ['--user', user]),
      ]);
    // The controller that aggregates the rules into `edit` does not run here.
    for (const role of ['agent-compliance-view', 'agent-compliance-edit'])
      await kubectl(['create', 'rolebinding', role, '-n', 'team', '--clusterrole', role, '--user', 'eve']);
    await grant('all', 'cluster-admin', [ACCOUNT('operator'), ACCOUNT('control-plane'), ACCOUNT('webhook')]);
    for (const end = performance.now() + 120_000; (await create(observation({}, 'remote'))) === '';) {
      if (performance.now() > end) throw new Error('the policy is not active');
      await sleep(200);
    }
  });
  afterAll(() => control?.close());

  test('consists of a policy and its binding, which always denies', () => {
    expect(policy.map(({ kind }) => kind).sort()).toEqual([
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
    ]);
  });

  test.each(ADMITTED)('admits an AgentObservation with %s', async (_what, metadata) => {
    expect(await create(observation(metadata))).toBe('');
  });

  test.each(REJECTED)('rejects an AgentObservation with %s', async (_what, metadata, message) => {
    expect(await create(observation(metadata))).toContain(`AgentObservation new: ${message}`);
    // Also for the product itself.
    const operator = ['--as', ACCOUNT('operator')];
    expect(await create(observation(metadata), 'team', operator)).toContain(message);
  });

  test.each<[string, string, string[], string]>([
    ['a cluster administrator in a namespace of agents', 'team', [], REMOTE],
    ['another ServiceAccount of the product', 'team', ['--as', ACCOUNT('webhook')], REMOTE],
    ['the control plane', 'team', ['--as', ACCOUNT('control-plane')], ''],
    ['the mirror of the operator', 'team', ['--as', ACCOUNT('operator')], ''],
    ['a cluster administrator in the namespace of remote agents', 'platform-remote', [], ''],
    ['a cluster administrator in that of another installation', 'other-remote', [], ''],
  ])('of source remote, created by %s', async (_who, namespace, user, message) => {
    expect(await create(observation({}, 'remote'), namespace, user)).toContain(message);
    expect((await create(observation({}, 'remote'), namespace, user)) === '').toBe(message === '');
  });

  test('lets an editor of the namespace change and delete an AgentObservation, but not create or bulk delete', async () => {
    const can = async (verb: string) =>
      (
        await kubectl(['auth', 'can-i', verb, 'agentobservations.platform.io', '-n', 'team', ...EDITOR])
      ).stdout.trim();
    const verbs = ['patch', 'update', 'delete', 'create', 'deletecollection'];
    expect(await Promise.all(verbs.map(can))).toEqual(['yes', 'yes', 'yes', 'no', 'no']);
    expect(await create(observation({}), 'team', EDITOR)).toContain('cannot create resource');
  });

  test('admits changes of an older AgentObservation that do not add to what exceeds a bound', async () => {
    const ok = { code: 0 };
    const spec = JSON.stringify({ spec: { heartbeatSeconds: 60 } });
    expect(
      await kubectl(['patch', 'ao', 'old', '-n', 'team', '--type=merge', '-p', spec, ...EDITOR]),
    ).toMatchObject(ok);
    expect((await merge({ annotations: { more: 'x' } }, EDITOR)).stderr).toContain('at most 30 annotations');
    expect((await merge({ labels: { more: 'x' } }, EDITOR)).stderr).toContain('at most 50 labels');
    expect((await merge({ finalizers: list(13, finalizer) })).stderr).toContain('at most 10 finalizers');
    expect((await merge({ ownerReferences: list(13, owner) })).stderr).toContain(
      'at most 10 ownerReferences',
    );
    // Each controller removes its own.
    expect(await merge({ finalizers: list(11, finalizer) })).toMatchObject(ok);
    expect(await merge({ ownerReferences: list(11, owner) })).toMatchObject(ok);
    expect(await merge({ annotations: { 'example.com/0': null } })).toMatchObject(ok);
    expect(await kubectl(['delete', 'ao', 'old', '-n', 'team', '--wait=false', ...EDITOR])).toMatchObject(ok);
    expect(await merge({ finalizers: null }, EDITOR)).toMatchObject(ok);
    expect((await kubectl(['get', 'ao', 'old', '-n', 'team'])).stderr).toContain('not found');
  });

  test('does not let an editor block the operator with what fills the bounds', async () => {
    const full = { annotations: entries(30), ownerReferences: list(10, owner) };
    expect(await create(observation({ name: 'full', ...full }), 'team', [], [])).toBe('');
    const patch = (metadata: object, user: string[]) => {
      const args = ['patch', 'ao', 'full', '-n', 'team', '--type=merge', '-p', JSON.stringify({ metadata })];
      return kubectl([...args, ...user]);
    };
    const more = { annotations: { 'platform.io/compliant-grade': 'A' }, ownerReferences: list(11, owner) };
    expect((await patch(more, EDITOR)).code).toBe(1);
    expect(await patch(more, ['--as', ACCOUNT('operator')])).toMatchObject({ code: 0 });
    expect((await patch({ annotations: { more: 'x' } }, EDITOR)).stderr).toContain('at most 30 annotations');
  });

  test('bounds the field managers, whose entries could fill an AgentObservation so that its status cannot be written', async () => {
    expect(await create(observation({ name: 'managed' }), 'team', [], [])).toBe('');
    const object = { ...observation({ name: 'managed', labels: { a: 'x' } }), spec: undefined };
    const applyAs = async (manager: string, user = EDITOR) => {
      const args = [
        'apply',
        '--server-side',
        UNVALIDATED,
        '--field-manager',
        manager,
        '-n',
        'team',
        '-f',
        '-',
      ];
      return (await kubectl([...args, ...user], object)).stderr;
    };
    // The creation is the first entry.
    for (const manager of list(19, (index) => `m-${index}`)) expect(await applyAs(manager)).toBe('');
    expect(await applyAs('one-more')).toContain('at most 20 field managers are allowed');
    expect(await applyAs('m-0')).toBe('');
    expect(await applyAs('platform-operator', ['--as', ACCOUNT('operator')])).toBe('');
  });

  test('does not concern other kinds', async () => {
    const configMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', annotations: entries(100) },
    };
    expect(await create(configMap)).toBe('');
  });
});
