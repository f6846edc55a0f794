import type { PermissionRule } from '../kube/types.ts';

/**
 * All API server permissions of the control plane. A test runs the control plane with exactly these permissions and compares
 * them with the API server's audit log. The chart grants the same permissions.
 */
export const CONTROL_PLANE_PERMISSIONS = {
  cluster: [
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get'] },
    { apiGroups: ['platform.io'], resources: ['agentobservations'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: ['platform.io'], resources: ['agentobservations/status'], verbs: ['patch'] },
    { apiGroups: ['platform.io'], resources: ['agentpolicies'], verbs: ['list', 'watch'] },
    { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['platform.io'], resources: ['agentstops'], verbs: ['list', 'watch', 'create', 'delete'] },
  ],
  /** In the namespace of remote agents. */
  remote: [{ apiGroups: ['platform.io'], resources: ['agentobservations'], verbs: ['create', 'delete'] }],
} as const satisfies { cluster: readonly PermissionRule[]; remote: readonly PermissionRule[] };
