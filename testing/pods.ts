import fc from 'fast-check';
import type { Container, Pod, PodMetadata } from '../core/injection/pod.ts';
import type { InjectionSettings } from '../core/injection/settings.ts';

export const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

/** An installation's settings, with overrides. */
export function injectionSettings(overrides: Partial<InjectionSettings> = {}): InjectionSettings {
  return {
    image: 'registry.example/agent-compliance/sidecar:1.0.0',
    imagePullPolicy: 'IfNotPresent',
    allowedImages: [],
    resources: { cpuRequest: '25m', cpuLimit: '1', memoryRequest: '96Mi', memoryLimit: '192Mi' },
    logLevel: 'info',
    mode: 'track',
    engine: 'builtin',
    minimumMode: 'off',
    heartbeatSeconds: 30,
    controlPlaneUrl: 'https://agent-compliance-control-plane.platform-system.svc:8080',
    ca: CA,
    version: '1.0.0',
    configHash: 'c0ffee',
    ...overrides,
  };
}

/** An opted-in bare pod `chat` with one container, with overrides. */
export function optedInPod(
  overrides: {
    annotations?: Record<string, string>;
    metadata?: Partial<PodMetadata>;
    container?: Partial<Container>;
    spec?: Partial<Pod['spec']>;
  } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'chat',
      ...overrides.metadata,
      annotations: { 'platform.io/inject': 'true', ...overrides.annotations },
    },
    spec: {
      containers: [
        {
          name: 'agent',
          image: 'agent:1',
          ports: [{ name: 'http', containerPort: 8000, protocol: 'TCP' }],
          ...overrides.container,
        },
      ],
      ...overrides.spec,
    },
  };
}

const label = fc.stringMatching(/^[a-z]([-a-z0-9]{0,8}[a-z0-9])?$/);
const freeMap = fc.dictionary(
  fc.oneof(label, fc.constantFrom('constructor', 'example.com/a', 'app')),
  fc.string({ maxLength: 8 }),
  { maxKeys: 3 },
);
const probe = (names: readonly string[]) => {
  const target = fc.record({
    port: fc.oneof(fc.constantFrom(8000, 9000, 80), ...(names.length > 0 ? [fc.constantFrom(...names)] : [])),
  });
  return fc.oneof(
    fc.record({ httpGet: target, periodSeconds: fc.nat(9) }),
    fc.record({ tcpSocket: target }),
    fc.constant({ exec: { command: ['true'] } }),
    fc.constant({ grpc: { port: 8000 } }),
  );
};

const restrictedContext = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** A container called `name`; `prefix` keeps its port names apart from those of others. */
function container(name: string, prefix: string): fc.Arbitrary<Container> {
  const ports = fc.uniqueArray(
    fc.record(
      {
        name: label.map((text) => `${prefix}${text}`.slice(0, 15).replace(/-+$/, '')),
        containerPort: fc.constantFrom(8000, 8000, 9000, 80),
        protocol: fc.constantFrom('TCP', 'TCP', 'UDP'),
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
          env: fc.array(fc.record({ name: fc.constantFrom('A', 'B', 'a,b'), value: fc.string() }), {
            maxLength: 3,
          }),
          envFrom: fc.constant([{ configMapRef: { name: 'more' } }]),
          livenessProbe: probe(names),
          readinessProbe: probe(names),
          startupProbe: probe(names),
          lifecycle: fc.record({ postStart: probe(names), preStop: probe(names) }, { requiredKeys: [] }),
          securityContext: fc.constant(restrictedContext),
          somethingNewer: fc
            .jsonValue({ maxDepth: 2 })
            .map((value): unknown => JSON.parse(JSON.stringify(value))),
        },
        { requiredKeys: ['image', 'ports'] },
      )
      .map((rest) => ({ name, ...rest }) as unknown as Container);
  });
}

/** Pods that opt in and break no rule, of many shapes. */
export const anyPod: fc.Arbitrary<Pod> = fc
  .record({
    containers: fc
      .integer({ min: 1, max: 3 })
      .chain((count) =>
        fc.tuple(...Array.from({ length: count }, (_, index) => container(`c${index}`, `p${index}`))),
      ),
    initContainers: fc.option(
      fc.tuple(
        container('init', 'i').chain((init) => fc.constantFrom(init, { ...init, restartPolicy: 'Always' })),
      ),
      { nil: undefined },
    ),
    volumes: fc.option(
      fc.uniqueArray(
        label.map((name) => ({ name: `v-${name}`, emptyDir: {} })),
        { maxLength: 3, selector: (volume) => volume.name },
      ),
      { nil: undefined },
    ),
    labels: fc.option(freeMap, { nil: undefined }),
    ownLabel: fc.boolean(),
    annotations: freeMap,
    said: fc.record(
      {
        'platform.io/agent-port': fc.constantFrom('8000', '9000', '7777'),
        'platform.io/agent-container': fc.constant('c0'),
        'platform.io/policy-proxy-mode': fc.constantFrom('track', 'enforce', 'off'),
        'platform.io/sidecar-memory-limit': fc.constantFrom('128Mi', '1Gi'),
      },
      { requiredKeys: [] },
    ),
    securityContext: fc.option(fc.constant({ runAsNonRoot: true }), { nil: undefined }),
  })
  .map(({ containers, initContainers, volumes, labels, ownLabel, annotations, said, securityContext }) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'chat',
      annotations: { ...annotations, ...said, 'platform.io/inject': 'true' },
      ...((labels !== undefined || ownLabel) && {
        labels: { ...labels, ...(ownLabel && { 'platform.io/agent': 'chat' }) },
      }),
    },
    spec: {
      containers,
      ...(initContainers && { initContainers }),
      ...(volumes && { volumes }),
      ...(securityContext && { securityContext }),
    },
  }));
