/** A rule as a ClusterRole or Role has it. */
interface PermissionRule {
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
}

/**
 * Everything that the control plane asks of the API server, and nothing else: a test runs it with exactly these rights
 * and compares them with the API server's audit log. The chart grants the same.
 */
export const CONTROL_PLANE_PERMISSIONS = {
  cluster: [
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
    { apiGroups: ['platform.io'], resources: ['agentobservations'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['platform.io'], resources: ['agentobservations/status'], verbs: ['patch'] },
  ],
  /** In the namespace of remote agents. */
  remote: [{ apiGroups: ['platform.io'], resources: ['agentobservations'], verbs: ['create', 'delete'] }],
} as const satisfies { cluster: readonly PermissionRule[]; remote: readonly PermissionRule[] };
