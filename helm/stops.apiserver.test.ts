// Who may stop agents, by the chart's roles and its policy for AgentStops, at a real API server.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { parseStop } from '../core/organisation/stops.ts';
import type { KubeClient } from '../kube/client.ts';
import {
  ApiCluster,
  creationOf,
  patchOf,
  rejectionIn,
  type AnyObject,
} from '../testing/cluster/api-cluster.ts';
import { render, RELEASE_NAMESPACE } from '../testing/cluster/rendered-chart.ts';
import { until } from '../testing/time/until.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const POLICY = 'agent-compliance-stops';
const ROOT = RELEASE_NAMESPACE;
const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' };
const GROUP = 'rbac.authorization.k8s.io';

const stop = (spec: object, namespace = 'team'): AnyObject & { spec: object } => ({
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentStop', metadata: { name: 'new', namespace } },
  spec: { reason: 'leak of order data', ...spec },
});
const pathOf = (name: string, namespace = 'team') =>
  `/apis/platform.io/v1/namespaces/${namespace}/agentstops/${name}`;
/** Seconds from now: the API server compares with its own clock. */
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

/** A person with a role of the chart in some namespaces. */
const PERSONS = {
  sre: { role: 'stop', namespaces: [ROOT, 'team'] },
  dev: { role: 'stop', namespaces: ['team'] },
  auditor: { role: 'approve', namespaces: ['team'] },
  guest: { role: 'view', namespaces: ['team'] },
  editor: { role: 'edit', namespaces: ['team'] },
} as const;
type Person = keyof typeof PERSONS;

