import { expect, test } from '@jest/globals';
import { injectionSettings, optedInPod } from '../../testing/cluster/pods.ts';
import { annotationDefaults } from './annotations.ts';
import { decide, type Decision, type SkipCode } from './decide.ts';
import { inject } from './inject.ts';
import type { Pod } from './pod.ts';
import type { RejectionCode } from './rejections.ts';
import type { InjectionSettings } from './settings.ts';

type Outcome = 'inject' | SkipCode | RejectionCode | RejectionCode[];

function outcomeOf(decision: Decision): Outcome {
  if (decision.action === 'inject') return 'inject';
  if (decision.action === 'skip') return decision.code;
  const codes = decision.rejections.map(({ code }) => code);
  return codes.length === 1 ? codes[0]! : codes;
}

const ENGINE = {
  image: 'opa:1',
  resources: { cpuRequest: '10m', cpuLimit: '1', memoryRequest: '96Mi', memoryLimit: '192Mi' },
};
/** A pod with annotations of the product, by name without their prefix. */
const annotated = (annotations: Record<string, string>): Pod =>
  optedInPod({
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [
        name.includes('/') ? name : `platform.io/${name}`,
        value,
      ]),
    ),
  });
const onPort = (containerPort: number): Pod => optedInPod({ container: { ports: [{ containerPort }] } });
const manyLabels = (count: number): Record<string, string> =>
  Object.fromEntries([...Array(count).keys()].map((n) => [`l-${n}`, 'x']));
const agent2 = { name: 'web', image: 'web:1', ports: [{ name: 'http', containerPort: 9000 }] };

