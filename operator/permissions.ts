/** A rule as a ClusterRole or Role has it. */
export interface PermissionRule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
  resourceNames?: readonly string[];
}

/**
 * Everything that the operator asks of the API server, and nothing else: a test runs it with exactly these rights and
 * compares them with the API server's audit log. The chart grants the same.
 */
export const OPERATOR_PERMISSIONS = {
  cluster: [
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] },
    {
      apiGroups: ['apps'],
      resources: ['deployments', 'replicasets', 'statefulsets', 'daemonsets'],
      verbs: ['get'],
    },
    { apiGroups: ['batch'], resources: ['jobs', 'cronjobs'], verbs: ['get'] },
    {
      apiGroups: ['platform.io'],
      resources: ['agentobservations'],
      // A server-side apply that makes an object is a patch that needs the right to create.
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
    { apiGroups: ['platform.io'], resources: ['agentobservations/status'], verbs: ['patch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  ],
  /** In its own namespace; the Lease itself comes with the installation, so that it goes with it. */
  namespace: [
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      resourceNames: ['platform-operator'],
      verbs: ['get', 'update'],
    },
  ],
} as const satisfies { cluster: readonly PermissionRule[]; namespace: readonly PermissionRule[] };
