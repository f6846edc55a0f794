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
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['list', 'watch', 'create', 'patch'] },
  ],
  /** Only with WAKE_CONTROLLERS. */
  waking: [
    { apiGroups: ['apps'], resources: ['replicasets', 'statefulsets', 'daemonsets'], verbs: ['patch'] },
    { apiGroups: ['batch'], resources: ['jobs'], verbs: ['patch'] },
  ],
  /** Only with CANARY_NAMESPACE: the authorities that the API server believes, the canary's condition, and its tokens. */
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
    /** Of the canary's own ServiceAccount, in CANARY_NAMESPACE, where a policy lets dry-runs through alone. */
    account: [{ apiGroups: [''], resources: ['pods'], verbs: ['create'] }],
  },
  /** In its own namespace; the Lease itself comes with the installation, so that it goes with it. */
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
  waking: readonly PermissionRule[];
  canary: Record<'cluster' | 'namespace' | 'account', readonly PermissionRule[]>;
  namespace: readonly PermissionRule[];
};