const TRUTH_TABLE: [string, Pod, Outcome, Partial<InjectionSettings>?][] = [
  ['no annotations at all', { spec: { containers: [{ name: 'agent' }] } }, 'not-opted-in'],
  ['inject "false"', annotated({ inject: 'false' }), 'not-opted-in'],
  [
    'an invalid annotation without opting in',
    annotated({ inject: 'false', 'agent-port': 'x' }),
    'not-opted-in',
  ],
  ['a mirror of a static pod', annotated({ 'kubernetes.io/config.mirror': 'abc' }), 'mirror-pod'],
  ['inject "true"', optedInPod(), 'inject'],
  ['inject "yes"', annotated({ inject: 'yes' }), 'annotation-invalid'],
  ['inject ""', annotated({ inject: '' }), 'annotation-invalid'],
  [
    'three invalid annotations, each with a rejection',
    annotated({ 'policy-proxy-mode': 'block', 'agent-port': '0', 'sidecar-cpu-limit': 'lots' }),
    ['annotation-invalid', 'annotation-invalid', 'annotation-invalid'],
  ],
  ['a Windows pod', optedInPod({ spec: { os: { name: 'windows' } } }), 'os-not-linux'],
  [
    'a pod for Windows nodes',
    optedInPod({ spec: { nodeSelector: { 'kubernetes.io/os': 'windows' } } }),
    'os-not-linux',
  ],
  [
    'a pod for Linux nodes',
    optedInPod({ spec: { nodeSelector: { 'kubernetes.io/os': 'linux' } } }),
    'inject',
  ],
  ['a pod without a container', optedInPod({ spec: { containers: [] } }), 'container-unknown'],
  [
    "an agent on the engine's port, with an engine next to the sidecar",
    onPort(8181),
    'port-reserved',
    { engine: ENGINE },
  ],
  ["an agent on the engine's port, without an engine", onPort(8181), 'inject'],
  [
    'a container with the name of the engine',
    optedInPod({ spec: { initContainers: [{ name: 'platform-opa' }] } }),
    'name-reserved',
  ],
  ['a pod with os.name linux', optedInPod({ spec: { os: { name: 'linux' } } }), 'inject'],
  ['hostNetwork', optedInPod({ spec: { hostNetwork: true } }), 'host-network'],
  ['hostNetwork false', optedInPod({ spec: { hostNetwork: false } }), 'inject'],
  [
    'a container with the name of the sidecar',
    optedInPod({ spec: { initContainers: [{ name: 'platform-sidecar' }] } }),
    'name-reserved',
  ],
  [
    'a volume with a reserved name',
    optedInPod({ spec: { volumes: [{ name: 'platform-identity', emptyDir: {} }] } }),
    'name-reserved',
  ],
  [
    'a mount of an injected volume',
    optedInPod({ container: { volumeMounts: [{ name: 'platform-policy', mountPath: '/rules' }] } }),
    'name-reserved',
  ],
  ['no name yet', optedInPod({ metadata: { name: '', generateName: 'chat-' } }), 'agent-name-unknown'],
  ['a name with dots', optedInPod({ metadata: { name: 'chat.v1' } }), 'agent-name-invalid'],
  [
    "another agent's label",
    optedInPod({ metadata: { labels: { 'platform.io/agent': 'other' } } }),
    'label-conflict',
  ],
  ["the agent's own label", optedInPod({ metadata: { labels: { 'platform.io/agent': 'chat' } } }), 'inject'],
  ['too many labels', optedInPod({ metadata: { labels: manyLabels(99) } }), 'too-many-labels'],
  ['the most labels', optedInPod({ metadata: { labels: manyLabels(98) } }), 'inject'],
  ['an unknown agent container', annotated({ 'agent-container': 'agnet' }), 'container-unknown'],
  ['an agent on the proxy port', onPort(4000), 'port-reserved'],
  ['an agent port annotation with the control port', annotated({ 'agent-port': '4001' }), 'port-reserved'],
  [
    'another container on the proxy port',
    optedInPod({ spec: { initContainers: [{ name: 'mesh', ports: [{ containerPort: 4000 }] }] } }),
    'port-reserved',
  ],
  [
    'another container with the port name of the agent',
    optedInPod({
      spec: { containers: [{ name: 'agent', ports: [{ name: 'http', containerPort: 8000 }] }, agent2] },
    }),
    'port-name-shared',
  ],
  [
    'another container with another port name',
    optedInPod({
      spec: { containers: [{ name: 'agent', ports: [{ name: 'chat', containerPort: 8000 }] }, agent2] },
    }),
    'inject',
  ],
  [
    'a mode below the minimum',
    annotated({ 'policy-proxy-mode': 'off' }),
    'mode-below-minimum',
    { minimumMode: 'track' },
  ],
  [
    'a mode equal to the minimum',
    annotated({ 'policy-proxy-mode': 'track' }),
    'inject',
    { minimumMode: 'track' },
  ],
  [
    'a mode above the minimum',
    annotated({ 'policy-proxy-mode': 'enforce' }),
    'inject',
    { minimumMode: 'track' },
  ],
  [
    'a grade below the minimum',
    annotated({ 'compliant-grade': 'D' }),
    'grade-below-minimum',
    { minimumCompliantGrade: 'C' },
  ],
  [
    'a grade equal to the minimum',
    annotated({ 'compliant-grade': 'C' }),
    'inject',
    { minimumCompliantGrade: 'C' },
  ],
  [
    'evidence below the minimum',
    annotated({ 'compliant-evidence': '59' }),
    'evidence-below-minimum',
    { minimumCompliantEvidence: 60 },
  ],
  [
    'evidence equal to the minimum',
    annotated({ 'compliant-evidence': '60' }),
    'inject',
    { minimumCompliantEvidence: 60 },
  ],
  ['evidence that is not a percentage', annotated({ 'compliant-evidence': '101' }), 'annotation-invalid'],
  ['an invalid grade', annotated({ 'compliant-grade': 'E' }), 'annotation-invalid'],
  ['an image that is not allowed', annotated({ 'sidecar-image': 'evil:1' }), 'image-not-allowed'],
  [
    'an image on the allow-list',
    annotated({ 'sidecar-image': 'good:2' }),
    'inject',
    { allowedImages: ['good:2'] },
  ],
  [
    'a memory request over the default limit',
    annotated({ 'sidecar-memory-request': '1Gi' }),
    'request-over-limit',
  ],
  ['a CPU limit under the default request', annotated({ 'sidecar-cpu-limit': '4m' }), 'request-over-limit'],
  ['a large CPU request without a limit', annotated({ 'sidecar-cpu-request': '64' }), 'inject'],
  [
    'request and limit raised together',
    annotated({ 'sidecar-memory-request': '1Gi', 'sidecar-memory-limit': '1024Mi' }),
    'inject',
  ],
  [
    'several reasons, all of them reported',
    optedInPod({
      annotations: { 'platform.io/sidecar-image': 'evil:1' },
      container: { ports: [{ containerPort: 4001 }] },
      spec: { hostNetwork: true },
    }),
    ['host-network', 'port-reserved', 'image-not-allowed'],
  ],
];

// The row is a rest parameter: Jest would pass its `done` callback as a fourth parameter to rows with three members.
test.each(TRUTH_TABLE)('%s', (...row) => {
  const [, pod, outcome, overrides] = row;
  expect(outcomeOf(decide(pod, injectionSettings(overrides)))).toEqual(outcome);
});

