/** One question of a SelfSubjectAccessReview. */
export interface Right {
  verb: string;
  /** Empty for the core group. */
  group: string;
  /** With its subresource: `agentobservations/status`. */
  resource: string;
  /** Absent: of the whole cluster. */
  namespace?: string;
}

interface ChartKind {
  group: string;
  resource: string;
  scope: 'release' | 'cluster';
}

const RBAC = 'rbac.authorization.k8s.io';
const ADMISSION = 'admissionregistration.k8s.io';

/** What the chart makes; a test holds the rendered chart to it. */
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
  { group: ADMISSION, resource: 'validatingadmissionpolicies', scope: 'cluster' },
  { group: ADMISSION, resource: 'validatingadmissionpolicybindings', scope: 'cluster' },
  { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions', scope: 'cluster' },
];

/** As Helm installs, upgrades and removes. */
const VERBS = ['get', 'create', 'patch', 'delete'] as const;

/** What the templates look up besides; a test compares it with them. A lookup that is forbidden fails the installation. */
const LOOKED_UP: readonly Right[] = [{ verb: 'list', group: '', resource: 'namespaces' }];

/** Permissions that the chart's cluster roles hand on: nobody can hand on what he does not have. A test holds the chart to it. */
export const GRANTED: readonly { group: string; resources: readonly string[]; verbs: readonly string[] }[] = [
  { group: '', resources: ['pods'], verbs: ['get', 'list', 'watch', 'create'] },
  { group: '', resources: ['services'], verbs: ['list', 'watch'] },
  { group: '', resources: ['secrets'], verbs: ['get', 'update'] },
  { group: '', resources: ['serviceaccounts/token'], verbs: ['create'] },
  { group: 'apps', resources: ['deployments'], verbs: ['get'] },
  { group: 'apps', resources: ['replicasets', 'statefulsets', 'daemonsets'], verbs: ['get', 'patch'] },
  { group: 'batch', resources: ['jobs'], verbs: ['get', 'patch'] },
  { group: 'batch', resources: ['cronjobs'], verbs: ['get'] },
  { group: 'events.k8s.io', resources: ['events'], verbs: ['list', 'watch', 'create', 'patch'] },
  { group: 'coordination.k8s.io', resources: ['leases'], verbs: ['get', 'update'] },
  { group: 'authentication.k8s.io', resources: ['tokenreviews'], verbs: ['create'] },
  { group: ADMISSION, resources: ['mutatingwebhookconfigurations'], verbs: ['get', 'patch'] },
  { group: ADMISSION, resources: ['validatingadmissionpolicies'], verbs: ['get'] },
  { group: ADMISSION, resources: ['validatingadmissionpolicies/status'], verbs: ['patch'] },
  {
    group: 'platform.io',
    resources: ['agentobservations'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete', 'deletecollection'],
  },
  { group: 'platform.io', resources: ['agentobservations/status'], verbs: ['patch'] },
];

/** Who may do everything needs no further question. */
export const EVERYTHING: Right = { verb: '*', group: '*', resource: '*' };

/** Who may write roles without having what is in them. */
export const ESCALATE: Right = { verb: 'escalate', group: RBAC, resource: 'clusterroles' };

/** What an installation into `namespace` needs. */
export function installPermissions(namespace: string): Right[] {
  const rights = CHART_KINDS.flatMap(({ group, resource, scope }) =>
    VERBS.map((verb) => ({ verb, group, resource, ...(scope === 'release' && { namespace }) })),
  );
  return [...rights, ...LOOKED_UP];
}

/** What the roles hand on. */
export function grantedPermissions(): Right[] {
  return GRANTED.flatMap(({ group, resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource }))),
  );
}

/** `create deployments.apps in platform-system`. */
export function describeRight({ verb, group, resource, namespace }: Right): string {
  const what = group === '' ? resource : `${resource}.${group}`;
  return `${verb} ${what}${namespace === undefined ? ' in every namespace' : ` in ${namespace}`}`;
}