(whyNoControlPlane() ? describe.skip : describe)('the stop switch of the chart', () => {
  let cluster: ApiCluster;
  let users: Record<Person | 'control-plane' | 'operator', KubeClient>;
  const create = async (user: keyof typeof users, object: AnyObject) =>
    rejectionIn(await users[user].send(creationOf(object)));
  const store = async (user: keyof typeof users, name: string) => {
    const object = { ...stop({}), metadata: { name, namespace: 'team' } };
    const { query: _dryRun, ...creation } = creationOf(object);
    expect(rejectionIn(await users[user].send(creation))).toBe('');
  };

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    const account = (part: string) => cluster.as(`system:serviceaccount:${ROOT}:agent-compliance-${part}`);
    const person = (name: Person) => cluster.as(name, 'system:authenticated');
    users = {
      ...{ sre: person('sre'), dev: person('dev'), auditor: person('auditor'), guest: person('guest') },
      editor: person('editor'),
      ...{ 'control-plane': account('control-plane'), operator: account('operator') },
    };
    await cluster.namespaces('team', 'other', ROOT);
    await cluster.define('agentobservations', 'agentstops');
    const objects = await render();
    const accounts = objects.filter(
      ({ kind, metadata }) =>
        kind === 'ClusterRoleBinding' && /-(operator|control-plane)$/.test(metadata.name),
    );
    await cluster.apply([
      ...objects.filter(({ kind, metadata }) => kind === 'ClusterRole' || metadata.name === POLICY),
      ...accounts,
      ...Object.entries(PERSONS).flatMap(([name, { role, namespaces }]) =>
        namespaces.map((namespace) => ({
          ...{ ...rbac, kind: 'RoleBinding', metadata: { name, namespace } },
          roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: `agent-compliance-${role}` },
          subjects: [{ kind: 'User', name }],
        })),
      ),
    ]);
    // A new policy takes about a second to become effective.
    await until(async () => (await create('sre', stop({ by: 'x' }))).includes('spec.by'), 'the policy');
  });
  afterAll(() => cluster?.close());

  const OWN_NAME = (user: string) => `spec.by must be your own user name, ${user}`;
  const FUTURE = 'spec.until must be in the future';
  const ROOT_ONLY = `spec.namespaces is allowed only in the namespace ${ROOT}`;
  const cannot = (user: string, namespace = 'team') =>
    `User "${user}" cannot create resource "agentstops" in API group "platform.io" in the namespace "${namespace}"`;

  test.each<[what: string, user: keyof typeof users, object: AnyObject, message: string]>([
    ['a stop of every agent', 'dev', stop({}), ''],
    ['their own name', 'dev', stop({ by: 'dev' }), ''],
    ["another person's name", 'dev', stop({ by: 'sre' }), OWN_NAME('dev')],
    [
      "another person's name in the namespace of the release",
      'sre',
      stop({ by: 'dev' }, ROOT),
      OWN_NAME('sre'),
    ],
    ['an end in the future', 'dev', stop({ until: inSeconds(3_600) }), ''],
    ['an end in the future with a time zone', 'dev', stop({ until: '2999-01-01T00:00:00+02:00' }), ''],
    ['an end in the past', 'dev', stop({ until: inSeconds(-60) }), FUTURE],
    ['namespaces, in the namespace of the release', 'sre', stop({ namespaces: ['prod-*'] }, ROOT), ''],
    ['namespaces, in another namespace', 'sre', stop({ namespaces: ['other'] }), ROOT_ONLY],
    ['their own namespace in namespaces', 'dev', stop({ namespaces: ['team'] }), ROOT_ONLY],
    ['no permission in the namespace', 'dev', stop({}, 'other'), cannot('dev', 'other')],
    ['no permission for the fleet', 'dev', stop({}, ROOT), cannot('dev', ROOT)],
    ['the role approve', 'auditor', stop({}), cannot('auditor')],
    ['the role view', 'guest', stop({}), cannot('guest')],
    ['the role edit', 'editor', stop({}), cannot('editor')],
    ['a person, as the control plane verified it', 'control-plane', stop({ by: 'oidc:alice' }), ''],
    ['namespaces and an end, as the control plane', 'control-plane', stop({ namespaces: ['x'] }, ROOT), ''],
  ])('a stop with %s, by %s', async (_what, user, object, message) => {
    const rejection = await create(user, object);
    if (message === '') expect(rejection).toBe('');
    else expect(rejection).toContain(message);
  });

  test.each<[what: string, spec: object, isValid: boolean]>([
    ['a reason of 500 characters outside the basic plane', { reason: '\u{1F6D1}'.repeat(500) }, true],
    ['a reason of 501', { reason: '\u{1F6D1}'.repeat(501) }, false],
    ['an empty reason', { reason: '' }, false],
    ['a reason of spaces', { reason: ' \n\t' }, false],
    ['a pattern of spaces', { agents: [' '] }, false],
    ['no patterns', { agents: [] }, false],
    ['a time in small letters', { until: '2999-01-01t00:00:00z' }, false],
    ['a time with a space', { until: '2999-01-01 00:00:00Z' }, false],
    ['a time without a zone', { until: '2999-01-01T00:00:00' }, false],
    ['a day without a time', { until: '2999-01-01' }, false],
    ['a leap second', { until: '2999-12-31T23:59:60Z' }, false],
    ['nine digits of a second', { until: '2999-01-01T00:00:00.123456789Z' }, true],
    ['ten digits of a second', { until: '2999-01-01T00:00:00.1234567891Z' }, false],
    ['a day that does not exist', { until: '2999-02-30T00:00:00Z' }, false],
    ['a zone of 24 hours', { until: '2999-01-01T00:00:00+24:00' }, false],
  ])('a stop that the API server accepts applies: %s', async (_what, spec, isValid) => {
    const object = stop(spec);
    expect((await create('dev', object)) === '').toBe(isValid);
    if (isValid) expect(parseStop(object)).not.toBeNull();
  });

  test('has a sample of a NetworkPolicy that the API server accepts, and that leads to the control plane', async () => {
    const text = readFileSync(join(import.meta.dirname, '../examples/stop/network-policy.yaml'), 'utf8');
    const { metadata, ...policy } = parse(text) as AnyObject & {
      spec: { egress: { to?: { podSelector: { matchLabels: Record<string, string> } }[] }[] };
    };
    const creation = creationOf({ ...policy, metadata: { ...metadata, namespace: 'team' } });
    expect(rejectionIn(await cluster.client.send(creation))).toBe('');
    const peers = policy.spec.egress.flatMap(({ to = [] }) => to);
    const { labels } = (await render()).find(
      (object) => object.kind === 'Deployment' && object.metadata.name.endsWith('-control-plane'),
    )!.metadata;
    expect(peers.map(({ podSelector }) => podSelector.matchLabels)).toEqual([
      {
        'app.kubernetes.io/name': labels['app.kubernetes.io/name'],
        'app.kubernetes.io/component': labels['app.kubernetes.io/component'],
      },
    ]);
  });

  test('cannot be changed, and is lifted by a person who may delete it', async () => {
    await store('sre', 'incident');
    const change = patchOf(pathOf('incident'), { spec: { reason: 'second' } });
    expect(rejectionIn(await cluster.client.send(change))).toContain(
      'spec is immutable: delete the AgentStop and create another',
    );
    expect(rejectionIn(await users.sre.send(change))).toContain('cannot patch resource');
    const removal = { method: 'DELETE', path: pathOf('incident') } as const;
    for (const user of [users.guest, users.editor, users.auditor])
      expect(rejectionIn(await user.send(removal))).toContain('cannot delete resource');
    expect(rejectionIn(await users.editor.send(change))).toContain('cannot patch resource');
    expect(rejectionIn(await users.dev.send(removal))).toBe('');
  });

  test('is read by the operator, which writes its status and deletes it, but stops nothing', async () => {
    await store('control-plane', 'expired');
    const status = { agents: 1, stopped: 0, pending: 1 };
    const patch = patchOf(`${pathOf('expired')}/status`, { status });
    expect(rejectionIn(await users.operator.send(patch))).toBe('');
    expect(await cluster.get(pathOf('expired'))).toMatchObject({ status });
    expect(await create('operator', stop({}))).toContain('cannot create resource');
    expect(rejectionIn(await users['control-plane'].send(patch))).toContain('cannot patch resource');
    expect(rejectionIn(await users.operator.send({ method: 'DELETE', path: pathOf('expired') }))).toBe('');
  });

  test.each<[Person, string, Record<'read' | 'stop' | 'resume' | 'prove', boolean>]>([
    ['guest', 'team', { read: true, stop: false, resume: false, prove: false }],
    ['dev', 'team', { read: false, stop: true, resume: true, prove: false }],
    ['dev', ROOT, { read: false, stop: false, resume: false, prove: false }],
    ['auditor', 'team', { read: false, stop: false, resume: false, prove: true }],
    ['editor', 'team', { read: false, stop: false, resume: false, prove: false }],
  ])('the API server answers the control plane for %s in %s', async (user, namespace, expected) => {
    const QUESTIONS = {
      read: { verb: 'list', resource: 'agentobservations' },
      stop: { verb: 'create', resource: 'agentstops' },
      resume: { verb: 'delete', resource: 'agentstops' },
      prove: { verb: 'create', resource: 'agentobservations', subresource: 'proofs' },
    };
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
    const answers = Object.entries(QUESTIONS).map(async ([right, question]) => {
      const resourceAttributes = { group: 'platform.io', namespace, ...question };
      const spec = { user, groups: ['system:authenticated'], resourceAttributes };
      const response = await users['control-plane'].send({ method: 'POST', path, body: { spec } });
      expect(rejectionIn(response)).toBe('');
      const { body } = response as unknown as { body: { status: { allowed: boolean } } };
      return [right, body.status.allowed];
    });
    expect(Object.fromEntries(await Promise.all(answers))).toEqual(expected);
  });
});
