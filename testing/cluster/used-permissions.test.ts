import { expect, test } from '@jest/globals';
import type { AuditEntry } from './api-audit.ts';
import { requestedIn, comparePermissions, grantedBy, type AccessObject } from './used-permissions.ts';

const ACCOUNT = 'system:serviceaccount:platform-system:operator';

function entry(verb: string, objectRef: AuditEntry['objectRef'], username = ACCOUNT): AuditEntry {
  const at = '2026-01-01T00:00:00Z';
  return {
    stage: 'ResponseComplete',
    stageTimestamp: at,
    userAgent: 'x',
    requestURI: '/',
    user: { username },
    verb,
    ...(objectRef && { objectRef }),
  };
}

const subjects = [{ kind: 'ServiceAccount', name: 'operator', namespace: 'platform-system' }];
const role = (
  kind: string,
  rules: NonNullable<AccessObject['rules']>,
  namespace?: string,
): AccessObject[] => {
  const metadata = { name: 'operator', labels: {}, ...(namespace && { namespace }) };
  return [
    { apiVersion: 'v1', kind, metadata, rules },
    { apiVersion: 'v1', kind: `${kind}Binding`, metadata, subjects, roleRef: { kind, name: 'operator' } },
  ];
};

const CHART = [
  ...role('ClusterRole', [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }]),
  ...role(
    'Role',
    [
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: ['lead'],
        verbs: ['update'],
      },
    ],
    'platform-system',
  ),
];
const lease = {
  apiGroup: 'coordination.k8s.io',
  resource: 'leases',
  namespace: 'platform-system',
  name: 'lead',
};

test('a requested and granted permission is neither beyond nor unused', () => {
  const requested = requestedIn([
    entry('get', { resource: 'pods', namespace: 'shop', name: 'a' }),
    entry('get', { resource: 'pods', namespace: 'shop', name: 'a' }),
    entry('list', { resource: 'pods' }),
    entry('update', lease),
    entry('get', undefined),
    entry('delete', { resource: 'nodes', name: 'n' }, 'system:kube-controller-manager'),
  ]);
  expect(requested).toHaveLength(3);
  expect(comparePermissions(grantedBy(CHART), requested)).toEqual({ beyond: [], unused: [] });
});

test('a granted permission that was never requested is unused', () => {
  const requested = requestedIn([entry('get', { resource: 'pods', namespace: 'shop', name: 'a' })]);
  expect(comparePermissions(grantedBy(CHART), requested).unused).toEqual([
    'platform-system:operator list pods',
    'platform-system:operator update coordination.k8s.io/leases lead in platform-system',
  ]);
});

test.each([
  ['another verb', entry('delete', { resource: 'pods', namespace: 'shop', name: 'a' })],
  ['a subresource', entry('get', { resource: 'pods', subresource: 'log', namespace: 'shop', name: 'a' })],
  [
    'another group',
    entry('get', { apiGroup: 'metrics.k8s.io', resource: 'pods', namespace: 'shop', name: 'a' }),
  ],
  ['another name', entry('update', { ...lease, name: 'other' })],
  ['another namespace', entry('update', { ...lease, namespace: 'shop' })],
  ['another account', entry('list', { resource: 'pods' }, 'system:serviceaccount:platform-system:webhook')],
])('%s is beyond the granted permissions', (_, requested) => {
  expect(comparePermissions(grantedBy(CHART), requestedIn([requested])).beyond).toHaveLength(1);
});

test('throws for a binding to a role that the chart does not contain', () => {
  expect(() => grantedBy(CHART.slice(1))).toThrow(
    'operator binds ClusterRole operator, which does not exist',
  );
});
