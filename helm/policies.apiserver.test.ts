// The chart's policies for annotations of workloads and for AgentObservations at a real API server, and what the aggregated role
// `edit` allows.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { KubeClient, KubeResponse } from '../kube/client.ts';
import { ANNOTATION_MISTAKES, workloadOfKind } from '../testing/cluster/annotation-mistakes.ts';
import {
  ApiCluster,
  creationOf,
  patchOf,
  rejectionIn,
  type Answer,
  type AnyObject,
} from '../testing/cluster/api-cluster.ts';
import { render, RELEASE_NAMESPACE } from '../testing/cluster/rendered-chart.ts';
import { until } from '../testing/time/until.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const WARNINGS = 'agent-compliance-annotation-warnings';
const OBSERVATIONS = 'agent-compliance-observations';
const PREFIX = `Validation failed for ValidatingAdmissionPolicy '${WARNINGS}' with binding '${WARNINGS}': `;
const TYPO = { inner: { 'platform.io/injekt': 'true' } };
const TYPO_WARNING = `${PREFIX}Deployment chat: the annotation platform.io/injekt is unknown and has no effect; did you mean platform.io/inject?`;
const REMOTE =
  'source remote is allowed only in namespace platform-remote: register the agent at the control plane';
const PATH = '/apis/platform.io/v1/namespaces/team/agentobservations';

