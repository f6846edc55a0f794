import type { Container, Pod, PodMetadata } from '../../core/injection/pod.ts';
import fc from '../random/properties.ts';

const label = fc.stringMatching(/^[a-z]([-a-z0-9]{0,8}[a-z0-9])?$/);
const freeMap = fc.dictionary(
  fc.oneof(label, fc.constantFrom('constructor', 'example.com/a', 'app')),
  fc.string({ maxLength: 8 }),
  { maxKeys: 3 },
);
const anyJson = fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value)));
const probe = (names: readonly string[]) => {
  const target = fc.record({
    port: fc.oneof(fc.constantFrom(8000, 9000, 80), ...(names.length > 0 ? [fc.constantFrom(...names)] : [])),
  });
  return fc.oneof(
    fc.record({ httpGet: target, periodSeconds: fc.nat(9) }),
    fc.record({ tcpSocket: target }),
    fc.constant({ exec: { command: ['true'] } }),
    fc.constant({ grpc: { port: 8000, service: 'ready' } }),
    fc.constant({ sleep: { seconds: 3 } }),
  );
};

const restrictedContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

const variable = fc.oneof(
  { weight: 5, arbitrary: fc.record({ name: fc.constantFrom('A', 'B', 'a,b'), value: fc.string() }) },
  {
    weight: 1,
    // Among them exactly what injection adds with `platform.io/otlp`.
    arbitrary: fc.constantFrom(
      { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', value: 'http://127.0.0.1:4318/v1/traces' },
      { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
      { name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', value: 'http/protobuf' },
      { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' },
    ),
  },
);

/** A container called `name`; `prefix` makes its port names unique. */
function container(name: string, prefix: string): fc.Arbitrary<Container> {
  const ports = fc.uniqueArray(
    fc.record(
      {
        name: label.map((text) => `${prefix}${text}`.slice(0, 15).replace(/-+$/, '')),
        containerPort: fc.constantFrom(8000, 8000, 9000, 80),
        protocol: fc.constantFrom('TCP', 'TCP', 'UDP', 'SCTP'),
        hostIP: fc.constant('127.0.0.1'),
      },
      { requiredKeys: ['containerPort'] },
    ),
    { maxLength: 3, selector: (port) => port.name ?? `${Math.random()}` },
  );
  return ports.chain((list) => {
    const names = list.flatMap((port) => port.name ?? []);
    return fc
      .record(
        {
          image: fc.constant('image:1'),
          ports: fc.constant(list),
          env: fc.array(variable, { maxLength: 3 }),
          envFrom: fc.constant([{ configMapRef: { name: 'more' } }]),
          livenessProbe: probe(names),
          readinessProbe: probe(names),
          startupProbe: probe(names),
          lifecycle: fc.record({ postStart: probe(names), preStop: probe(names) }, { requiredKeys: [] }),
          securityContext: fc.constant(restrictedContext),
          resources: fc.constantFrom<NonNullable<Container['resources']>>(
            { requests: { cpu: '1', memory: '1Gi' } },
            { limits: { 'nvidia.com/gpu': 1, 'ephemeral-storage': '1Gi' } },
          ),
          volumeMounts: fc.constantFrom(
            [{ name: 'v-a', mountPath: '/a' }],
            [{ name: 'kube-api-access-x', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }],
          ),
          command: fc.array(fc.string(), { maxLength: 2 }),
          somethingNewer: anyJson,
        },
        { requiredKeys: ['image', 'ports'] },
      )
      .map((rest) => ({ name, ...rest }) as unknown as Container);
  });
}

const containers = fc
  .integer({ min: 1, max: 3 })
  .chain((count) =>
    fc.tuple(...Array.from({ length: count }, (_, index) => container(`c${index}`, `p${index}`))),
  );

const initContainers = fc
  .integer({ min: 0, max: 3 })
  .chain((count) =>
    fc.tuple(
      ...Array.from({ length: count }, (_, index) =>
        container(`i${index}`, `i${index}`).chain((init) =>
          fc.constantFrom(init, { ...init, restartPolicy: 'Always' }),
        ),
      ),
    ),
  );

const volume = fc
  .tuple(
    label,
    fc.constantFrom(
      { emptyDir: {} },
      { configMap: { name: 'c' } },
      { secret: { secretName: 's' } },
      { persistentVolumeClaim: { claimName: 'p' } },
      { projected: { sources: [{ serviceAccountToken: { audience: 'vault', path: 'token' } }] } },
      { csi: { driver: 'secrets-store.csi.k8s.io', readOnly: true } },
    ),
  )
  .map(([name, source]) => ({ name: `v-${name}`, ...source }));

/** Annotations that injection must not change. */
const others = fc.record(
  {
    securityContext: fc.constantFrom({ runAsNonRoot: true }, { fsGroup: 2000, runAsUser: 1000 }),
    nodeSelector: fc.constantFrom({ 'kubernetes.io/os': 'linux' }, { pool: 'gpu' }),
    os: fc.constant({ name: 'linux' }),
    tolerations: fc.constant([{ key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' }]),
    affinity: fc.constant({ podAntiAffinity: {} }),
    topologySpreadConstraints: fc.constant([{ maxSkew: 1, topologyKey: 'zone' }]),
    runtimeClassName: fc.constant('gvisor'),
    shareProcessNamespace: fc.boolean(),
    automountServiceAccountToken: fc.boolean(),
    serviceAccountName: label,
    restartPolicy: fc.constantFrom('Always', 'Never', 'OnFailure'),
    terminationGracePeriodSeconds: fc.nat(600),
    hostNetwork: fc.constant(false),
    dnsConfig: fc.constant({ options: [{ name: 'ndots', value: '1' }] }),
    imagePullSecrets: fc.constant([{ name: 'pull' }]),
    ephemeralContainers: fc.constant([{ name: 'debug', image: 'busybox' }]),
    schedulingGates: fc.constant([{ name: 'kueue.x-k8s.io/topology' }]),
    somethingNewer: anyJson,
  },
  { requiredKeys: [] },
);

const owned = fc.constantFrom<PodMetadata>(
  { name: 'chat' },
  {
    generateName: 'chat-6bf7bc4bf5-',
    labels: { 'pod-template-hash': '6bf7bc4bf5' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'chat-6bf7bc4bf5', uid: 'u', controller: true },
    ],
  },
  {
    name: 'chat-0',
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'chat', uid: 'u', controller: true },
    ],
  },
);

/** Ports that a service mesh excludes, among them ports of the sidecar. */
const portLists = fc.constantFrom(
  '',
  '*',
  '9090',
  ' 9090, 4001 ,',
  '4001',
  '4318,9090',
  '25,4000-4010',
  '9090,9090',
);

const unrelated = fc.record(
  {
    'platform.io/agent-port': fc.constantFrom('8000', '9000', '7777'),
    'platform.io/agent-container': fc.constant('c0'),
    'platform.io/policy-proxy-mode': fc.constantFrom('track', 'enforce', 'off'),
    'platform.io/sidecar-memory-limit': fc.constantFrom('128Mi', '1Gi'),
    'platform.io/sidecar-log-level': fc.constantFrom('debug', 'error'),
    'platform.io/otlp': fc.constantFrom('true', 'true', 'false'),
    'traffic.sidecar.istio.io/excludeInboundPorts': portLists,
    'config.linkerd.io/skip-inbound-ports': portLists,
  },
  { requiredKeys: [] },
);

/** Many kinds of valid pods that opt in. The agent's name is `chat`. */
export const anyPod: fc.Arbitrary<Pod> = fc
  .record({
    containers,
    initContainers: fc.option(initContainers, { nil: undefined }),
    volumes: fc.option(fc.uniqueArray(volume, { maxLength: 3, selector: ({ name }) => name }), {
      nil: undefined,
    }),
    owned,
    labels: fc.option(freeMap, { nil: undefined }),
    ownLabels: fc.subarray(['platform.io/agent', 'platform.io/agent-name']),
    annotations: freeMap,
    unrelated,
    others,
  })
  .map(({ owned, labels, ownLabels, annotations, unrelated, others, ...spec }) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...owned,
      annotations: { ...annotations, ...unrelated, 'platform.io/inject': 'true' },
      ...((owned.labels !== undefined || labels !== undefined || ownLabels.length > 0) && {
        labels: {
          ...labels,
          ...owned.labels,
          ...Object.fromEntries(ownLabels.map((name) => [name, 'chat'])),
        },
      }),
    },
    spec: {
      ...others,
      containers: spec.containers,
      ...(spec.initContainers && { initContainers: spec.initContainers }),
      ...(spec.volumes && { volumes: spec.volumes }),
    },
  }));

/** Values of variables with an address of a vendor or a gateway; the last one is a reference. */
const address = fc.constantFrom(
  'https://api.openai.com/v1',
  'https://llm.corp.example',
  'https://llm.corp.example/v1/',
  'http://gateway.llm.svc:8080/openai/v1',
  '',
  'https://$(GATEWAY)/v1',
);

const addressVariable = fc
  .tuple(
    fc.constantFrom(
      ...['OPENAI_BASE_URL', 'OPENAI_API_BASE', 'ANTHROPIC_BASE_URL', 'AZURE_OPENAI_ENDPOINT'],
      ...['GEMINI_API_BASE', 'FILES_MCP_URL', 'LLM_URL', 'HTTPS_PROXY', 'no_proxy', 'HTTP_PROXY'],
    ),
    fc.oneof(
      { weight: 6, arbitrary: fc.record({ value: address }) },
      { weight: 1, arbitrary: fc.constant({}) },
      { weight: 2, arbitrary: fc.constant({ valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }) },
    ),
  )
  .map(([name, rest]) => ({ name, ...rest }));

const egressAnnotations = fc.record(
  {
    'platform.io/egress-lanes': fc
      .subarray(
        [
          'openai',
          'anthropic',
          'gemini',
          'azure',
          'ollama',
          'mcp:files=FILES_MCP_URL',
          'compatible:x=LLM_URL',
        ],
        { minLength: 1 },
      )
      .map((lanes) => lanes.join(',')),
    'platform.io/egress-ca-configmap': fc.constantFrom('vendor-ca', 'other-ca'),
    'platform.io/egress-fail-mode': fc.constantFrom('open', 'closed', 'closed,openai=open'),
    'platform.io/egress-mode': fc.constantFrom('track', 'enforce', 'off'),
    'platform.io/egress-connect': fc.constantFrom('off', 'log', 'deny'),
    'platform.io/census': fc.constantFrom('true', 'false'),
  },
  { requiredKeys: [] },
);

/** The same pods with annotations for lanes, and with variables that lanes use in the agent's container. */
export const anyPodWithLanes: fc.Arbitrary<Pod> = fc
  .tuple(anyPod, egressAnnotations, fc.array(addressVariable, { maxLength: 5 }))
  .map(([pod, annotations, variables]) => ({
    ...pod,
    metadata: { ...pod.metadata, annotations: { ...pod.metadata?.annotations, ...annotations } },
    spec: {
      ...pod.spec,
      containers: pod.spec.containers.map((each, index) =>
        index > 0 || variables.length === 0 ? each : { ...each, env: [...(each.env ?? []), ...variables] },
      ),
    },
  }));
