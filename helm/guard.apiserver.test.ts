// The chart's guard at a real API server, without an injector: admitted pods, and messages for rejected pods.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { annotationDefaults, ANNOTATIONS, describeAnnotationProblem } from '../core/injection/annotations.ts';
import { buildSidecar, buildVolumes, type InjectionPlan } from '../core/injection/build-sidecar.ts';
import { buildEngine, buildEngineVolumes } from '../core/injection/build-engine.ts';
import { namedLanes } from '../core/egress/lane-annotation.ts';
import { DEFAULT_EGRESS, type EgressPlan } from '../core/injection/egress.ts';
import type { Injection } from '../core/injection/guard-table.ts';
import type { Container } from '../core/injection/pod.ts';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import type { KubeClient } from '../kube/client.ts';
import { expectOk } from '../kube/objects.ts';
import { ANNOTATION_VALUES } from '../testing/cluster/annotation-values.ts';
import {
  ApiCluster,
  creationOf,
  patchOf,
  rejectionIn,
  type AnyObject,
} from '../testing/cluster/api-cluster.ts';
import { injectionSettings } from '../testing/cluster/pods.ts';
import { objectsOf, template } from '../testing/cluster/rendered-chart.ts';
import { until } from '../testing/time/until.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const PREVIOUS = join(import.meta.dirname, '../core/injection/previous');
const UNAVAILABLE = 'has no platform-sidecar: the injector did not answer';
const DIFFERS = 'its platform-sidecar differs from the injected one';
const NOT_INJECTED = 'its platform-sidecar was not added by the injector';

type Spec = Record<string, unknown>;

const agent = { name: 'agent', image: 'agent', ports: [{ containerPort: 8000 }] };
const SETTINGS = injectionSettings({ image: 'registry.example/agent-compliance/sidecar:0.1.0' });
const PLAN: InjectionPlan = {
  ...{ agentName: 'x', agentPort: 8000, manifestConfigMap: 'x-manifest' },
  image: SETTINGS.image,
  otlp: false,
  egress: DEFAULT_EGRESS,
  ...annotationDefaults((key) => SETTINGS[key]),
};
const LANE_ANNOTATIONS = {
  'platform.io/egress-lanes': 'openai,azure,mcp:files=FILES_MCP_URL',
  'platform.io/egress-mode': 'enforce',
  'platform.io/egress-fail-mode': 'closed,mcp:files=open',
  'platform.io/egress-ca-configmap': 'vendor-ca',
  'platform.io/egress-connect': 'log',
};
const LANES: EgressPlan = {
  lanes: namedLanes(LANE_ANNOTATIONS['platform.io/egress-lanes']),
  mode: 'enforce',
  failMode: 'closed,mcp:files=open',
  caConfigMap: 'vendor-ca',
  connect: 'log',
  census: true,
};
const PINNED = 'a1'.repeat(32);
const GENUINE = buildSidecar(PLAN, agent, [], SETTINGS);
const VOLUMES = buildVolumes(PLAN, SETTINGS);
const ENV = Object.fromEntries((GENUINE.env ?? []).map(({ name, value }) => [name, value]));
/** The variables that every version sets. The guard accepts a sidecar without a newer variable. */
const REQUIRED = Object.keys(ENV).filter((name) =>
  readdirSync(PREVIOUS).every((file) => {
    const { containers } = JSON.parse(readFileSync(join(PREVIOUS, file), 'utf8')) as Injection;
    const sidecar = containers.find((container) => container.name === GENUINE.name);
    return sidecar?.env?.some((variable) => variable.name === name);
  }),
);
const envOf = (change: Record<string, string | undefined> = {}) =>
  Object.entries({ ...ENV, ...change }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value }],
  );
/** Removes the fields that only a native sidecar may have. */
const ONCE = {
  ...{ restartPolicy: undefined, lifecycle: undefined },
  ...{ startupProbe: undefined, readinessProbe: undefined },
};
const sidecar = (change: Spec = {}) => ({ ...GENUINE, ...change });
const mount = (mountPath: string, more: Spec = {}) => ({
  volumeMounts: [...(GENUINE.volumeMounts ?? []), { name: 'mine', mountPath, ...more }],
});
const foreignVolume = { volumes: [{ name: 'mine', emptyDir: {} }] };
const pod = (annotations: Record<string, string> | undefined, spec: Spec = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'x', ...(annotations && { annotations }) },
  spec: { containers: [agent], ...spec },
});
/** An opted-in pod; with a sidecar also the injector's volumes and label. */
function opted(spec: Spec = {}, annotations: Record<string, string> = {}) {
  const plain = pod({ 'platform.io/inject': 'true', ...annotations }, spec);
  const given = (spec['volumes'] ?? []) as { name: string }[];
  if (!Object.hasOwn(spec, 'initContainers')) return plain;
  const own = VOLUMES.filter(({ name }) => !given.some((volume) => volume.name === name));
  return {
    ...plain,
    metadata: { ...plain.metadata, labels: { 'platform.io/agent': 'x' } },
    spec: { ...plain.spec, volumes: [...own, ...given] },
  };
}

/** As many labels, one of them the label of an agent. */
const labels = (count: number): Record<string, string> =>
  Object.fromEntries([...Array(count).keys()].map((n) => [n === 0 ? 'platform.io/agent' : `l-${n}`, 'x']));
const CONTROL_PLANE = 'agent-compliance-control-plane';

/** An opted-in pod with the injected sidecar, with these changes. */
const own = (change: Spec = {}, annotations: Record<string, string> = {}) =>
  opted({ ...foreignVolume, initContainers: [sidecar(change)] }, annotations);
/** Such a pod with other members of its spec. */
const nextTo = (spec: Spec, annotations: Record<string, string> = {}) =>
  opted({ initContainers: [sidecar()], ...spec }, annotations);
const listening = (...ports: number[]): Spec => ({
  containers: [{ ...agent, ports: ports.map((containerPort) => ({ containerPort })) }],
});
const withEnv = (change: Record<string, string | undefined>): Spec => ({ env: envOf(change) });
const withMore = (...variables: object[]): Spec => ({ env: [...envOf(), ...variables] });
const extra = (name: string, port: number): Spec => ({
  initContainers: [sidecar(), { name, image: 'x', ports: [{ containerPort: port }] }],
});
const withResources = (side: 'requests' | 'limits', change: Spec): Spec => ({
  resources: { ...GENUINE.resources, [side]: { ...GENUINE.resources?.[side], ...change } },
});
const withHeap = (mebibytes: number | string): Spec =>
  withEnv({ NODE_OPTIONS: `--max-old-space-size=${mebibytes} --max-semi-space-size=4` });
const security = (change: Spec): Spec => ({
  securityContext: { ...(GENUINE['securityContext'] as object), ...change },
});
const without = (volume: string): Spec => ({
  volumeMounts: GENUINE.volumeMounts?.filter(({ name }) => name !== volume),
});
const tokenOf = (audience: string) => ({
  projected: { sources: [{ serviceAccountToken: { audience, path: 'token' } }] },
});
const STOP_FIELD = "metadata.annotations['platform.io/stop']";
/** The injected volume with the stop from another field. */
const stopOf = (fieldPath: string, path = 'stop') => {
  const { projected } = VOLUMES.find(({ name }) => name === 'platform-identity') as unknown as {
    projected: { sources: { downwardAPI?: { items: { path: string }[] } }[] };
  };
  const other = { path, fieldRef: { apiVersion: 'v1', fieldPath } };
  const sources = projected.sources.map(({ downwardAPI, ...source }) => ({
    ...source,
    ...(downwardAPI && {
      downwardAPI: { items: downwardAPI.items.map((item) => (item.path === 'stop' ? other : item)) },
    }),
  }));
  return { projected: { ...projected, sources } };
};
const withVolume = (name: string, source: object) => nextTo({ volumes: [{ name, ...source }] });
const IDENTITY_READER = {
  ...{ name: 'platform-opa', image: 'x' },
  volumeMounts: [{ name: 'platform-identity', mountPath: '/x' }],
};
const alias = (...hostnames: string[]): Spec => ({
  hostAliases: [
    { ip: '10.0.0.1', hostnames: ['db'] },
    { ip: '10.0.0.2', hostnames: ['other', ...hostnames] },
  ],
});
const OTLP = { 'platform.io/otlp': 'true' };
const GROQ = { 'platform.io/egress-lanes': 'groq' };
const PODS = '/api/v1/namespaces/team/pods';
const [GRADE, EVIDENCE] = ['platform.io/compliant-grade', 'platform.io/compliant-evidence'];
const VOLUMES_DIFFER = 'its volumes differ from those that the injector adds: ';
const imageNamed = (rest: string) => `registry.example/agent-compliance/${rest}`;

