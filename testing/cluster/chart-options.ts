const DIGEST = `sha256:${'a'.repeat(64)}`;
const LABELS = { 'example.com/team': 'platform' };
const SCHEDULING = {
  annotations: { 'example.com/note': 'deployment' },
  podAnnotations: { 'example.com/note': 'pod' },
  podLabels: LABELS,
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'platform', effect: 'NoSchedule' }],
  priorityClassName: 'system-cluster-critical',
  terminationGracePeriodSeconds: 60,
};

/** The chart's only required value. */
const REQUIRED = { image: { registry: 'registry.example' } };

/** Chart values by test purpose: together they enable and disable every option. */
export const CHART_OPTIONS = {
  'the defaults': { ...REQUIRED },
  'every option on': {
    image: { registry: 'registry.example.com/mirror', pullPolicy: 'Always', pullSecrets: ['pull'] },
    commonLabels: LABELS,
    operator: {
      ...{ ...SCHEDULING, image: { digest: DIGEST } },
      ...{ podDisruptionBudget: { minAvailable: 1 }, openReports: true },
    },
    webhook: {
      ...SCHEDULING,
      replicas: 3,
      excludedNamespaces: ['legacy'],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: LABELS } },
          ],
        },
      },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: LABELS },
        },
      ],
    },
    controlPlane: {
      ...SCHEDULING,
      replicas: 2,
      store: {
        type: 'postgres',
        postgres: { existingSecret: 'database', urlKey: 'connection', caKey: 'ca.crt', pool: 20 },
        keepHeartbeats: 1000,
        removeAfterDays: 0,
      },
      service: { type: 'LoadBalancer', annotations: { 'example.com/internal': 'true' } },
      oidc: {
        ...{ issuer: 'https://login.example.com/realms/x', clientId: 'agents', existingSecret: 'login' },
        ...{ sessionSecretKey: 'sessions', previousSessionSecretKey: 'sessions.old', caKey: 'ca.crt' },
        ...{ audiences: ['agents', 'ci'], keepGroups: ['agents-*', 'sre'], sessionHours: 8 },
        publicUrl: 'https://agents.example.com',
      },
      readKey: { existingSecret: 'read' },
      proofs: { approverMustNotBeAuthor: true },
    },
    adminKey: { generate: true },
    sidecar: {
      allowedImages: ['mirror/sidecar:7'],
      otlp: { collector: 'https://collector.example.com:4318/otlp' },
    },
    llmAnalysis: {
      existingSecret: 'llm',
      provider: 'openai-compatible',
      model: 'llama-3',
      baseUrl: 'https://llm.example.com/v1',
      usdPerDay: 0.25,
    },
    policy: {
      engine: 'opa',
      opa: { image: `openpolicyagent/opa@${DIGEST}` },
      mode: 'enforce',
      minimumMode: 'track',
      minimumCompliantGrade: 'B',
      minimumCompliantEvidence: 60,
    },
    remote: {
      controlPlane: { url: 'https://fleet.example.com', existingSecret: 'outside', caKey: 'ca.crt' },
    },
    networkPolicy: {
      enabled: true,
      apiServerCidrs: ['10.0.0.1/32'],
      metricsFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
      controlPlaneFrom: [{ ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.1/32'] } }],
      database: { to: [{ ipBlock: { cidr: '192.0.2.10/32' } }], ports: [5433] },
      identityProvider: { to: [{ ipBlock: { cidr: '192.0.2.11/32' } }], ports: [8443] },
      operatorEgress: [
        { to: [{ ipBlock: { cidr: '198.51.100.0/24' } }], ports: [{ port: 443, protocol: 'TCP' }] },
      ],
      agents: { namespaces: ['team'], ports: [9000] },
    },
    monitoring: {
      labels: { release: 'prometheus' },
      serviceMonitor: { enabled: true },
      podMonitor: { enabled: true },
      prometheusRule: { enabled: true, runbookUrl: 'https://runbooks.example.com/alerts' },
      dashboard: { enabled: true, annotations: { grafana_folder: 'Platform' } },
    },
  },
  'every option off': {
    ...REQUIRED,
    operator: { replicas: 1, wakeControllers: false, podDisruptionBudget: { enabled: false } },
    webhook: { replicas: 1 },
    policy: { engine: 'none' },
    guard: { action: 'off' },
    canary: { enabled: false },
    crds: { install: false },
    remote: { createNamespace: false },
    rbac: { aggregate: false },
  },
  'network policies towards any API server': {
    ...REQUIRED,
    networkPolicy: { enabled: true, controlPlaneFrom: [{ podSelector: {} }] },
    guard: { action: 'warn' },
    crds: { keep: false },
    canary: { createNamespace: false },
    adminKey: { existingSecret: 'mine' },
  },
  'the control plane on SQLite': {
    ...REQUIRED,
    controlPlane: {
      store: {
        type: 'sqlite',
        sqlite: { size: '16Gi', storageClass: 'fast', accessMode: 'ReadWriteOncePod' },
      },
    },
    networkPolicy: { enabled: true },
  },
} as const;
