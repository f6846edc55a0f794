import type { PermissionRule } from '../../kube/types.ts';

/**
 * The exact permissions of the operator. A test runs the operator with these permissions and compares them with the API
 * server's audit log. The chart grants the same permissions.
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
      // A server-side apply that creates an object is a patch that also needs the permission to create.
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
    { apiGroups: ['platform.io'], resources: ['agentobservations/status'], verbs: ['patch'] },
    { apiGroups: ['platform.io'], resources: ['agentpolicies'], verbs: ['list', 'watch'] },
    { apiGroups: ['platform.io'], resources: ['agentpolicies/status'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['platform.io'], resources: ['agentstops'], verbs: ['list', 'watch', 'delete'] },
    { apiGroups: ['platform.io'], resources: ['agentstops/status'], verbs: ['patch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list', 'watch', 'create', 'patch'] },
  ],
  /** Only with OPEN_REPORTS. */
  reports: [
    {
      apiGroups: ['openreports.io'],
      resources: ['reports'],
      verbs: ['list', 'create', 'patch', 'delete'],
    },
    {
      apiGroups: ['wgpolicyk8s.io'],
      resources: ['policyreports'],
      verbs: ['list', 'create', 'patch', 'delete'],
    },
  ],
  /** Only with WAKE_CONTROLLERS. */
  retry: [
    { apiGroups: ['apps'], resources: ['replicasets', 'statefulsets', 'daemonsets'], verbs: ['patch'] },
    { apiGroups: ['batch'], resources: ['jobs'], verbs: ['patch'] },
  ],
  /** Only with CANARY_NAMESPACE: to read the caBundle, write the canary's condition and create its tokens. */
  canary: {
    cluster: [
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations'],
        resourceNames: ['agent-compliance'],
        verbs: ['get'],
      },
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['validatingadmissionpolicies'],
        resourceNames: ['agent-compliance-canary'],
        verbs: ['get'],
      },
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['validatingadmissionpolicies/status'],
        resourceNames: ['agent-compliance-canary'],
        verbs: ['patch'],
      },
    ],
    namespace: [
      {
        apiGroups: [''],
        resources: ['serviceaccounts/token'],
        resourceNames: ['agent-compliance-canary'],
        verbs: ['create'],
      },
    ],
    /** For the canary's own ServiceAccount in CANARY_NAMESPACE, where a policy allows only dry-run requests. */
    account: [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }],
  },
  /** In the operator's own namespace. The chart creates the Lease, so that uninstalling removes it. */
  namespace: [
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      resourceNames: ['platform-operator'],
      verbs: ['get', 'update'],
    },
  ],
} as const satisfies {
  cluster: readonly PermissionRule[];
  reports: readonly PermissionRule[];
  retry: readonly PermissionRule[];
  canary: Record<'cluster' | 'namespace' | 'account', readonly PermissionRule[]>;
  namespace: readonly PermissionRule[];
};