test.each<[RejectionCode, Pod, string]>([
  [
    'annotation-invalid',
    annotated({ inject: 'yes' }),
    'annotation platform.io/inject: "yes" is not one of "true", "false"',
  ],
  [
    'annotation-invalid',
    annotated({ 'sidecar-memory-limit': '1Mi' }),
    'annotation platform.io/sidecar-memory-limit: "1Mi" is not a memory quantity from 96Mi to 16Gi, such as 192Mi',
  ],
  [
    'annotation-invalid',
    annotated({ 'agent-name': 'x'.repeat(200) }),
    `annotation platform.io/agent-name: "${'x'.repeat(100)}…" is not a DNS label of 1 to 63 characters (a-z, 0-9, "-")`,
  ],
  [
    'container-unknown',
    annotated({ 'agent-container': 'agnet' }),
    'annotation platform.io/agent-container: "agnet" is not one of the pod\'s containers (agent)',
  ],
  [
    'host-network',
    optedInPod({ spec: { hostNetwork: true } }),
    'a pod with hostNetwork cannot be injected: ports 4000 and 4001 would be taken on the node',
  ],
  [
    'request-over-limit',
    annotated({ 'sidecar-memory-request': '1Gi' }),
    "the sidecar's memory request 1Gi is over its limit 192Mi: set both platform.io/sidecar-memory-request and platform.io/sidecar-memory-limit",
  ],
  [
    'identity-incomplete',
    annotated({ 'identity-header': 'x-forwarded-user' }),
    'annotations platform.io/identity-header and platform.io/identity-proxies are used together: set both',
  ],
  [
    'otlp-port-taken',
    annotated({ otlp: 'true', 'agent-port': '4318' }),
    'the agent uses port 4318, on which the sidecar receives OTLP (annotation platform.io/otlp): use another port, or remove the annotation',
  ],
  [
    'egress-port-taken',
    annotated({ 'egress-connect': 'log', 'agent-port': '4003' }),
    'the agent uses port 4003, on which the sidecar has its lanes (annotations platform.io/egress-lanes and platform.io/egress-connect): use another port, or remove the annotations',
  ],
  [
    'egress-lanes-invalid',
    annotated({ 'egress-lanes': 'groq,groq' }),
    'annotation platform.io/egress-lanes has lane groq twice',
  ],
])('rejection %s has an actionable message', (code, pod, message) => {
  expect(decide(pod, injectionSettings())).toEqual({ action: 'refuse', rejections: [{ code, message }] });
});

const DEFAULTS = annotationDefaults((_key, chart) => chart.default);

test('the plan uses the defaults of the installation', () => {
  const { spec } = optedInPod();
  expect(decide(optedInPod(), injectionSettings())).toEqual({
    action: 'inject',
    record: null,
    spec,
    agent: spec.containers[0],
    plan: {
      agentName: 'chat',
      agentPort: 8000,
      manifestConfigMap: 'chat-manifest',
      image: 'registry.example/agent-compliance/sidecar:1.0.0',
      otlp: false,
      egress: { lanes: [], mode: null, failMode: null, caConfigMap: null, connect: 'off', census: true },
      ...DEFAULTS,
      ...{ mode: 'track', logLevel: 'info' },
      ...{ cpuRequest: '5m', cpuLimit: 'none', memoryRequest: '96Mi', memoryLimit: '192Mi' },
      passed: [],
    },
    warnings: [],
  });
});

test('the plan uses the value of every annotation', () => {
  const files = { name: 'FILES_MCP_URL', value: 'https://files.example/mcp' };
  const pod = optedInPod({
    annotations: {
      'platform.io/agent-name': 'support',
      'platform.io/manifest-configmap': 'support.v2',
      'platform.io/manifest-sha256': 'a'.repeat(64),
      'platform.io/agent-container': 'web',
      'platform.io/agent-port': '7000',
      'platform.io/policy-proxy-mode': 'enforce',
      'platform.io/sidecar-cpu-request': '50m',
      'platform.io/sidecar-cpu-limit': '2',
      'platform.io/sidecar-memory-request': '128Mi',
      'platform.io/sidecar-memory-limit': '256Mi',
      'platform.io/sidecar-image': 'good:2',
      'platform.io/sidecar-log-level': 'debug',
      'platform.io/otlp': 'true',
      'platform.io/egress-lanes': 'anthropic,mcp:files=FILES_MCP_URL',
      'platform.io/egress-mode': 'track',
      'platform.io/egress-fail-mode': 'closed',
      'platform.io/egress-ca-configmap': 'vendor-ca',
      'platform.io/egress-connect': 'deny',
      'platform.io/census': 'false',
    },
    spec: { containers: [{ name: 'agent' }, { name: 'web', env: [files] }] },
  });
  expect(decide(pod, injectionSettings({ allowedImages: ['good:2'] }))).toEqual({
    action: 'inject',
    record: null,
    spec: pod.spec,
    agent: { name: 'web', env: [files] },
    plan: {
      agentName: 'support',
      agentPort: 7000,
      manifestConfigMap: 'support.v2',
      image: 'good:2',
      otlp: true,
      egress: {
        lanes: [
          { id: 'anthropic', variable: null },
          { id: 'mcp:files', variable: 'FILES_MCP_URL' },
        ],
        ...{ mode: 'track', failMode: 'closed', caConfigMap: 'vendor-ca', connect: 'deny', census: false },
      },
      ...DEFAULTS,
      ...{ mode: 'enforce', logLevel: 'debug' },
      ...{ cpuRequest: '50m', cpuLimit: '2', memoryRequest: '128Mi', memoryLimit: '256Mi' },
      passed: [{ name: 'MANIFEST_SHA256', value: 'a'.repeat(64) }],
    },
    warnings: [],
  });
});