const entries = (count: number, value = 'v') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/${index}`, value]));
const list = <T>(count: number, item: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => item(index));
const owner = (index: number, name = 'x') => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', name, uid: `u-${index}` },
});
const finalizer = (index: number) => `example.com/${index}`;
const observation = (metadata: object, source = 'sidecar', namespace = 'team'): AnyObject => {
  const agentRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' };
  return {
    ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation' },
    metadata: { name: 'new', namespace, ...metadata },
    ...{ spec: source === 'sidecar' ? { source, agentRef } : { source } },
  };
};
const workload = (...args: Parameters<typeof workloadOfKind>) => workloadOfKind(...args) as AnyObject;

const TOO_MANY_ANNOTATIONS = 'at most 30 annotations with at most 4,096 characters each are allowed';
/** Metadata of an AgentObservation; empty: admitted. */
const BOUNDS: [string, object, string][] = [
  ['no metadata', {}, ''],
  ['30 annotations of 2,000 characters', { annotations: entries(30, '漢'.repeat(2_000)) }, ''],
  ['an annotation of 4,096 characters', { annotations: { a: 'x'.repeat(4_096) } }, ''],
  ['50 labels', { labels: entries(50) }, ''],
  ['10 finalizers and 10 owners', { finalizers: list(10, finalizer), ownerReferences: list(10, owner) }, ''],
  ['31 annotations', { annotations: entries(31) }, TOO_MANY_ANNOTATIONS],
  ['a longer annotation', { annotations: { a: 'x'.repeat(4_097) } }, 'at most 30 annotations'],
  ['annotations of 250 kB', { annotations: entries(12_000, 'v') }, 'at most 30 annotations'],
  ['51 labels', { labels: entries(51) }, 'at most 50 labels are allowed'],
  ['8,000 labels', { labels: entries(8_000) }, 'at most 50 labels are allowed'],
  ['11 finalizers', { finalizers: list(11, finalizer) }, 'at most 10 finalizers are allowed'],
  ['11 owners', { ownerReferences: list(11, owner) }, 'at most 10 ownerReferences'],
  ['an owner with a long name', { ownerReferences: [owner(0, 'x'.repeat(254))] }, 'at most 10 ownerRef'],
];

(whyNoControlPlane() ? describe.skip : describe)('the policies of the chart', () => {
  let cluster: ApiCluster;
  /** Users by name: an administrator, an editor of a namespace, and ServiceAccounts of the product. */
  let users: Record<'admin' | 'editor' | 'operator' | 'control-plane' | 'webhook', KubeClient>;

  const reject = async (object: AnyObject, user: keyof typeof users = 'admin') =>
    rejectionIn(await users[user].send(creationOf(object)));
  const warningsOf = (object: AnyObject): Promise<Answer<unknown>> => cluster.ask(creationOf(object));
  const change = (name: string, metadata: object, user: keyof typeof users = 'admin') =>
    users[user].send(patchOf(`${PATH}/${name}`, { metadata }));

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    const part = (name: string) =>
      cluster.as(`system:serviceaccount:${RELEASE_NAMESPACE}:agent-compliance-${name}`);
    users = {
      ...{ admin: cluster.client, editor: cluster.as('eve', 'system:authenticated') },
      ...{ operator: part('operator'), 'control-plane': part('control-plane'), webhook: part('webhook') },
    };
    await cluster.namespaces('team', 'legacy', 'platform-remote', 'other-remote', RELEASE_NAMESPACE);
    const labels = { 'app.kubernetes.io/part-of': 'agent-compliance' };
    await cluster.patch('/api/v1/namespaces/other-remote', { metadata: { labels } });
    await cluster.define('agentobservations');
    // As stored before the policy existed.
    await cluster.post(
      PATH,
      observation({
        ...{ name: 'old', annotations: entries(31), labels: entries(51) },
        ...{ finalizers: list(12, finalizer), ownerReferences: list(12, owner) },
      }),
    );
    const objects = await render('webhook.excludedNamespaces={legacy}');
    const policies = objects.filter(({ metadata }) => [WARNINGS, OBSERVATIONS].includes(metadata.name));
    expect(policies.map(({ kind }) => kind).sort()).toEqual([
      ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicy'],
      ...['ValidatingAdmissionPolicyBinding', 'ValidatingAdmissionPolicyBinding'],
    ]);
    await cluster.apply([...objects.filter(({ kind }) => kind === 'ClusterRole'), ...policies]);
    const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
    const roleOf = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name });
    // The controller that aggregates the rules into `edit` does not run here.
    const bindings = ['agent-compliance-view', 'agent-compliance-edit'].map((name) => ({
      ...{ ...rbac, kind: 'RoleBinding', metadata: { name, namespace: 'team' } },
      ...{ roleRef: roleOf(name), subjects: [{ kind: 'User', name: 'eve' }] },
    }));
    const subjects = ['operator', 'control-plane', 'webhook'].map((name) => ({
      ...{ kind: 'ServiceAccount', name: `agent-compliance-${name}`, namespace: RELEASE_NAMESPACE },
    }));
    const all = { ...rbac, kind: 'ClusterRoleBinding', metadata: { name: 'all' } };
    await cluster.apply([...bindings, { ...all, roleRef: roleOf('cluster-admin'), subjects }]);
    // A new policy takes about a second to become effective.
    await until(async () => (await reject(observation({}, 'remote'))) !== '', 'the policy');
    await until(
      async () => (await warningsOf(workload('Deployment', TYPO))).warnings.length > 0,
      'the warning',
    );
  });
  afterAll(() => cluster?.close());

  describe('of annotations warn about', () => {
    test.each(ANNOTATION_MISTAKES)('%s', async (_what, { kind = 'Deployment', ...where }, found) => {
      const { message, warnings } = await warningsOf(workload(kind, where));
      // One line each for unknown annotations, annotations in a wrong place, and labels. It names the first.
      const kinds = Map.groupBy(found, ([what, key, meant]) => `${what} ${key === meant}`);
      const expected = [...kinds.values()].map(([first]) => {
        const [what, key, meant, place] = first ?? [];
        const about = `${PREFIX}${kind} chat: the ${what} ${key} `;
        if (meant === null)
          return expect.stringContaining(
            `${about}is unknown and has no effect; known are platform.io/inject, `,
          );
        if (meant !== key) return `${about}is unknown and has no effect; did you mean ${meant}?`;
        return what === 'label'
          ? `${about}has no effect; set it as an annotation, in ${place}`
          : `${about}has no effect here; set it in ${place}`;
      });
      expect([message, warnings]).toEqual(['', expected]);
    });

    test('an update, which is stored', async () => {
      await cluster.apply([workload('Deployment', {}, 'updated')]);
      const path = '/apis/apps/v1/namespaces/team/deployments/updated';
      const metadata = { annotations: TYPO.inner };
      const { message, warnings } = await cluster.ask(patchOf(path, { spec: { template: { metadata } } }));
      expect([message, warnings]).toEqual(['', [TYPO_WARNING.replace('chat', 'updated')]]);
      expect(await cluster.get(path)).toMatchObject({ spec: { template: { metadata } } });
    });

    test('names that are similar, if several are', async () => {
      const inner = { 'platform.io/egres-lanes': 'openai' };
      const { warnings } = await warningsOf(workload('Deployment', { inner }));
      expect(warnings[0]).toContain('did you mean platform.io/egress-lanes or platform.io/egress-mode or ');
    });

    test('nothing in an excluded namespace, of a controller whose owner has the warning, and of a pod that opts in', async () => {
      const ownerReferences = [{ ...owner(0, 'chat'), controller: true }];
      const typo = (kind: string, metadata: object) => ({
        ...workload(kind, TYPO),
        metadata: { name: 'chat', namespace: 'team', ...metadata },
      });
      const inner = { 'platform.io/inject': 'true', 'platform.io/agent-prot': '80' };
      for (const object of [
        typo('Deployment', { namespace: 'legacy' }),
        typo('ReplicaSet', { ownerReferences }),
        // The injector warns.
        workload('Pod', { inner }),
      ])
        expect(await warningsOf(object)).toMatchObject({ message: '', warnings: [] });
      expect((await warningsOf(workload('Job', { inner }))).warnings[0]).toContain('platform.io/agent-port');
    });

    test('a pod without a name yet', async () => {
      const { metadata, ...rest } = workload('Pod', TYPO);
      const pod = { ...rest, metadata: { ...metadata, name: undefined, generateName: 'chat-' } };
      const path = '/api/v1/namespaces/team/pods';
      const answer = await cluster.ask({ method: 'POST', path, query: { dryRun: 'All' }, body: pod });
      expect(answer).toMatchObject({ message: '', warnings: [expect.stringContaining('Pod chat-')] });
    });

    test('the largest annotations of an object without rejecting it', async () => {
      const inner = Object.fromEntries(list(12_000, (index) => [`platform.io/${index}`, '']));
      expect((await warningsOf(workload('Deployment', { inner }))).message).toBe('');
    });
  });

  describe('of AgentObservations', () => {
    test.each(BOUNDS)('bound %s', async (_what, metadata, message) => {
      const rejection = await reject(observation(metadata));
      if (message === '') expect(rejection).toBe('');
      else expect(rejection).toContain(`AgentObservation new: ${message}`);
      // Also for the product itself.
      if (message !== '') expect(await reject(observation(metadata), 'operator')).toContain(message);
    });

    test.each<[keyof typeof users, string, string]>([
      ['admin', 'team', REMOTE],
      ['webhook', 'team', REMOTE],
      ['control-plane', 'team', ''],
      ['operator', 'team', ''],
      ['admin', 'platform-remote', ''],
      // The namespace of another installation.
      ['admin', 'other-remote', ''],
    ])('of source remote, created by %s in %s', async (user, namespace, message) => {
      const rejection = await reject(observation({}, 'remote', namespace), user);
      expect([rejection.includes(message), rejection === '']).toEqual([true, message === '']);
    });

    test('let an editor of the namespace change and delete one, but not create or bulk delete', async () => {
      const can = async (verb: string) => {
        const resourceAttributes = {
          namespace: 'team',
          verb,
          group: 'platform.io',
          resource: 'agentobservations',
        };
        const spec = { user: 'eve', groups: ['system:authenticated'], resourceAttributes };
        const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
        return (await cluster.post<{ status: { allowed: boolean } }>(path, { spec })).status.allowed;
      };
      const verbs = ['patch', 'update', 'delete', 'create', 'deletecollection'];
      expect(await Promise.all(verbs.map(can))).toEqual([true, true, true, false, false]);
      expect(await reject(observation({}), 'editor')).toContain('cannot create resource');
    });

    test('admit changes of an older one that do not add to what exceeds a bound', async () => {
      const rejection = async (metadata: object, user?: keyof typeof users) =>
        rejectionIn(await change('old', metadata, user));
      const spec = { heartbeatSeconds: 60 };
      expect(rejectionIn(await users.editor.send(patchOf(`${PATH}/old`, { spec })))).toBe('');
      expect(await rejection({ annotations: { more: 'x' } }, 'editor')).toContain('at most 30 annotations');
      expect(await rejection({ labels: { more: 'x' } }, 'editor')).toContain('at most 50 labels');
      expect(await rejection({ finalizers: list(13, finalizer) })).toContain('at most 10 finalizers');
      expect(await rejection({ ownerReferences: list(13, owner) })).toContain('at most 10 ownerReferences');
      // Each controller removes its own.
      expect(await rejection({ finalizers: list(11, finalizer) })).toBe('');
      expect(await rejection({ ownerReferences: list(11, owner) })).toBe('');
      expect(await rejection({ annotations: { 'example.com/0': null } })).toBe('');
      expect(rejectionIn(await users.editor.send({ method: 'DELETE', path: `${PATH}/old` }))).toBe('');
      expect(await rejection({ finalizers: null }, 'editor')).toBe('');
      expect(await cluster.serves(`${PATH}/old`)).toBe(false);
    });

    test('do not let an editor block the operator with what fills the bounds', async () => {
      const full = { annotations: entries(30), ownerReferences: list(10, owner) };
      await cluster.post(PATH, observation({ name: 'full', ...full }));
      const more = { annotations: { 'platform.io/compliant-grade': 'A' }, ownerReferences: list(11, owner) };
      expect(await change('full', more, 'editor')).toMatchObject({ ok: false });
      expect(await change('full', more, 'operator')).toMatchObject({ ok: true });
      expect(rejectionIn(await change('full', { annotations: { more: 'x' } }, 'editor'))).toContain(
        'at most 30 annotations',
      );
    });

    test('bound the field managers, whose entries could fill one so that its status cannot be written', async () => {
      await cluster.post(PATH, observation({ name: 'managed' }));
      const body = { ...observation({ name: 'managed', labels: { a: 'x' } }), spec: undefined };
      const applyAs = (
        fieldManager: string,
        user: keyof typeof users = 'editor',
      ): Promise<KubeResponse<unknown>> =>
        users[user].send({
          ...{ method: 'PATCH', path: `${PATH}/managed`, query: { fieldManager }, body },
          contentType: 'application/apply-patch+yaml',
        });
      // The creation is the first entry.
      for (const manager of list(19, (index) => `m-${index}`))
        expect(rejectionIn(await applyAs(manager))).toBe('');
      expect(rejectionIn(await applyAs('one-more'))).toContain('at most 20 field managers are allowed');
      expect(rejectionIn(await applyAs('m-0'))).toBe('');
      expect(rejectionIn(await applyAs('platform-operator', 'operator'))).toBe('');
    });

    test('do not concern other kinds', async () => {
      const metadata = { name: 'x', namespace: 'team', annotations: entries(100) };
      expect(await reject({ apiVersion: 'v1', kind: 'ConfigMap', metadata })).toBe('');
    });
  });
});