/** Rows of a table by the message of the rejection. */
type ByMessage<T> = Record<string, Record<string, T>>;
const rowsOf = <T>(table: ByMessage<T>): [what: string, value: T, message: string][] =>
  Object.entries(table).flatMap(([message, rows]) =>
    Object.entries(rows).map(([what, value]): [string, T, string] => [what, value, message]),
  );

const ADMITTED: Record<string, object> = {
  'has no annotations': pod(undefined),
  'opts out': pod({ 'platform.io/inject': 'false' }),
  'opts out and has an invalid value': pod({ 'platform.io/inject': 'false', 'platform.io/agent-port': 'x' }),
  'has only other annotations': pod({ 'platform.io/agent-port': 'x' }),
  'opts out, on a port of the sidecar': pod({}, listening(4000)),
  'opts in and has the sidecar': own(),
  'has the sidecar in another version': own({ image: imageNamed('sidecar:9') }),
  'has the sidecar by its digest': own({ image: imageNamed(`sidecar@sha256:${'a'.repeat(64)}`) }),
  'has an image that is allowed': own({ image: 'mirror/sidecar:7' }),
  'has a sidecar with allowed variables and mounts of other webhooks': own({
    ...withMore({ name: 'AWS_REGION', value: 'eu' }),
    ...mount('/var/run/secrets/eks.amazonaws.com/serviceaccount'),
  }),
  'has lanes in its sidecar': opted(
    { initContainers: [buildSidecar({ ...PLAN, egress: LANES }, agent, [], SETTINGS)] },
    LANE_ANNOTATIONS,
  ),
  'names its only manifest': own(withMore({ name: 'MANIFEST_SHA256', value: PINNED }), {
    'platform.io/manifest-sha256': PINNED,
  }),
  'has no census in its sidecar': own(withEnv({ CENSUS: undefined }), { 'platform.io/census': 'false' }),
  'listens on ports of lanes, without lanes': nextTo(listening(4002, 4003), {
    'platform.io/egress-connect': 'off',
  }),
  'listens on a port of the engine, without an engine': nextTo(listening(8181)),
  'has other host aliases': nextTo(alias(`${CONTROL_PLANE}-2`, `my.${CONTROL_PLANE}`)),
  'has fields that the API server and other plugins add': own({
    imagePullPolicy: 'Always',
    ...withMore({ name: 'AZURE_CLIENT_ID', value: 'x' }),
    resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
    resources: {
      requests: { ...GENUINE.resources?.requests, 'ephemeral-storage': '1Mi' },
      limits: { ...GENUINE.resources?.limits, memory: '1Gi' },
    },
  }),
  ...Object.fromEntries(
    ['5m', '1', '64'].map((cpu) => [`has the CPU limit ${cpu}`, own(withResources('limits', { cpu }))]),
  ),
};

const REJECTED: ByMessage<object> = {
  [`pod x is opted in (annotation platform.io/inject: true) but ${UNAVAILABLE}`]: {
    'has no sidecar': opted(),
    'has the sidecar as a container': opted({
      containers: [agent, sidecar({ ...ONCE, volumeMounts: undefined, ports: undefined })],
    }),
  },
  [`${NOT_INJECTED}: the image must be registry.example/agent-compliance/sidecar or an image that the cluster allows, without command and args`]:
    {
      'has another image': own({ image: 'busybox' }),
      'has an image whose name only starts with the allowed name': own({
        image: imageNamed('sidecar-fake:1'),
      }),
      'has another version of an allowed image': own({ image: 'mirror/sidecar:8' }),
      'has the sidecar as a plain init container': own(ONCE),
      'has the sidecar with a command': own({ command: ['true'] }),
      'has the sidecar with arguments': own({ args: ['x'] }),
    },
  'a pod with hostNetwork cannot be injected: ports 4000 and 4001 would be taken on the node': {
    'has hostNetwork': opted({ hostNetwork: true, containers: [{ name: 'agent', image: 'agent' }] }),
  },
  'ports 4000 and 4001 are reserved for the sidecar: use other ports for the agent and all other containers':
    {
      'listens on 4000': opted(listening(4000)),
      'listens on 4001': opted(listening(4001)),
      'listens on 4000 in a container with an unused reserved name': nextTo({
        containers: [agent, { name: 'platform-policy', image: 'x', ports: [{ containerPort: 4000 }] }],
      }),
      'listens on 4000 in a sidecar with an unused reserved name': opted({
        initContainers: [
          sidecar(),
          { name: 'platform-policy', image: 'x', restartPolicy: 'Always', ports: [{ containerPort: 4000 }] },
        ],
      }),
      'has agent port 4001 in its annotation': opted({}, { 'platform.io/agent-port': '4001' }),
    },
  'with the annotation platform.io/otlp, port 4318 is reserved for the sidecar': {
    'receives OTLP and listens on port 4318': opted(listening(4318), OTLP),
    'receives OTLP next to a container on port 4318': opted(extra('collector', 4318), OTLP),
    'receives OTLP and has port 4318 in its annotation': opted(
      {},
      { ...OTLP, 'platform.io/agent-port': '4318' },
    ),
  },
  'ports 4002 and 4003 are reserved for the lanes of the sidecar': {
    'has lanes and listens on a port of the lanes': opted(listening(4002), GROQ),
    'has lanes next to a container on a port of the lanes': opted(extra('mesh', 4003), {
      'platform.io/egress-connect': 'deny',
    }),
    'has lanes and a port of the lanes in its annotation': opted(
      {},
      { ...GROQ, 'platform.io/agent-port': '4003' },
    ),
  },
  'annotation platform.io/otlp: "on" is not one of "true", "false"': {
    'has an invalid value in platform.io/otlp': own({}, { 'platform.io/otlp': 'on' }),
  },
  'are reserved for the sidecar: no other container may mount them': {
    'mounts the identity into a container with an unused reserved name': nextTo({
      containers: [agent, IDENTITY_READER],
    }),
    'mounts the identity into a sidecar with an unused reserved name': opted({
      initContainers: [sidecar(), { ...IDENTITY_READER, restartPolicy: 'Always' }],
    }),
    'mounts an injected volume': nextTo({
      containers: [{ ...agent, volumeMounts: [{ name: 'platform-policy', mountPath: '/rules' }] }],
      volumes: [{ name: 'platform-policy', emptyDir: {} }],
    }),
    'mounts the state of the sidecar': nextTo({
      containers: [{ ...agent, volumeMounts: [{ name: 'platform-state', mountPath: '/state' }] }],
    }),
  },
  'annotation platform.io/agent-port is not an integer from 1 to 65535': {
    'has a value with several lines': opted({}, { 'platform.io/agent-port': '1\n2' }),
  },
  'annotation platform.io/agent-name is not a DNS label': {
    'has a value of 200 KB': opted({}, { 'platform.io/agent-name': 'a'.repeat(200_000) }),
  },
  [`${VOLUMES_DIFFER}platform-manifest`]: {
    'has another manifest': withVolume('platform-manifest', {
      configMap: { name: 'other', defaultMode: 0o644 },
    }),
    'has another key of the manifest ConfigMap': withVolume('platform-manifest', {
      configMap: { name: 'x-manifest', items: [{ key: 'other', path: 'agent.yaml' }] },
    }),
    'has no manifest in its volume': withVolume('platform-manifest', { emptyDir: {} }),
  },
  [`${VOLUMES_DIFFER}platform-identity`]: {
    'has a token for another audience': withVolume('platform-identity', tokenOf('other')),
    'reads the stop from another annotation': withVolume(
      'platform-identity',
      stopOf("metadata.annotations['mine']"),
    ),
    'reads the stop from another file': withVolume('platform-identity', stopOf(STOP_FIELD, 'other')),
  },
  [`${VOLUMES_DIFFER}platform-state`]: {
    'keeps its state in a ConfigMap': withVolume('platform-state', { configMap: { name: 'mine' } }),
    'keeps its state in memory without a limit': withVolume('platform-state', {
      emptyDir: { medium: 'Memory' },
    }),
  },
  [`${VOLUMES_DIFFER}mine`]: {
    "has a token for the sidecar's audience in another volume": withVolume('mine', tokenOf('platform.io')),
  },
  'with shareProcessNamespace, other containers could stop the sidecar': {
    'shares the process namespace with the sidecar': nextTo({ shareProcessNamespace: true }),
  },
  'with hostPID, other containers could stop the sidecar and read its files': {
    'is in the process namespace of the node': nextTo({ hostPID: true }),
  },
  [`hostAliases and hostnameOverride must not contain a name of the control plane (${CONTROL_PLANE})`]: {
    ...Object.fromEntries(
      ['', '.platform-system', '.platform-system.svc', '.platform-system.svc.cluster.local', '.x'].map(
        (rest) => [`has hostAliases for ${CONTROL_PLANE}${rest}`, nextTo(alias(`${CONTROL_PLANE}${rest}`))],
      ),
    ),
    'has the hostname of the control plane': nextTo({
      hostnameOverride: `${CONTROL_PLANE}.platform-system.svc`,
    }),
  },
};

