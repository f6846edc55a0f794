/** The permission that one SelfSubjectAccessReview checks. */
export interface Permission {
  verb: string;
  /** Empty for the core group. */
  group: string;
  /** With its subresource: `agentobservations/status`. */
  resource: string;
  /** Absent: cluster-wide. */
  namespace?: string;
}

interface ChartKind {
  group: string;
  resource: string;
  scope: 'release' | 'cluster';
}

const RBAC = 'rbac.authorization.k8s.io';
const ADMISSION = 'admissionregistration.k8s.io';

/** The kinds of objects that the chart creates. A test compares them with the rendered chart. */
export const CHART_KINDS: readonly ChartKind[] = [
  { group: '', resource: 'serviceaccounts', scope: 'release' },
  { group: '', resource: 'secrets', scope: 'release' },
  { group: '', resource: 'services', scope: 'release' },
  { group: '', resource: 'namespaces', scope: 'cluster' },
  { group: 'apps', resource: 'deployments', scope: 'release' },
  { group: 'policy', resource: 'poddisruptionbudgets', scope: 'release' },
  { group: 'coordination.k8s.io', resource: 'leases', scope: 'release' },
  { group: RBAC, resource: 'roles', scope: 'release' },
  { group: RBAC, resource: 'rolebindings', scope: 'release' },
  { group: RBAC, resource: 'clusterroles', scope: 'cluster' },
  { group: RBAC, resource: 'clusterrolebindings', scope: 'cluster' },
  { group: ADMISSION, resource: 'mutatingwebhookconfigurations', scope: 'cluster' },
  { group: ADMISSION, resource: 'validatingwebhookconfigurations', scope: 'cluster' },
  { group: ADMISSION, resource: 'validatingadmissionpolicies', scope: 'cluster' },
  { group: ADMISSION, resource: 'validatingadmissionpolicybindings', scope: 'cluster' },
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', scope: 'cluster' },
];

/** The verbs that Helm uses to install, upgrade and remove objects. */
const VERBS = ['get', 'create', 'patch', 'delete'] as const;

/** Lookups of the templates; a forbidden lookup fails the installation. A test compares them with the templates. */
const LOOKUPS: readonly Permission[] = [
  { verb: 'list', group: '', resource: 'namespaces' },
  { verb: 'list', group: '', resource: 'nodes' },
];

/**
 * Permissions that the chart's cluster roles grant. Kubernetes lets a caller grant only permissions that the caller has. A
 * test compares them with the chart.
 */
export const GRANTED: readonly { group: string; resources: readonly string[]; verbs: readonly string[] }[] = [
  { group: '', resources: ['pods'], verbs: ['get', 'list', 'watch', 'create'] },
  { group: '', resources: ['services'], verbs: ['list', 'watch'] },
  { group: '', resources: ['namespaces'], verbs: ['get', 'list', 'watch'] },
  { group: '', resources: ['secrets'], verbs: ['get', 'update'] },
  { group: '', resources: ['serviceaccounts/token'], verbs: ['create'] },
  { group: 'apps', resources: ['deployments'], verbs: ['get'] },
  { group: 'apps', resources: ['replicasets', 'statefulsets', 'daemonsets'], verbs: ['get', 'patch'] },
  { group: 'batch', resources: ['jobs'], verbs: ['get', 'patch'] },
  { group: 'batch', resources: ['cronjobs'], verbs: ['get'] },
  { group: 'events.k8s.io', resources: ['events'], verbs: ['list', 'watch', 'create', 'patch'] },
  { group: 'coordination.k8s.io', resources: ['leases'], verbs: ['get', 'update'] },
  { group: 'authentication.k8s.io', resources: ['tokenreviews'], verbs: ['create'] },
  { group: 'authorization.k8s.io', resources: ['subjectaccessreviews'], verbs: ['create'] },
  {
    group: ADMISSION,
    resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
    verbs: ['get', 'patch'],
  },
  { group: ADMISSION, resources: ['validatingadmissionpolicies'], verbs: ['get'] },
  { group: ADMISSION, resources: ['validatingadmissionpolicies/status'], verbs: ['patch'] },
  {
    group: 'platform.io',
    resources: ['agentobservations'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete'],
  },
  { group: 'platform.io', resources: ['agentpolicies'], verbs: ['get', 'list', 'watch'] },
  { group: 'platform.io', resources: ['agentstops'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
  { group: 'platform.io', resources: ['agentobservations/proofs'], verbs: ['create', 'delete'] },
  {
    group: 'platform.io',
    resources: ['agentobservations/status', 'agentpolicies/status', 'agentstops/status'],
    verbs: ['patch'],
  },
];

/** A caller with this permission needs no further checks. */
export const EVERYTHING: Permission = { verb: '*', group: '*', resource: '*' };

/** A caller with this permission may grant permissions that the caller does not have. */
export const ESCALATE: Permission = { verb: 'escalate', group: RBAC, resource: 'clusterroles' };

/** The permissions that an installation into `namespace` needs. */
export function installPermissions(namespace: string): Permission[] {
  const permissions = CHART_KINDS.flatMap(({ group, resource, scope }) =>
    VERBS.map((verb) => ({ verb, group, resource, ...(scope === 'release' && { namespace }) })),
  );
  return [...permissions, ...LOOKUPS];
}

/** The permissions that the chart's cluster roles grant. */
export function grantedPermissions(): Permission[] {
  return GRANTED.flatMap(({ group, resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource }))),
  );
}

/** `create deployments.apps in platform-system`. */
export function describePermission({ verb, group, resource, namespace }: Permission): string {
  const what = group === '' ? resource : `${resource}.${group}`;
  return `${verb} ${what}${namespace === undefined ? ' in every namespace' : ` in ${namespace}`}`;
}