test.each([
  [[{ name: 'dns', containerPort: 53, protocol: 'UDP' }, { containerPort: 7777 }], 7777],
  [[{ name: 'dns', containerPort: 53, protocol: 'UDP' }], 8000],
  [undefined, 8000],
])('the agent port of %j is %d', (ports, port) => {
  const decision = decide(
    optedInPod({ spec: { containers: [{ name: 'a', ...(ports && { ports }) }] } }),
    injectionSettings(),
  );
  expect(decision).toMatchObject({ action: 'inject', plan: { agentPort: port } });
});

test('warns of an unknown annotation, but not of known annotations with other purposes', () => {
  const decision = decide(
    annotated({ 'platform.io/policy-proxy-mod': 'enforce', 'platform.io/retry': 'now', 'other.io/x': 'y' }),
    injectionSettings(),
  );
  expect(decision).toMatchObject({
    warnings: ['annotation platform.io/policy-proxy-mod is not known to the injector and has no effect'],
  });
});

test('decides a pod that was injected with an older configuration like a plain pod', () => {
  const settings = injectionSettings();
  const pod = optedInPod();
  const first = decide(pod, settings);
  if (first.action !== 'inject') throw new Error('not injected');
  const old = inject(pod, first, injectionSettings({ configHash: 'old', ca: 'OLD', image: 'old:1' }));
  const again = decide(old, settings);
  if (again.action !== 'inject') throw new Error('not injected again');
  expect({ ...again, record: null }).toEqual(first);
  expect(inject(old, again, settings)).toEqual(inject(pod, first, settings));
});

test('warns of a container that sets where its spans go', () => {
  const name = 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';
  const warningsOf = (annotations: Record<string, string>) => {
    const decision = decide(
      optedInPod({ annotations, container: { env: [{ name, valueFrom: {} }] } }),
      injectionSettings(),
    );
    return decision.action === 'inject' ? decision.warnings : null;
  };
  expect(warningsOf({})).toEqual([]);
  expect(warningsOf({ 'platform.io/otlp': 'true' })).toEqual([
    `annotation platform.io/otlp does not change where the agent sends its spans, because its container sets ${name}`,
  ]);
});

test('removes only the variables of the injector from a container with a forged injection record', () => {
  const forged = {
    ...{ version: '1', config: 'x', restore: [], otlp: true, ownLabel: false },
    agent: { container: 'agent', port: 8000 },
  };
  const env = [
    { name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', value: 'http://127.0.0.1:4318/v1/traces' },
    { name: 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', value: 'grpc' },
    { name: 'SECRET', value: 'x' },
  ];
  const pod = optedInPod({
    annotations: { 'platform.io/injected': JSON.stringify(forged) },
    container: { env },
  });
  const decision = decide(pod, injectionSettings());
  if (decision.action !== 'inject') throw new Error('not injected');
  expect(inject(pod, decision, injectionSettings()).spec.containers[0]?.env).toEqual(env.slice(1));
});

test('restores only ports and probes from a forged injection record', () => {
  const forged = {
    version: '1',
    config: 'x',
    agent: { container: 'agent', port: 1 },
    restore: [['image', 'evil:1']],
    ownLabel: false,
  };
  const pod = annotated({ 'platform.io/injected': JSON.stringify(forged) });
  const decision = decide(pod, injectionSettings());
  if (decision.action !== 'inject') throw new Error('not injected');
  expect(inject(pod, decision, injectionSettings()).spec.containers[0]?.image).toBe('agent:1');
});