/** A pod author uses the genuine sidecar and changes one thing. */
const CHANGES: ByMessage<Spec> = {
  [DIFFERS]: {
    'lacks a variable of the injector': withEnv({ POLICY_PROXY_MODE: undefined }),
    'forwards to another host': withEnv({ UPSTREAM_URL: 'http://10.0.0.1:80' }),
    'evaluates no policy': withEnv({ POLICY_ENGINE: 'none' }),
    'has an invalid mode': withEnv({ POLICY_PROXY_MODE: 'never' }),
    'allows every client on its control port': withEnv({ CONTROL_ACCESS: 'all' }),
    'has a variable twice': withMore({ name: 'UPSTREAM_URL', value: 'http://10.0.0.1:80' }),
    'has a variable from a reference': {
      env: [
        ...envOf({ POLICY_PROXY_MODE: undefined }),
        { name: 'POLICY_PROXY_MODE', valueFrom: { configMapKeyRef: { name: 'x', key: 'y' } } },
      ],
    },
    'has variables from envFrom': { envFrom: [{ configMapRef: { name: 'x' } }] },
    'runs other code first': withEnv({ NODE_OPTIONS: '--import=/manifest/evil.mjs' }),
    'loads compiled code from another directory': withEnv({ NODE_COMPILE_CACHE: '/manifest' }),
    'preloads a library': withEnv({ LD_PRELOAD: '/manifest/evil.so' }),
    'accepts any certificate': withEnv({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }),
    ...Object.fromEntries(
      [
        ['EGRESS_LANES', 'bedrock=https://bedrock.example'],
        ['EGRESS_LANES', 'openai=https://user:key@llm.example'],
        ['EGRESS_LANES', 'openai=https://llm.example?key=secret'],
        ['EGRESS_MODE', 'never'],
        ['EGRESS_CONNECT', 'on'],
        ['EGRESS_PORT', '4004'],
        ['EGRESS_CA_FILE', '/manifest/ca.pem'],
        ['EGRESS_NOT_REWRITTEN', 'openai'],
        ['CENSUS', 'off'],
        ['MANIFEST_SHA256', PINNED.toUpperCase()],
      ].map(([name = '', value = '']) => [`has ${name}=${value}`, withEnv({ [name]: value })]),
    ),
    'starts in another directory': { workingDir: '/manifest' },
    'has a postStart hook that runs a command': { lifecycle: { postStart: { exec: { command: ['true'] } } } },
    'has a preStop hook that runs a command': { lifecycle: { preStop: { exec: { command: ['true'] } } } },
    'has a probe that runs a command': { startupProbe: { exec: { command: ['true'] } } },
    ...Object.fromEntries(
      [
        '/app',
        '/app/dist/sidecar',
        '/',
        '/nodejs/bin',
        '/usr/lib/x',
        '/etc/ld.so.preload',
        '/tmp/../app',
        '//app',
      ].map((path) => [`has ${path} covered`, mount(path)]),
    ),
    'makes the sidecar its own upstream': withEnv({ UPSTREAM_URL: 'http://127.0.0.1:4001' }),
    'makes the sidecar its own upstream by name': withEnv({ UPSTREAM_URL: 'http://localhost:4001' }),
    'has another agent name': withEnv({ AGENT_NAME: 'pay' }),
    'has hardly any heap': withHeap(10),
    'has more heap than memory': withHeap(4096),
  },
  ...Object.fromEntries(
    [
      ...['PROXY_PORT', 'CONTROL_PLANE_PORT', 'BIND_ADDRESS', 'PLATFORM_KEY', 'AUDIT_QUERY'],
      ...['ANTHROPIC_API_KEY', 'LLM_ANALYSIS_PROVIDER', 'ANTHROPIC_BASE_URL', 'PLATFORM_LLM_MODEL'],
      ...['OTLP_FORWARD_URL'],
      ...['OPENSSL_CONF', 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'ANYTHING', 'AWS_REGION2'],
    ].map((name) => [
      `environment variables platform-sidecar/${name} (for variables of other`,
      { [`sets ${name}`]: withMore({ name, value: 'x' }) },
    ]),
  ),
  ...Object.fromEntries(
    REQUIRED.map((name) => [
      `environment variables platform-sidecar/${name} (for variables of other`,
      { [`omits ${name}`]: withEnv({ [name]: undefined }) },
    ]),
  ),
  'platform-sidecar/PLATFORM_URL': {
    'sends heartbeats to another host': withEnv({
      PLATFORM_URL: 'https://agent-compliance-control-plane.platform-system.svc.evil.example:8080',
    }),
  },
  MANIFEST_PATH: { 'reads another manifest': withEnv({ MANIFEST_PATH: '/manifest/other.yaml' }) },
  NODE_OPTIONS: { 'has a heap size that overflows': withHeap('99999999999999999999') },
  ...Object.fromEntries(
    [
      ...['/etc/ssl', '/etc', '/proc', '/dev/shm', '/usr/share/zoneinfo', '/manifest/x'],
      '/var/run/secrets/eks.amazonaws.com',
    ].map((path) => [`mounts platform-sidecar ${path} (for`, { [`covers ${path}`]: mount(path) }]),
  ),
  'mounts platform-sidecar /manifest (for': { 'mounts no manifest': without('platform-manifest') },
  'mounts platform-sidecar /var/run/secrets/platform.io (for': {
    'mounts no identity': without('platform-identity'),
  },
  'mounts platform-sidecar /run/platform-state (for': {
    'cannot write its state': {
      volumeMounts: GENUINE.volumeMounts?.map((each) =>
        each.name === 'platform-state' ? { ...each, readOnly: true } : each,
      ),
    },
  },
  'environment variables platform-sidecar/DIRECTIVES_STORE_PATH': {
    'keeps its state elsewhere': withEnv({ DIRECTIVES_STORE_PATH: '/tmp/directives.json' }),
  },
  'environment variables platform-sidecar/STOP_ANNOTATION_FILE': {
    'reads the stop from another file': withEnv({ STOP_ANNOTATION_FILE: '/manifest/agent.yaml' }),
  },
  'mounts platform-sidecar /var/run/secrets/kubernetes.io/serviceaccount': {
    'mounts the API token': without('platform-noapi'),
  },
  'platform-sidecar.resources': {
    'requests memory of 32Mi': withResources('requests', { memory: '32Mi' }),
    'has no memory limit': { resources: { requests: GENUINE.resources?.requests } },
    'has a CPU limit, but no memory limit': {
      resources: { requests: GENUINE.resources?.requests, limits: { cpu: '1' } },
    },
    'requests no CPU': { resources: { requests: { memory: '96Mi' }, limits: { memory: '192Mi' } } },
    'requests zero CPU': withResources('requests', { cpu: '0' }),
    'requests huge pages': withResources('limits', { 'hugepages-2Mi': '2Mi' }),
  },
  'platform-sidecar.ports': {
    'has a host port': { ports: [{ containerPort: 4000, hostPort: 4000 }, { containerPort: 4001 }] },
    'has another port': { ports: [...(GENUINE.ports ?? []), { containerPort: 9000 }] },
    'has no port for clients': { ports: [{ containerPort: 4001 }] },
  },
  'platform-sidecar.securityContext': {
    'is privileged': security({ privileged: true, allowPrivilegeEscalation: true }),
    'runs as root': security({ runAsUser: 0, runAsNonRoot: false }),
    'has a capability': security({ capabilities: { add: ['SYS_PTRACE'], drop: ['ALL'] } }),
    'has no security context': { securityContext: undefined },
  },
  'platform-sidecar.readinessProbe': { 'has no readiness probe': { readinessProbe: undefined } },
  'platform-sidecar.startupProbe': {
    'lets the agent start first': { startupProbe: { httpGet: { path: '/', port: 8000 } } },
  },
  'platform-sidecar.livenessProbe': {
    'has a liveness probe': { livenessProbe: { httpGet: { path: '/', port: 1 } } },
  },
  'platform-sidecar.lifecycle': {
    'has a preStop hook with another host': {
      lifecycle: { preStop: { httpGet: { path: '/', port: 80, host: '10.0.0.1' } } },
    },
    'has no preStop hook': { lifecycle: undefined },
  },
  'platform-sidecar.stdin': { 'reads standard input': { stdin: true } },
  'platform-sidecar.imagePullPolicy': { 'is never pulled': { imagePullPolicy: 'Never' } },
};

(whyNoControlPlane() ? describe.skip : describe)('the guard', () => {
  let cluster: ApiCluster;

  /** The message of the rejection of a pod (dry run); empty: admitted. */
  async function create(body: object, namespace = 'team'): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    return rejectionIn(await cluster.client.send({ method: 'POST', path, query: { dryRun: 'All' }, body }));
  }

  /** Creates and stores a pod of `team`; `name` replaces its name. */
  async function store(body: { metadata: object }, name: string): Promise<void> {
    const query = { fieldValidation: 'Strict' };
    const named = { ...body, metadata: { ...body.metadata, name } };
    expectOk(await cluster.client.send({ method: 'POST', path: PODS, query, body: named }));
  }

  /** The message of the rejection of a change of a pod of `team`. */
  const change = async (name: string, patch: object, subresource = '') =>
    rejectionIn(await cluster.client.send(patchOf(join(PODS, name, subresource), patch, 'strategic-merge')));

  /** Applies the guard and waits about a second until it is active. `isActive` excludes other rejections of the probe. */
  async function guard(
    action: string,
    isActive: (rejection: string) => boolean,
    probe: object = opted(),
    ...values: string[]
  ): Promise<void> {
    const set = [`guard.action=${action}`, 'sidecar.allowedImages={mirror/sidecar:7}', ...values];
    const args = ['--show-only', 'templates/guard.yaml', ...set.flatMap((value) => ['--set', value])];
    await cluster.apply(objectsOf(await template(...args)));
    await until(async () => isActive(await create(probe)), 'the guard');
  }

  beforeAll(async () => {
    cluster = await ApiCluster.start();
    await cluster.namespaces('team', 'platform-system', 'kube-system');
    await store({ ...own(), metadata: { ...own().metadata, labels: labels(150) } }, 'old');
    await guard('deny', (rejection) => rejection.includes(UNAVAILABLE));
  });
  afterAll(() => cluster?.close());

  test.each(Object.entries(ADMITTED))('admits a pod that %s', async (_what, object) => {
    expect(await create(object)).toBe('');
  });

  test.each(rowsOf(REJECTED))('rejects a pod that opts in and %s', async (_what, object, message) => {
    expect(await create(object)).toContain(message);
  });

  test.each(rowsOf(CHANGES))('rejects a modified sidecar that %s', async (_what, change, message) => {
    const rejection = await create(own(change));
    expect(rejection).toContain(message);
    expect(rejection).toContain(DIFFERS);
  });

  test('expects no CPU limit', () => {
    expect(GENUINE.resources?.limits).toEqual({ memory: '192Mi' });
  });

  describe('the number of labels', () => {
    const TOO_MANY = 'a pod of an agent may have at most 100 labels';
    const withLabels = (count: number) => ({
      ...own(),
      metadata: { ...own().metadata, labels: labels(count) },
    });

    test('of an agent is at most 100', async () => {
      expect(await create(withLabels(100))).toBe('');
      expect(await create(withLabels(101))).toContain(TOO_MANY);
    });

    test('of other pods has no limit, but these pods cannot opt in', async () => {
      const { 'platform.io/agent': _, ...others } = labels(300);
      await store({ ...pod({}), metadata: { labels: others } }, 'many');
      expect(await change('many', { metadata: { labels: { more: 'x' } } })).toBe('');
      const optIn = { metadata: { annotations: { 'platform.io/inject': 'true' } } };
      expect(await change('many', optIn)).toContain(TOO_MANY);
    });

    test('of other pods never blocks their updates', async () => {
      const { 'platform.io/agent': _, ...others } = labels(300);
      const spec = {
        initContainers: [{ name: 'platform-sidecar', image: 'busybox', restartPolicy: 'Always' }],
      };
      await store({ ...pod({}, spec), metadata: { labels: others } }, 'theirs');
      const update = { status: { reason: 'Busy' } };
      expect(await change('theirs', update, 'status')).toBe('');
    });

    test('does not grow beyond 100 later', async () => {
      await store(withLabels(100), 'full');
      for (const subresource of ['', 'status'])
        expect(await change('full', { metadata: { labels: { more: 'x' } } }, subresource)).toContain(
          TOO_MANY,
        );
    });

    test('of an older pod may only become smaller', async () => {
      expect(await change('old', { metadata: { labels: { more: 'x' } } })).toContain(TOO_MANY);
      expect(await change('old', { metadata: { finalizers: ['a/b'] } })).toBe('');
      expect(await change('old', { metadata: { labels: { 'l-1': null } } })).toBe('');
      expect(await change('old', { metadata: { finalizers: null } })).toBe('');
    });
  });

  test.each(readdirSync(PREVIOUS))('admits the additions of the injector in %s', async (file) => {
    const { containers, volumes } = JSON.parse(readFileSync(join(PREVIOUS, file), 'utf8')) as Injection;
    const of = containers.find(({ name }) => name === 'platform-sidecar');
    const inUse: Record<string, string | undefined> = { ...ENV, AGENT_ENV_NAMES: 'A,B,*' };
    // The sample has an engine; without an engine its variables are not set.
    const variables = of?.env?.flatMap(({ name }) =>
      name === 'POLICY_URL' ? [] : [{ name, value: inUse[name] }],
    );
    const own = volumes
      .filter(({ name }) => name !== 'platform-policy')
      .map((volume) => ('configMap' in volume ? VOLUMES.find(({ name }) => name === volume.name) : volume));
    const old = { ...of, image: 'registry.example/agent-compliance/sidecar:0.1.0', env: variables };
    expect(await create(opted({ initContainers: [old], volumes: own }))).toBe('');
  });

  /** Values that may be invalid. */
  const BAD = ['', 'Not_A!Value', '0', 'x y'];
  test.each(Object.entries(ANNOTATIONS))('has the same message for %s as the injector', async (key, row) => {
    const bad = BAD.filter((value) => !row.read(value).ok);
    expect(bad.length).toBeGreaterThan(0);
    for (const value of bad) {
      expect(await create(opted({}, { [row.name]: value }))).toContain(
        describeAnnotationProblem({ name: row.name, value, allowed: row.allowed }),
      );
    }
    // A pod with inject "false" needs no sidecar.
    const { good } = ANNOTATION_VALUES[key as keyof typeof ANNOTATIONS];
    for (const value of good.filter((each) => each !== 'false'))
      expect(await create(opted({}, { [row.name]: value }))).toContain(UNAVAILABLE);
  });

  const imageOf = (image: string, name = 'platform-sidecar') => ({
    spec: { initContainers: [{ name, image }] },
  });

  test('admits other updates and ephemeral containers', async () => {
    await store({ ...pod({}, { initContainers: [{ name: 'x', image: 'a' }] }), metadata: {} }, 'later');
    // A pod without a sidecar can still be updated after it gets the annotation and an invalid value, for example to delete it.
    const annotations = { 'platform.io/inject': 'true', 'platform.io/agent-port': 'x' };
    expect(await change('later', { metadata: { annotations, finalizers: ['a/b'] } })).toBe('');
    expect(await change('later', imageOf('b', 'x'))).toBe('');
    expect(await change('later', { metadata: { finalizers: null } })).toBe('');
    const debug = { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] } };
    expect(await change('later', debug, 'ephemeralcontainers')).toBe('');
  });

  test('rejects another image for a running sidecar', async () => {
    await store(own(), 'live');
    expect(await change('live', imageOf('busybox'))).toContain(NOT_INJECTED);
    // Also after the pod has opted out, and with the annotation of a mirror pod.
    const out = { metadata: { annotations: { 'platform.io/inject': 'false' } } };
    expect(await change('live', out)).toBe('');
    expect(await change('live', imageOf('busybox'))).toContain(NOT_INJECTED);
    const mirror = { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } };
    expect(await change('live', { ...mirror, ...imageOf('busybox') })).not.toBe('');
    expect(await change('live', imageOf('registry.example/agent-compliance/sidecar:0.1.1'))).toBe('');
    expect(await change('live', { metadata: { labels: { a: 'b' } } })).toBe('');
  });

  describe('the label of an agent', () => {
    const labelled = (object: { metadata: object }, agentName = 'x') => ({
      ...object,
      metadata: { ...object.metadata, labels: { 'platform.io/agent': agentName } },
    });
    const ONLY_INJECTOR = 'only the injector may set the label platform.io/agent: remove the label';

    test.each<[string, object, string]>([
      ['alone', labelled(pod(undefined)), ONLY_INJECTOR],
      ['and opts out', labelled(pod({ 'platform.io/inject': 'false' })), ONLY_INJECTOR],
      ['that is empty', labelled(pod(undefined), ''), ONLY_INJECTOR],
      ['and opts in', labelled(opted()), UNAVAILABLE],
      [
        'and a sidecar of another image, and does not opt in',
        labelled(pod(undefined, { initContainers: [sidecar({ image: 'evil' })], volumes: VOLUMES })),
        NOT_INJECTED,
      ],
      ['of another agent than its sidecar', labelled(own(), 'pay'), DIFFERS],
    ])('rejects a pod that has it %s', async (_what, object, message) => {
      expect(await create(object)).toContain(message);
    });

    test('admits an injected pod without the annotations', async () => {
      const object = labelled(pod(undefined, { initContainers: [sidecar()], volumes: VOLUMES }));
      expect(await create(object)).toBe('');
    });

    test('must not be added, changed or removed later', async () => {
      const later = 'must not be added or changed later';
      await store(pod(undefined), 'bare');
      const label = (value: string | null) => ({ metadata: { labels: { 'platform.io/agent': value } } });
      expect(await change('bare', label('pay'))).toContain(later);
      await store(own(), 'labelled');
      expect(await change('labelled', label('pay'))).toContain(later);
      expect(await change('labelled', label(null))).toContain('or removed while the pod has the sidecar');
      for (const name of ['bare', 'labelled'])
        expect(await change(name, label('pay'), 'status')).toContain(later);
      // The API server rejects the annotation of a mirror pod, which is not checked at creation.
      const mirror = { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } };
      expect(await change('bare', mirror, 'status')).not.toBe('');
      expect(await change('labelled', { metadata: { labels: { other: 'x' } } })).toBe('');
    });

    test('keeps the label that network policies select', async () => {
      const label = (value: string | null) => ({ metadata: { labels: { 'platform.io/agent-name': value } } });
      await store(own(), 'selected');
      expect(await change('selected', label('x'))).toBe('');
      const selected = { 'platform.io/agent': 'x', ...label('x').metadata.labels };
      await store({ ...own(), metadata: { ...own().metadata, labels: selected } }, 'fenced');
      for (const value of ['y', null])
        expect(await change('fenced', label(value))).toContain(
          'it must not be changed or removed while the pod has the sidecar',
        );
      await store({ ...pod(undefined), ...label('x') }, 'named');
      expect(await change('named', label(null))).toBe('');
    });

    test('keeps the CA that the injector set', async () => {
      const ca = (value: string | null) => ({ metadata: { annotations: { 'platform.io/ca': value } } });
      await store(own({}, { 'platform.io/ca': 'of the product' }), 'trusting');
      for (const subresource of ['', 'status'])
        for (const value of ["of the agent's author", null])
          expect(await change('trusting', ca(value), subresource)).toContain(
            'the injector sets the annotation platform.io/ca when a pod is created',
          );
      const other = { status: { reason: 'Busy' } };
      expect(await change('trusting', other, 'status')).toBe('');
      await store(pod(undefined), 'unlabelled');
      expect(await change('unlabelled', ca('of another author'))).toBe('');
    });
  });

  test('protects the identity from ephemeral containers, and the resources of the sidecar', async () => {
    await store(own(), 'debugged');
    const rejectionOf = async (subresource: string, spec: Spec): Promise<string> => {
      const patch = patchOf(`${PODS}/debugged/${subresource}`, { spec }, 'strategic-merge');
      return rejectionIn(await cluster.client.send({ ...patch, query: { dryRun: 'All' } }));
    };
    const debug = (more: Spec) =>
      rejectionOf('ephemeralcontainers', {
        ephemeralContainers: [{ name: 'debug', image: 'busybox', ...more }],
      });
    const mounts = (name: string) => debug({ volumeMounts: [{ name, mountPath: '/x' }] });
    const resized = (requests: Spec, limits?: Spec) =>
      rejectionOf('resize', {
        initContainers: [{ name: 'platform-sidecar', resources: { requests, limits } }],
      });
    // This is a separate policy, which may become active later than the first policy.
    await until(async () => (await resized({ memory: '32Mi' })) !== '', 'the guard of running pods');
    for (const { name } of VOLUMES)
      expect(await mounts(name)).toContain(
        'pod debugged: an ephemeral container must not mount the volumes of the sidecar',
      );
    expect(await debug({ targetContainerName: 'platform-sidecar' })).toContain(
      'pod debugged: an ephemeral container must not target an injected container',
    );
    expect(await resized({ memory: '32Mi' })).toContain('at least 1m of CPU and 96Mi of memory');
    expect(await mounts('mine')).toBe('');
    expect(await debug({ targetContainerName: 'agent' })).toBe('');
    expect(await resized({ memory: '100Mi' })).toBe('');
    expect(await resized({ memory: '96Mi' }, { memory: '128Mi' })).toContain(
      'the memory limit of the sidecar must be at least twice the heap size that it was started with',
    );
    expect(await resized({ memory: '96Mi' }, { memory: '192Mi' })).toBe('');
  });

  describe('access to a running pod', () => {
    const path = `${PODS}/reached`;
    const post = async (
      url: string,
      body?: object,
      query: Record<string, string> = {},
      client = cluster.client,
    ) => rejectionIn(await client.send({ method: 'POST', path: url, query, ...(body && { body }) }));
    const exec = (container: string, subresource = 'exec', client?: KubeClient) =>
      post(`${path}/${subresource}`, undefined, { container, command: 'true', stdout: 'true' }, client);
    const NOT_EXEC = 'exec and attach are not allowed in the container platform-sidecar';
    const target = { apiVersion: 'v1', kind: 'Node', name: 'n' };

    beforeAll(async () => {
      await store(own(), 'reached');
      // The test's user is in system:masters.
      await guard('deny', (rejection) => rejection === '', own(), 'guard.alsoAllowed.execGroups={debuggers}');
      await until(async () => (await exec('platform-sidecar')).includes(NOT_EXEC), 'the guard of exec');
    });

    test.each(['platform-sidecar', 'platform-opa', 'platform-policy'])(
      'rejects exec and attach in the container %s',
      async (container) => {
        for (const subresource of ['exec', 'attach'])
          expect(await exec(container, subresource)).toContain(
            `pod reached: exec and attach are not allowed in the container ${container}, because they could read its identity token: use kubectl logs`,
          );
      },
    );

    test('allows exec and attach in other containers, port-forward and the proxy', async () => {
      // No kubelet runs here, so the API server fails after the admission.
      const unscheduled = 'pod reached does not have a host assigned';
      for (const subresource of ['exec', 'attach'])
        for (const container of ['', 'agent'])
          expect(await exec(container, subresource)).toContain(unscheduled);
      expect(await post(`${path}/portforward`, undefined, { ports: '4001' })).toContain(unscheduled);
      expect(await post(`${path}:4001/proxy`)).not.toContain('denied');
    });

    test('allows exec in the sidecar to a group of the chart value', async () => {
      const debugger_ = cluster.as('bob', 'debuggers', 'system:masters');
      expect(await exec('platform-sidecar', 'exec', debugger_)).toContain('does not have a host');
      const other = cluster.as('bob', 'system:masters');
      expect(await exec('platform-sidecar', 'exec', other)).toContain(NOT_EXEC);
    });

    test.each<[string, object]>([
      ['an annotation of the product', { annotations: { 'platform.io/ca': 'of another author' } }],
      ['a label of the product', { labels: { 'platform.io/agent': 'pay' } }],
      ['too many labels', { labels: Object.fromEntries(Object.entries(labels(102)).slice(1)) }],
      ['the annotation of a mirror pod', { annotations: { 'kubernetes.io/config.mirror': 'x' } }],
    ])('rejects a binding to a node with %s', async (_what, metadata) => {
      const binding = { metadata: { name: 'reached', ...metadata }, target };
      for (const url of [`${path}/binding`, '/api/v1/namespaces/team/bindings'])
        expect(await post(url, binding)).toContain(
          'a binding must not have labels or annotations of platform.io',
        );
    });

    test('allows other bindings', async () => {
      await store(own(), 'bound');
      const metadata = { name: 'bound', annotations: { 'scheduler.example/zone': 'a' } };
      expect(await post(`${PODS}/bound/binding`, { metadata, target })).toBe('');
    });

    // The API server drops metadata here. Should a version write it, the guard has to check it.
    test.each<[string, object]>([
      ['ephemeralcontainers', { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox' }] } }],
      [
        'resize',
        { spec: { initContainers: [{ name: 'platform-sidecar', resources: { requests: { cpu: '30m' } } }] } },
      ],
    ])('the subresource %s changes no metadata', async (subresource, change) => {
      const metadata = {
        labels: { 'platform.io/agent': 'pay', ...labels(200) },
        annotations: { 'platform.io/ca': 'of another author', mine: 'x' },
      };
      const patched = await cluster.patch<{ metadata: { labels: object } }>(
        `${path}/${subresource}`,
        { ...change, metadata },
        'strategic-merge',
      );
      expect(patched.metadata.labels).toEqual({ 'platform.io/agent': 'x' });
      expect(patched.metadata).toMatchObject({ annotations: { 'platform.io/inject': 'true' } });
    });
  });

  describe('without sidecars of manually written manifests', () => {
    const MANUAL = 'a sidecar in a manually written manifest is not allowed in this cluster';
    const manual = {
      ...pod(undefined, { initContainers: [sidecar()], volumes: VOLUMES }),
      metadata: { name: 'x', labels: { 'platform.io/agent': 'x' } },
    };

    test('rejects them, and admits injected pods', async () => {
      expect(await create(manual)).toBe('');
      await guard(
        'deny',
        (rejection) => rejection.includes(MANUAL),
        manual,
        'guard.allowManualSidecars=false',
      );
      expect(await create(own())).toBe('');
    });
  });

  describe('a token of a ServiceAccount', () => {
    const ONLY_KUBELET = 'only a kubelet may request a token for the audience platform.io';
    let users: Record<'an administrator' | 'an editor' | 'a kubelet' | 'a tool', KubeClient>;
    const token = async (user: keyof typeof users, audiences: string[], namespace = 'team') => {
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`;
      return rejectionIn(await users[user].send({ method: 'POST', path, body: { spec: { audiences } } }));
    };

    beforeAll(async () => {
      users = {
        'an administrator': cluster.client,
        'an editor': cluster.as('eve', 'system:authenticated'),
        'a kubelet': cluster.as('system:node:n', 'system:nodes'),
        // In the group of the nodes, but not a node.
        'a tool': cluster.as('tool', 'system:nodes'),
      };
      const apiGroup = 'rbac.authorization.k8s.io';
      const rbac = { apiVersion: `${apiGroup}/v1` };
      const roleRef = (name: string) => ({ apiGroup, kind: 'ClusterRole', name });
      const subject = (kind: string, name: string) => ({ apiGroup, kind, name });
      const nodes = [
        subject('Group', 'system:nodes'),
        subject('User', 'system:node:n'),
        subject('User', 'tool'),
      ];
      await cluster.apply([
        {
          ...{ ...rbac, kind: 'RoleBinding', metadata: { name: 'eve', namespace: 'team' } },
          // The rules of `edit`; the controller that aggregates them into `edit` does not run here.
          ...{ roleRef: roleRef('system:aggregate-to-edit'), subjects: [subject('User', 'eve')] },
        },
        // The node authorizer allows a kubelet to do this only for pods of its node, and no pod is on a node here.
        {
          ...{ ...rbac, kind: 'ClusterRole', metadata: { name: 'tokens' } },
          rules: [{ apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] }],
        },
        {
          ...{ ...rbac, kind: 'ClusterRoleBinding', metadata: { name: 'tokens' } },
          ...{ roleRef: roleRef('tokens'), subjects: nodes },
        },
      ]);
      const isActive = async () => (await token('an editor', ['platform.io'])).includes(ONLY_KUBELET);
      await until(isActive, 'the guard of tokens');
    });

    test.each<[keyof typeof users, string[], string, string]>([
      ['an editor', ['platform.io'], 'team', ONLY_KUBELET],
      ['an editor', ['vault', 'platform.io'], 'team', ONLY_KUBELET],
      ['an administrator', ['platform.io'], 'team', ONLY_KUBELET],
      ['an administrator', ['platform.io'], 'kube-system', ONLY_KUBELET],
      ['a tool', ['platform.io'], 'team', ONLY_KUBELET],
      ['a kubelet', ['platform.io'], 'team', ''],
      ['an editor', ['vault'], 'team', ''],
      ['an editor', [], 'team', ''],
    ])('for %s with the audiences %j in %s', async (user, audiences, namespace, message) => {
      const rejection = await token(user, audiences, namespace);
      expect([rejection.includes(message), rejection === '']).toEqual([true, message === '']);
    });
  });

  test.each(['kube-system', 'platform-system'])('ignores pods in %s', async (namespace) => {
    expect(await create(opted(), namespace)).toBe('');
  });

  describe('with an engine next to the sidecar and a minimum mode', () => {
    const ENGINE_NOT_INJECTED = 'its platform-opa and platform-policy were not added by the injector';
    const ENGINE_ENV = {
      POLICY_ENGINE: 'opa',
      POLICY_URL: 'http://127.0.0.1:8181',
      POLICY_PROXY_MODE: 'enforce',
    };
    const POLICY_SOCKET = '/run/platform-engine/opa.sock';
    const settings = { ...SETTINGS, engine: { image: 'registry:5000/opa:1', resources: SETTINGS } };
    const injected = buildEngine(PLAN, settings);
    const [rules, opa] = injected as [Container, Container];
    const once = ({ restartPolicy: _r, startupProbe: _s, livenessProbe: _l, ...rest }: Container) => rest;
    const volumes = buildEngineVolumes(settings);
    const { volumeMounts } = buildSidecar(PLAN, agent, [], settings);
    const withSocket = { env: envOf({ ...ENGINE_ENV, POLICY_SOCKET }), volumeMounts };
    const whole = (containers: object[], others: Spec = {}) =>
      opted({ initContainers: [...containers, sidecar(withSocket)], volumes, ...others });
    /** The engine as version 0.1.0 injected it, without a socket. */
    const old = {
      ...opa,
      args: (opa['args'] as string[]).filter((arg) => !arg.startsWith('--addr=unix:')),
      volumeMounts: opa.volumeMounts?.filter(({ name }) => name !== 'platform-engine'),
    };
    const withoutSocket = sidecar({ env: envOf(ENGINE_ENV) });

    beforeAll(async () => {
      const values = ['policy.engine=opa', 'policy.opa.image=registry:5000/opa:1', 'policy.mode=enforce'];
      const old = own();
      const isActive = (rejection: string) => rejection.includes(ENGINE_NOT_INJECTED);
      await guard(
        'deny',
        isActive,
        old,
        ...values,
        'policy.minimumMode=enforce',
        'policy.minimumCompliantGrade=C',
        'policy.minimumCompliantEvidence=40',
      );
    });

    const changed = (change: Spec) => whole([rules, { ...opa, ...change }]);
    const rendered = (change: Spec) => whole([{ ...rules, ...change }, opa]);
    const engineEnv = (change: Record<string, string>, more: Spec = {}) =>
      opted({
        initContainers: [rules, opa, sidecar({ ...more, env: envOf({ ...ENGINE_ENV, ...change }) })],
        volumes,
      });

    test.each<[string, object]>([
      ['has the injected engine', whole([rules, opa])],
      [
        'has the engine and the sidecar of an earlier version',
        opted({
          initContainers: [rules, old, withoutSocket],
          volumes: volumes.filter(({ name }) => name !== 'platform-engine'),
        }),
      ],
      ['has another version of the engine', changed({ image: 'registry:5000/opa:2' })],
      ['has the engine by its digest', changed({ image: `registry:5000/opa@sha256:${'a'.repeat(64)}` })],
    ])('admits a pod that %s', async (_what, object) => {
      expect(await create(object)).toBe('');
    });

    const ENGINE_REJECTED: ByMessage<object> = {
      [ENGINE_NOT_INJECTED]: {
        'has no engine': whole([]),
        'has an engine of another image': changed({ image: 'registry:5000/opa-fake:1' }),
        'has an engine with other rules': changed({ args: ['run', '--server', '/mine'] }),
        'has an engine that does not serve the socket': whole([rules, old]),
        'has an engine without the directory of the socket': changed({ volumeMounts: old.volumeMounts }),
        'has a sidecar without the directory of the socket': opted({
          initContainers: [rules, opa, sidecar({ env: withSocket.env })],
          volumes,
        }),
        'has an engine with a command': changed({ command: ['true'] }),
        'has an engine that runs once': whole([rules, once(opa)]),
        'renders no rules': whole([opa]),
        'renders rules with another image': rendered({ image: 'busybox' }),
        'renders rules with another command': rendered({ args: ['true'] }),
      },
      [DIFFERS]: {
        'queries another socket': engineEnv({ POLICY_SOCKET: '/mine.sock' }, withSocket),
        'configures the engine with variables': changed({ env: [{ name: 'OPA_RUN_SET', value: 'x' }] }),
        'queries another engine': engineEnv({ POLICY_URL: 'http://10.0.0.1' }),
        'has a mode below the minimum': engineEnv({ POLICY_PROXY_MODE: 'track' }),
        'has a mode of lanes below the minimum': engineEnv({ EGRESS_MODE: 'track' }),
      },
      'are reserved for the sidecar: no other container may mount them': {
        'mounts the directory of the socket into another container': whole([rules, opa], {
          containers: [{ ...agent, volumeMounts: [{ name: 'platform-engine', mountPath: '/x' }] }],
        }),
      },
      [`${VOLUMES_DIFFER}platform-policy`]: {
        'provides its own rules': whole([rules, opa], {
          volumes: volumes.map((volume) =>
            volume.name === 'platform-policy' ? { name: volume.name, configMap: { name: 'mine' } } : volume,
          ),
        }),
      },
      'annotation platform.io/compliant-grade: "D" is not one of "A", "B", "C"': {
        'has a grade below the minimum': opted({}, { [GRADE]: 'D' }),
      },
      'annotation platform.io/compliant-evidence: "39" is not an integer from 40 to 100': {
        'has evidence below the minimum': opted({}, { [EVIDENCE]: '39' }),
      },
      'ports 4000, 4001, 8181 and 8282 are reserved for the sidecar': Object.fromEntries(
        [8181, 8282].flatMap((port) => [
          [`listens on ${port}`, whole([rules, opa], listening(port))],
          [`has agent port ${port} in its annotation`, opted({}, { 'platform.io/agent-port': String(port) })],
        ]),
      ),
    };
    test.each(rowsOf(ENGINE_REJECTED))(
      'rejects a pod that opts in and %s',
      async (_what, object, message) => {
        expect(await create(object)).toContain(message);
      },
    );

    test('rejects compliance thresholds of an observation below the minimum', async () => {
      await cluster.define('agentobservations');
      const observation = (grade: string): AnyObject => ({
        ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation' },
        metadata: { name: 'new', namespace: 'team', ...{ annotations: { [GRADE]: grade } } },
        ...{ spec: { source: 'remote' } },
      });
      const dryRun = async (grade: string) =>
        rejectionIn(await cluster.client.send(creationOf(observation(grade))));
      // This is a separate policy for a new resource, so it may become active later.
      await until(async () => (await dryRun('D')) !== '', 'the guard of observations');
      expect(await dryRun('E')).toContain(
        'AgentObservation new: annotation platform.io/compliant-grade: "E" is not one of "A", "B", "C"',
      );
      expect(await dryRun('C')).toBe('');
      await cluster.apply([observation('A')]);
      const set = async (name: string, value: string | null) => {
        const path = '/apis/platform.io/v1/namespaces/team/agentobservations/new';
        const patch = patchOf(path, { metadata: { annotations: { [name]: value } } });
        return rejectionIn(await cluster.client.send(patch));
      };
      expect(await set(GRADE, 'D')).not.toBe('');
      for (const grade of ['B', null]) expect(await set(GRADE, grade)).toBe('');
      for (const evidence of ['39', '101', 'half'])
        expect(await set(EVIDENCE, evidence)).toContain(
          `AgentObservation new: annotation ${EVIDENCE}: "${evidence}" is not an integer from 40 to 100`,
        );
      for (const evidence of ['40', '100', null]) expect(await set(EVIDENCE, evidence)).toBe('');
    });

    test('rejects another image for a running engine', async () => {
      await store(whole([rules, opa]), 'live-engine');
      expect(await change('live-engine', imageOf('busybox', 'platform-opa'))).toContain(ENGINE_NOT_INJECTED);
      const newer = imageOf('registry:5000/opa:2', 'platform-opa');
      expect(await change('live-engine', newer)).toBe('');
    });
  });

  describe('with the LLM analysis', () => {
    const VARIABLES = {
      LLM_ANALYSIS_PROVIDER: 'openai-api',
      PLATFORM_LLM_MODEL: 'gpt-5.5',
      OPENAI_BASE_URL: 'https://llm.example/v1',
      LLM_ANALYSIS_TIMEOUT_SECONDS: '60',
      LLM_ANALYSIS_TOKENS_PER_DAY: '200000',
      LLM_ANALYSIS_USD_PER_DAY: '0.5',
      LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS: '5',
      LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS: '25',
    };
    interface Variable {
      name: string;
      value?: string;
      valueFrom?: object;
    }
    const llmAnalysis = {
      key: { variable: 'OPENAI_API_KEY', secret: 'vendor', entry: 'key' },
      variables: Object.entries(VARIABLES).map(([name, value]) => ({ name, value })),
    };
    const injected = buildSidecar(PLAN, agent, [], { ...SETTINGS, llmAnalysis });
    const others = (name: string) => (injected.env ?? []).filter((variable) => variable.name !== name);
    const withVariable = (variable: Variable) =>
      opted({ initContainers: [{ ...injected, env: [...others(variable.name), variable] }] });
    const secretKeyRef = { name: 'vendor', key: 'key', optional: true };
    const reference = (change: object) => ({
      name: 'OPENAI_API_KEY',
      valueFrom: { secretKeyRef: { ...secretKeyRef, ...change } },
    });

    beforeAll(async () => {
      const values = ['existingSecret=vendor', 'secretKey=key', 'provider=openai-api', 'model=gpt-5.5'];
      await guard(
        'deny',
        (rejection) => rejection === '',
        opted({ initContainers: [injected] }),
        ...[...values, 'baseUrl=https://llm.example/v1'].map((value) => `llmAnalysis.${value}`),
      );
    });

    test.each<[string, object]>([
      ['has the injected variables', opted({ initContainers: [injected] })],
      ['was injected before the analysis was turned on', own()],
    ])('admits a pod that %s', async (_what, object) => {
      expect(await create(object)).toBe('');
    });

    test.each<[string, Variable]>([
      ['the key as a literal', { name: 'OPENAI_API_KEY', value: 'sk-1' }],
      ['the key from another Secret', reference({ name: 'other' })],
      ['the key from another entry', reference({ key: 'other' })],
      ['a Secret that must exist', reference({ optional: false })],
      [
        'the key from a ConfigMap',
        { name: 'OPENAI_API_KEY', valueFrom: { configMapKeyRef: { name: 'vendor', key: 'key' } } },
      ],
      ['the key of another vendor', { ...reference({}), name: 'ANTHROPIC_API_KEY' }],
      ['another variable from the Secret', { ...reference({}), name: 'PLATFORM_LLM_MODEL' }],
      ['another model', { name: 'PLATFORM_LLM_MODEL', value: 'gpt-5x5' }],
      ['another address', { name: 'OPENAI_BASE_URL', value: 'https://llm.example.evil/v1' }],
      ['another provider', { name: 'LLM_ANALYSIS_PROVIDER', value: 'off' }],
      ['no limit', { name: 'LLM_ANALYSIS_USD_PER_DAY', value: '1e9' }],
    ])('rejects a sidecar that has %s', async (_what, variable) => {
      expect(await create(withVariable(variable))).toContain(`platform-sidecar/${variable.name} (for`);
    });

    test('rejects a second variable with the key', async () => {
      const env = [...(injected.env ?? []), reference({})];
      // The API server itself may also reject a repeated name.
      expect(await create(opted({ initContainers: [{ ...injected, env }] }))).not.toBe('');
    });
  });

  describe('with a collector', () => {
    const collector = 'http://collector.observability:4318';
    const receiving = (otlpCollector: string | null) =>
      buildSidecar({ ...PLAN, otlp: true }, agent, [], { ...SETTINGS, otlpCollector });
    const withOtlp = (spec: Spec) => opted(spec, { 'platform.io/otlp': 'true' });

    beforeAll(async () => {
      await guard(
        'deny',
        (rejection) => rejection === '',
        withOtlp({ initContainers: [receiving(collector)] }),
        `sidecar.otlp.collector=${collector}`,
      );
    });

    test.each<[string, object]>([
      ['receives and forwards OTLP', withOtlp({ initContainers: [receiving(collector)] })],
      ['was injected before the collector was configured', withOtlp({ initContainers: [receiving(null)] })],
      ['does not receive OTLP', own()],
      [
        'does not receive OTLP and uses port 4318',
        opted({
          containers: [{ ...agent, ports: [{ containerPort: 4318 }] }],
          initContainers: [sidecar()],
        }),
      ],
    ])('admits a pod that %s', async (_what, object) => {
      expect(await create(object)).toBe('');
    });

    test.each([
      ['OTLP_FORWARD_URL', 'http://collectorXobservability:4318'],
      ['OTLP_FORWARD_URL', `${collector}.evil.example`],
      ['OTLP_PORT', '4319'],
    ])('rejects a sidecar with another %s, %s', async (name, value) => {
      const { env = [], ...rest } = receiving(collector);
      const changed = [...env.filter((variable) => variable.name !== name), { name, value }];
      expect(await create(withOtlp({ initContainers: [{ ...rest, env: changed }] }))).toContain(
        `platform-sidecar/${name} (for`,
      );
    });
  });

  test('with guard.action=warn admits the pod and warns the client', async () => {
    await guard('warn', (rejection) => rejection === '');
    const { metadata, ...rest } = opted();
    const pod = { ...rest, metadata: { ...metadata, namespace: 'team' } };
    const { message, warnings } = await cluster.ask(creationOf(pod));
    expect([message, warnings]).toEqual(['', [expect.stringContaining(UNAVAILABLE)]]);
  });
});
