// The chart's guard at a real API server, without an injector: admitted pods, and messages for rejected pods.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { annotationDefaults, ANNOTATIONS, describeAnnotationProblem } from '../core/injection/annotations.ts';
import { buildSidecar, buildVolumes, type InjectionPlan } from '../core/injection/build-sidecar.ts';
import { buildEngine, buildEngineVolumes } from '../core/injection/build-engine.ts';
import { namedLanes } from '../core/egress/lane-annotation.ts';
import { DEFAULT_EGRESS, type EgressPlan } from '../core/injection/egress.ts';
import type { Injection } from '../core/injection/guard-table.ts';
import type { Container } from '../core/injection/pod.ts';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { KubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import { expectOk } from '../kube/objects.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { ANNOTATION_VALUES } from '../testing/cluster/annotation-values.ts';
import { APPLY, clusterBinary, UNVALIDATED } from '../testing/machine/cluster-binary.ts';
import { injectionSettings } from '../testing/cluster/pods.ts';

// Much longer than the tests need.
jest.setTimeout(300_000);

const CHART = join(import.meta.dirname, 'agent-compliance');
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

(whyNoControlPlane() ? describe.skip : describe)('the guard', () => {
  let control: ControlPlane;
  let client: KubeClient;

  const kubectl = (args: string[], input: unknown = ''): Promise<RunResult> =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args], {
      input: JSON.stringify(input),
    });
  /** Creates like kubectl, but on one connection, because there are many pods; `stderr` is the rejection message. */
  async function create(object: object, namespace = 'team'): Promise<Pick<RunResult, 'code' | 'stderr'>> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const response = await client.send({ method: 'POST', path, query: { dryRun: 'All' }, body: object });
    return response.ok ? { code: 0, stderr: '' } : { code: 1, stderr: response.message };
  }

  /** Creates and stores a pod of `team`. */
  async function store(body: object): Promise<void> {
    const query = { fieldValidation: 'Strict' };
    expectOk(await client.send({ method: 'POST', path: '/api/v1/namespaces/team/pods', query, body }));
  }

  /** Applies the guard and waits about a second until it is active. `isActive` excludes other rejections of the probe. */
  async function guard(
    action: string,
    isActive: (response: Pick<RunResult, 'code' | 'stderr'>) => boolean,
    probe: object = opted(),
    ...values: string[]
  ): Promise<void> {
    const rendered = await run([
      ...[clusterBinary('helm'), 'template', 'agent-compliance', CHART, '-n', 'platform-system'],
      ...['--kube-version', '1.36.0', '--show-only', 'templates/guard.yaml'],
      ...[
        '--set',
        `image.registry=registry.example,guard.action=${action}`,
        '--set',
        'sidecar.allowedImages={mirror/sidecar:7}',
      ],
      ...values.flatMap((value) => ['--set', value]),
    ]);
    if (rendered.code !== 0) throw new Error(rendered.stderr);
    const items = parseAllDocuments(rendered.stdout).map((document) => document.toJS() as unknown);
    const list = { apiVersion: 'v1', kind: 'List', items: items.filter((item) => item !== null) };
    const { code, stderr } = await kubectl([...APPLY, '-f', '-'], list);
    if (code !== 0) throw new Error(stderr);
    for (const end = performance.now() + 120_000; !isActive(await create(probe));) {
      if (performance.now() > end) throw new Error('the guard is not active');
      await delay(200);
    }
  }

  beforeAll(async () => {
    control = await startControlPlane();
    client = new KubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
    for (const name of ['team', 'platform-system']) {
      await kubectl(['create', 'namespace', name]);
      // The controller that creates it does not run here.
      await kubectl(['create', 'serviceaccount', 'default', '-n', name]);
    }
    await kubectl(['create', 'serviceaccount', 'default', '-n', 'kube-system']);
    const old = opted({ initContainers: [sidecar()] });
    await store({ ...old, metadata: { ...old.metadata, name: 'old', labels: labels(150) } });
    await guard('deny', ({ stderr }) => stderr.includes(UNAVAILABLE));
  });
  afterAll(async () => {
    await client.close();
    await control.close();
  });

  test.each<[string, object]>([
    ['has no annotations', pod(undefined)],
    ['opts out', pod({ 'platform.io/inject': 'false' })],
    [
      'opts out and has an invalid value',
      pod({ 'platform.io/inject': 'false', 'platform.io/agent-port': 'x' }),
    ],
    ['has only other annotations', pod({ 'platform.io/agent-port': 'x' })],
    [
      'opts out, on a port of the sidecar',
      pod({}, { containers: [{ ...agent, ports: [{ containerPort: 4000 }] }] }),
    ],
    ['opts in and has the sidecar', opted({ initContainers: [sidecar()] })],
    [
      'has the sidecar in another version',
      opted({ initContainers: [sidecar({ image: 'registry.example/agent-compliance/sidecar:9' })] }),
    ],
    [
      'has the sidecar by its digest',
      opted({
        initContainers: [
          sidecar({ image: `registry.example/agent-compliance/sidecar@sha256:${'a'.repeat(64)}` }),
        ],
      }),
    ],
    ['has an image that is allowed', opted({ initContainers: [sidecar({ image: 'mirror/sidecar:7' })] })],
    [
      'has a sidecar with allowed variables and mounts of other webhooks',
      opted({
        ...foreignVolume,
        initContainers: [
          sidecar({
            env: [...envOf(), { name: 'AWS_REGION', value: 'eu' }],
            ...mount('/var/run/secrets/eks.amazonaws.com/serviceaccount'),
          }),
        ],
      }),
    ],
    [
      'has lanes in its sidecar',
      opted(
        { initContainers: [buildSidecar({ ...PLAN, egress: LANES }, agent, [], SETTINGS)] },
        LANE_ANNOTATIONS,
      ),
    ],
    [
      'names its only manifest',
      opted(
        { initContainers: [sidecar({ env: [...envOf(), { name: 'MANIFEST_SHA256', value: PINNED }] })] },
        { 'platform.io/manifest-sha256': PINNED },
      ),
    ],
    [
      'has no census in its sidecar',
      opted(
        { initContainers: [sidecar({ env: envOf({ CENSUS: undefined }) })] },
        { 'platform.io/census': 'false' },
      ),
    ],
    [
      'listens on ports of lanes, without lanes',
      opted(
        {
          containers: [{ ...agent, ports: [{ containerPort: 4002 }, { containerPort: 4003 }] }],
          initContainers: [sidecar()],
        },
        { 'platform.io/egress-connect': 'off' },
      ),
    ],
    [
      'listens on a port of the engine, without an engine',
      opted({
        containers: [{ ...agent, ports: [{ containerPort: 8181 }] }],
        initContainers: [sidecar()],
      }),
    ],
  ])('admits a pod that %s', async (_what, object) => {
    expect(await create(object)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each<[string, object, string]>([
    ['has no sidecar', opted(), `pod x is opted in (annotation platform.io/inject: true) but ${UNAVAILABLE}`],
    ['has another image', opted({ initContainers: [sidecar({ image: 'busybox' })] }), NOT_INJECTED],
    [
      'has an image whose name only starts with the allowed name',
      opted({ initContainers: [sidecar({ image: 'registry.example/agent-compliance/sidecar-fake:1' })] }),
      NOT_INJECTED,
    ],
    [
      'has another version of an allowed image',
      opted({ initContainers: [sidecar({ image: 'mirror/sidecar:8' })] }),
      NOT_INJECTED,
    ],
    ['has the sidecar as a plain init container', opted({ initContainers: [sidecar(ONCE)] }), NOT_INJECTED],
    [
      'has the sidecar with a command',
      opted({ initContainers: [sidecar({ command: ['true'] })] }),
      NOT_INJECTED,
    ],
    ['has the sidecar with arguments', opted({ initContainers: [sidecar({ args: ['x'] })] }), NOT_INJECTED],
    [
      'has the sidecar as a container',
      opted({ containers: [agent, sidecar({ ...ONCE, volumeMounts: undefined, ports: undefined })] }),
      UNAVAILABLE,
    ],
    [
      'has hostNetwork',
      opted({ hostNetwork: true, containers: [{ name: 'agent', image: 'agent' }] }),
      'a pod with hostNetwork cannot be injected: ports 4000 and 4001 would be taken on the node',
    ],
    ...[4000, 4001].map((containerPort): [string, object, string] => [
      `listens on ${containerPort}`,
      opted({ containers: [{ ...agent, ports: [{ containerPort }] }] }),
      'ports 4000 and 4001 are reserved for the sidecar: use other ports for the agent and all other containers',
    ]),
    [
      'has agent port 4001 in its annotation',
      opted({}, { 'platform.io/agent-port': '4001' }),
      'ports 4000 and 4001 are reserved for the sidecar',
    ],
    ...(
      [
        [{ containers: [{ ...agent, ports: [{ containerPort: 4318 }] }] }, {}],
        [
          {
            initContainers: [sidecar(), { name: 'collector', image: 'c', ports: [{ containerPort: 4318 }] }],
          },
          {},
        ],
        [{}, { 'platform.io/agent-port': '4318' }],
      ] satisfies [Spec, Record<string, string>][]
    ).map(([spec, annotations], index): [string, object, string] => [
      `receives OTLP and uses port 4318 (${index})`,
      opted(spec, { 'platform.io/otlp': 'true', ...annotations }),
      'with the annotation platform.io/otlp, port 4318 is reserved for the sidecar',
    ]),
    ...(
      [
        [
          { containers: [{ ...agent, ports: [{ containerPort: 4002 }] }] },
          { 'platform.io/egress-lanes': 'groq' },
        ],
        [
          {
            initContainers: [sidecar(), { name: 'mesh', image: 'm', ports: [{ containerPort: 4003 }] }],
          },
          { 'platform.io/egress-connect': 'deny' },
        ],
        [{}, { 'platform.io/egress-lanes': 'groq', 'platform.io/agent-port': '4003' }],
      ] satisfies [Spec, Record<string, string>][]
    ).map(([spec, annotations], index): [string, object, string] => [
      `has lanes and uses a port of the lanes (${index})`,
      opted(spec, annotations),
      'ports 4002 and 4003 are reserved for the lanes of the sidecar',
    ]),
    [
      'has an invalid value in platform.io/otlp',
      opted({ initContainers: [sidecar()] }, { 'platform.io/otlp': 'on' }),
      'annotation platform.io/otlp: "on" is not one of "true", "false"',
    ],
    ...(
      [
        ['lacks a variable of the injector', { env: envOf({ POLICY_PROXY_MODE: undefined }) }],
        ['forwards to another host', { env: envOf({ UPSTREAM_URL: 'http://10.0.0.1:80' }) }],
        ['evaluates no policy', { env: envOf({ POLICY_ENGINE: 'none' }) }],
        ['has an invalid mode', { env: envOf({ POLICY_PROXY_MODE: 'never' }) }],
        ['allows every client on its control port', { env: envOf({ CONTROL_ACCESS: 'all' }) }],
        [
          'has a variable twice',
          { env: [...envOf(), { name: 'UPSTREAM_URL', value: 'http://10.0.0.1:80' }] },
        ],
        [
          'has a variable from a reference',
          {
            env: [
              ...envOf({ POLICY_PROXY_MODE: undefined }),
              { name: 'POLICY_PROXY_MODE', valueFrom: { configMapKeyRef: { name: 'x', key: 'y' } } },
            ],
          },
        ],
        ['has variables from envFrom', { envFrom: [{ configMapRef: { name: 'x' } }] }],
        ['runs other code first', { env: envOf({ NODE_OPTIONS: '--import=/manifest/evil.mjs' }) }],
        ['loads compiled code from another directory', { env: envOf({ NODE_COMPILE_CACHE: '/manifest' }) }],
        ['preloads a library', { env: envOf({ LD_PRELOAD: '/manifest/evil.so' }) }],
        ['accepts any certificate', { env: envOf({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }) }],
        ...[
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
        ].map(([name = '', value = '']): [string, Spec] => [
          `has ${name}=${value}`,
          { env: envOf({ [name]: value }) },
        ]),
        ['starts in another directory', { workingDir: '/manifest' }],
        [
          'has a postStart hook that runs a command',
          { lifecycle: { postStart: { exec: { command: ['true'] } } } },
        ],
        [
          'has a preStop hook that runs a command',
          { lifecycle: { preStop: { exec: { command: ['true'] } } } },
        ],
        ['has a probe that runs a command', { startupProbe: { exec: { command: ['true'] } } }],
        ...[
          '/app',
          '/app/dist/sidecar',
          '/',
          '/nodejs/bin',
          '/usr/lib/x',
          '/etc/ld.so.preload',
          '/tmp/../app',
          '//app',
        ].map((path): [string, Spec] => [`has ${path} covered`, mount(path)]),
      ] satisfies [string, Spec][]
    ).map(([what, change]): [string, object, string] => [
      `whose sidecar ${what}`,
      opted({ ...foreignVolume, initContainers: [sidecar(change)] }),
      DIFFERS,
    ]),
    [
      'mounts an injected volume',
      opted({
        containers: [{ ...agent, volumeMounts: [{ name: 'platform-policy', mountPath: '/rules' }] }],
        initContainers: [sidecar()],
        volumes: [{ name: 'platform-policy', emptyDir: {} }],
      }),
      'are reserved for the sidecar: no other container may mount them',
    ],
    [
      'has a value with several lines',
      opted({}, { 'platform.io/agent-port': '1\n2' }),
      'annotation platform.io/agent-port is not an integer from 1 to 65535',
    ],
    [
      'has a value of 200 KB',
      opted({}, { 'platform.io/agent-name': 'a'.repeat(200_000) }),
      'annotation platform.io/agent-name is not a DNS label',
    ],
  ])('rejects a pod that opts in and %s', async (_what, object, message) => {
    const { code, stderr } = await create(object);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  const env = (name: string, value = 'x') => ({ env: [...envOf(), { name, value }] });
  const withResources = (side: 'requests' | 'limits', change: Spec) => ({
    resources: { ...GENUINE.resources, [side]: { ...GENUINE.resources?.[side], ...change } },
  });
  const heap = (mebibytes: number) => ({
    env: envOf({ NODE_OPTIONS: `--max-old-space-size=${mebibytes} --max-semi-space-size=4` }),
  });
  const security = (change: Spec) => ({
    securityContext: { ...(GENUINE['securityContext'] as object), ...change },
  });
  const without = (volume: string) => ({
    volumeMounts: GENUINE.volumeMounts?.filter(({ name }) => name !== volume),
  });
  const tokenOf = (audience: string) => ({
    projected: { sources: [{ serviceAccountToken: { audience, path: 'token' } }] },
  });

  // A pod author uses the genuine sidecar and changes one thing.
  test.each<[string, Spec, string]>([
    ...[
      ...['PROXY_PORT', 'CONTROL_PLANE_PORT', 'BIND_ADDRESS', 'PLATFORM_KEY', 'AUDIT_QUERY'],
      ...['ANTHROPIC_API_KEY', 'LLM_ANALYSIS_PROVIDER', 'ANTHROPIC_BASE_URL', 'PLATFORM_LLM_MODEL'],
      ...['OTLP_FORWARD_URL'],
      ...['OPENSSL_CONF', 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'ANYTHING', 'AWS_REGION2'],
    ].map((name): [string, Spec, string] => [
      `sets ${name}`,
      env(name),
      `environment variables platform-sidecar/${name} (for variables of other`,
    ]),
    ...REQUIRED.map((name): [string, Spec, string] => [
      `omits ${name}`,
      { env: envOf({ [name]: undefined }) },
      `environment variables platform-sidecar/${name} (for variables of other`,
    ]),
    [
      'sends heartbeats to another host',
      {
        env: envOf({
          PLATFORM_URL: 'https://agent-compliance-control-plane.platform-system.svc.evil.example:8080',
        }),
      },
      'platform-sidecar/PLATFORM_URL',
    ],
    ['reads another manifest', { env: envOf({ MANIFEST_PATH: '/manifest/other.yaml' }) }, 'MANIFEST_PATH'],
    [
      'makes the sidecar its own upstream',
      { env: envOf({ UPSTREAM_URL: 'http://127.0.0.1:4001' }) },
      DIFFERS,
    ],
    [
      'makes the sidecar its own upstream by name',
      { env: envOf({ UPSTREAM_URL: 'http://localhost:4001' }) },
      DIFFERS,
    ],
    ['has another agent name', { env: envOf({ AGENT_NAME: 'pay' }) }, DIFFERS],
    ['has hardly any heap', heap(10), DIFFERS],
    ['has more heap than memory', heap(4096), DIFFERS],
    [
      'has a heap size that overflows',
      { env: envOf({ NODE_OPTIONS: '--max-old-space-size=99999999999999999999 --max-semi-space-size=4' }) },
      'NODE_OPTIONS',
    ],
    ...[
      '/etc/ssl',
      '/etc',
      '/proc',
      '/dev/shm',
      '/usr/share/zoneinfo',
      '/manifest/x',
      '/var/run/secrets/eks.amazonaws.com',
    ].map((path): [string, Spec, string] => [
      `covers ${path}`,
      mount(path),
      `mounts platform-sidecar ${path} (for`,
    ]),
    ['mounts no manifest', without('platform-manifest'), 'mounts platform-sidecar /manifest (for'],
    [
      'mounts no identity',
      without('platform-identity'),
      'mounts platform-sidecar /var/run/secrets/platform.io (for',
    ],
    [
      'mounts the API token',
      without('platform-noapi'),
      'mounts platform-sidecar /var/run/secrets/kubernetes.io/serviceaccount',
    ],
    ['requests memory of 32Mi', withResources('requests', { memory: '32Mi' }), 'platform-sidecar.resources'],
    [
      'has no memory limit',
      { resources: { requests: GENUINE.resources?.requests } },
      'platform-sidecar.resources',
    ],
    [
      'has a CPU limit, but no memory limit',
      { resources: { requests: GENUINE.resources?.requests, limits: { cpu: '1' } } },
      'platform-sidecar.resources',
    ],
    [
      'requests no CPU',
      { resources: { requests: { memory: '96Mi' }, limits: { memory: '192Mi' } } },
      'platform-sidecar.resources',
    ],
    ['requests zero CPU', withResources('requests', { cpu: '0' }), 'platform-sidecar.resources'],
    [
      'requests huge pages',
      withResources('limits', { 'hugepages-2Mi': '2Mi' }),
      'platform-sidecar.resources',
    ],
    [
      'has a host port',
      { ports: [{ containerPort: 4000, hostPort: 4000 }, { containerPort: 4001 }] },
      'platform-sidecar.ports',
    ],
    [
      'has another port',
      { ports: [...(GENUINE.ports ?? []), { containerPort: 9000 }] },
      'platform-sidecar.ports',
    ],
    ['has no port for clients', { ports: [{ containerPort: 4001 }] }, 'platform-sidecar.ports'],
    [
      'is privileged',
      security({ privileged: true, allowPrivilegeEscalation: true }),
      'platform-sidecar.securityContext',
    ],
    ['runs as root', security({ runAsUser: 0, runAsNonRoot: false }), 'platform-sidecar.securityContext'],
    [
      'has a capability',
      security({ capabilities: { add: ['SYS_PTRACE'], drop: ['ALL'] } }),
      'platform-sidecar.securityContext',
    ],
    ['has no security context', { securityContext: undefined }, 'platform-sidecar.securityContext'],
    ['has no readiness probe', { readinessProbe: undefined }, 'platform-sidecar.readinessProbe'],
    [
      'lets the agent start first',
      { startupProbe: { httpGet: { path: '/', port: 8000 } } },
      'platform-sidecar.startupProbe',
    ],
    [
      'has a liveness probe',
      { livenessProbe: { httpGet: { path: '/', port: 1 } } },
      'platform-sidecar.livenessProbe',
    ],
    [
      'has a preStop hook with another host',
      { lifecycle: { preStop: { httpGet: { path: '/', port: 80, host: '10.0.0.1' } } } },
      'platform-sidecar.lifecycle',
    ],
    ['has no preStop hook', { lifecycle: undefined }, 'platform-sidecar.lifecycle'],
    ['reads standard input', { stdin: true }, 'platform-sidecar.stdin'],
    ['is never pulled', { imagePullPolicy: 'Never' }, 'platform-sidecar.imagePullPolicy'],
  ])('rejects a modified sidecar that %s', async (_what, change, message) => {
    const { code, stderr } = await create(opted({ ...foreignVolume, initContainers: [sidecar(change)] }));
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });

  test.each<[string, Spec, string]>([
    [
      'another manifest',
      { volumes: [{ name: 'platform-manifest', configMap: { name: 'other', defaultMode: 0o644 } }] },
      'platform-manifest',
    ],
    [
      'another key of the manifest ConfigMap',
      {
        volumes: [
          {
            name: 'platform-manifest',
            configMap: { name: 'x-manifest', items: [{ key: 'other', path: 'agent.yaml' }] },
          },
        ],
      },
      'platform-manifest',
    ],
    [
      'no manifest in its volume',
      { volumes: [{ name: 'platform-manifest', emptyDir: {} }] },
      'platform-manifest',
    ],
    [
      'a token for another audience',
      { volumes: [{ name: 'platform-identity', ...tokenOf('other') }] },
      'platform-identity',
    ],
    [
      "a token for the sidecar's audience in another volume",
      { volumes: [{ name: 'mine', ...tokenOf('platform.io') }] },
      'mine',
    ],
  ])('rejects a pod with %s', async (_what, spec, name) => {
    const { stderr } = await create(opted({ initContainers: [sidecar()], ...spec }));
    expect(stderr).toContain(`its volumes differ from those that the injector adds: ${name}`);
  });

  test.each<[string, Spec, string]>([
    [
      'that mounts the identity and has a reserved but unused name',
      { name: 'platform-opa', image: 'x', volumeMounts: [{ name: 'platform-identity', mountPath: '/x' }] },
      'are reserved for the sidecar: no other container may mount them',
    ],
    [
      'that uses a reserved port and has a reserved but unused name',
      { name: 'platform-policy', image: 'x', ports: [{ containerPort: 4000 }] },
      'ports 4000 and 4001',
    ],
  ])('rejects a container %s', async (_what, container, message) => {
    const containers = opted({ containers: [agent, container], initContainers: [sidecar()] });
    expect((await create(containers)).stderr).toContain(message);
    const init = opted({ initContainers: [sidecar(), { ...container, restartPolicy: 'Always' }] });
    expect((await create(init)).stderr).toContain(message);
  });

  test('rejects a pod whose containers share the process namespace with the sidecar', async () => {
    const { stderr } = await create(opted({ initContainers: [sidecar()], shareProcessNamespace: true }));
    expect(stderr).toContain('with shareProcessNamespace, other containers could stop the sidecar');
  });

  test.each(['5m', '1', '64'])('admits the CPU limit %s, and no CPU limit', async (cpu) => {
    const limits = withResources('limits', { cpu });
    expect(await create(opted({ initContainers: [sidecar(limits)] }))).toEqual({ code: 0, stderr: '' });
    expect(GENUINE.resources?.limits).toEqual({ memory: '192Mi' });
    expect(await create(opted({ initContainers: [sidecar()] }))).toEqual({ code: 0, stderr: '' });
  });

  test('rejects a pod in the process namespace of the node', async () => {
    const { stderr } = await create(opted({ initContainers: [sidecar()], hostPID: true }));
    expect(stderr).toContain('with hostPID, other containers could stop the sidecar and read its files');
  });

  const alias = (...hostnames: string[]): Spec => ({
    initContainers: [sidecar()],
    hostAliases: [
      { ip: '10.0.0.1', hostnames: ['db'] },
      { ip: '10.0.0.2', hostnames: ['other', ...hostnames] },
    ],
  });

  test.each<[string, Spec]>([
    ...['', '.platform-system', '.platform-system.svc', '.platform-system.svc.cluster.local', '.x'].map(
      (rest): [string, Spec] => [`hostAliases for ${CONTROL_PLANE}${rest}`, alias(`${CONTROL_PLANE}${rest}`)],
    ),
    [
      'hostnameOverride',
      { initContainers: [sidecar()], hostnameOverride: `${CONTROL_PLANE}.platform-system.svc` },
    ],
  ])('rejects a pod that renames the control plane by %s', async (_what, spec) => {
    expect((await create(opted(spec))).stderr).toContain(
      `hostAliases and hostnameOverride must not contain a name of the control plane (${CONTROL_PLANE})`,
    );
  });

  test('admits other host aliases', async () => {
    const others = alias(`${CONTROL_PLANE}-2`, `my.${CONTROL_PLANE}`);
    expect(await create(opted(others))).toEqual({ code: 0, stderr: '' });
  });

  describe('the number of labels', () => {
    const TOO_MANY = 'a pod of an agent may have at most 100 labels';
    const withLabels = (count: number, name = 'x') => {
      const object = opted({ initContainers: [sidecar()] });
      return { ...object, metadata: { ...object.metadata, name, labels: labels(count) } };
    };

    test('of an agent is at most 100', async () => {
      expect(await create(withLabels(100))).toEqual({ code: 0, stderr: '' });
      expect((await create(withLabels(101))).stderr).toContain(TOO_MANY);
    });

    test('of other pods has no limit, but these pods cannot opt in', async () => {
      const { 'platform.io/agent': _, ...others } = labels(300);
      await store({ ...pod({}), metadata: { name: 'many', labels: others } });
      expect(await change('many', { metadata: { labels: { more: 'x' } } })).toMatchObject({ code: 0 });
      const optIn = { metadata: { annotations: { 'platform.io/inject': 'true' } } };
      expect((await change('many', optIn)).stderr).toContain(TOO_MANY);
    });

    test('of other pods never blocks their updates', async () => {
      const { 'platform.io/agent': _, ...others } = labels(300);
      const spec = {
        initContainers: [{ name: 'platform-sidecar', image: 'busybox', restartPolicy: 'Always' }],
      };
      await store({ ...pod({}, spec), metadata: { name: 'theirs', labels: others } });
      const update = { status: { reason: 'Busy' } };
      expect(await change('theirs', update, ['--subresource=status'])).toMatchObject({ code: 0, stderr: '' });
    });

    test('does not grow beyond 100 later', async () => {
      await store(withLabels(100, 'full'));
      for (const subresource of [[], ['--subresource=status']])
        expect((await change('full', { metadata: { labels: { more: 'x' } } }, subresource)).stderr).toContain(
          TOO_MANY,
        );
    });

    test('of an older pod may only become smaller', async () => {
      expect((await change('old', { metadata: { labels: { more: 'x' } } })).stderr).toContain(TOO_MANY);
      expect(await change('old', { metadata: { finalizers: ['a/b'] } })).toMatchObject({ code: 0 });
      expect(await change('old', { metadata: { labels: { 'l-1': null } } })).toMatchObject({ code: 0 });
      expect(await change('old', { metadata: { finalizers: null } })).toMatchObject({ code: 0 });
    });
  });

  test('admits fields that the API server and other plugins add', async () => {
    const change = {
      imagePullPolicy: 'Always',
      env: [...envOf(), { name: 'AZURE_CLIENT_ID', value: 'x' }],
      resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
      resources: {
        requests: { ...GENUINE.resources?.requests, 'ephemeral-storage': '1Mi' },
        limits: { ...GENUINE.resources?.limits, memory: '1Gi' },
      },
    };
    expect(await create(opted({ initContainers: [sidecar(change)] }))).toEqual({ code: 0, stderr: '' });
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
    expect(await create(opted({ initContainers: [old], volumes: own }))).toEqual({ code: 0, stderr: '' });
  });

  /** Values that may be invalid. */
  const BAD = ['', 'Not_A!Value', '0', 'x y'];
  test.each(Object.entries(ANNOTATIONS))('has the same message for %s as the injector', async (key, row) => {
    const bad = BAD.filter((value) => !row.read(value).ok);
    expect(bad.length).toBeGreaterThan(0);
    for (const value of bad) {
      const { stderr } = await create(opted({}, { [row.name]: value }));
      expect(stderr).toContain(describeAnnotationProblem({ name: row.name, value, allowed: row.allowed }));
    }
    // A pod with inject "false" needs no sidecar.
    const { good } = ANNOTATION_VALUES[key as keyof typeof ANNOTATIONS];
    for (const value of good.filter((each) => each !== 'false'))
      expect((await create(opted({}, { [row.name]: value }))).stderr).toContain(UNAVAILABLE);
  });

  const change = (name: string, patch: object, more: string[] = []) =>
    kubectl(['patch', '-n', 'team', 'pod', name, '-p', JSON.stringify(patch), ...more]);
  const imageOf = (image: string, name = 'platform-sidecar') => ({
    spec: { initContainers: [{ name, image }] },
  });

  test('admits other updates and ephemeral containers', async () => {
    const bare = { ...pod({}, { initContainers: [{ name: 'x', image: 'a' }] }), metadata: { name: 'later' } };
    await store(bare);
    // A pod without a sidecar can still be updated after it gets the annotation and an invalid value, for example to delete it.
    const annotations = { 'platform.io/inject': 'true', 'platform.io/agent-port': 'x' };
    expect(await change('later', { metadata: { annotations, finalizers: ['a/b'] } })).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await change('later', imageOf('b', 'x'))).toMatchObject({ code: 0, stderr: '' });
    expect(await change('later', { metadata: { finalizers: null } })).toMatchObject({ code: 0, stderr: '' });
    const debug = ['debug', '-n', 'team', 'later', '--image=busybox', '--', 'true'];
    expect(await kubectl(debug)).toMatchObject({ code: 0 });
  });

  test('rejects another image for a running sidecar', async () => {
    const live = { ...opted({ initContainers: [sidecar()] }) };
    live.metadata.name = 'live';
    await store(live);
    expect((await change('live', imageOf('busybox'))).stderr).toContain(NOT_INJECTED);
    // Also after the pod has opted out, and with the annotation of a mirror pod.
    const out = { metadata: { annotations: { 'platform.io/inject': 'false' } } };
    expect(await change('live', out)).toMatchObject({ code: 0, stderr: '' });
    expect((await change('live', imageOf('busybox'))).stderr).toContain(NOT_INJECTED);
    const mirror = { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } };
    expect((await change('live', { ...mirror, ...imageOf('busybox') })).code).toBe(1);
    expect(await change('live', imageOf('registry.example/agent-compliance/sidecar:0.1.1'))).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await change('live', { metadata: { labels: { a: 'b' } } })).toMatchObject({ code: 0, stderr: '' });
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
      ['of another agent than its sidecar', labelled(opted({ initContainers: [sidecar()] }), 'pay'), DIFFERS],
    ])('rejects a pod that has it %s', async (_what, object, message) => {
      expect((await create(object)).stderr).toContain(message);
    });

    test('admits an injected pod without the annotations', async () => {
      const object = labelled(pod(undefined, { initContainers: [sidecar()], volumes: VOLUMES }));
      expect(await create(object)).toEqual({ code: 0, stderr: '' });
    });

    test('must not be added, changed or removed later', async () => {
      const later = 'must not be added or changed later';
      const bare = { ...pod(undefined), metadata: { name: 'bare' } };
      await store(bare);
      const label = (value: string | null) => ({ metadata: { labels: { 'platform.io/agent': value } } });
      expect((await change('bare', label('pay'))).stderr).toContain(later);
      const injected = { ...opted({ initContainers: [sidecar()] }) };
      injected.metadata.name = 'labelled';
      await store(injected);
      expect((await change('labelled', label('pay'))).stderr).toContain(later);
      expect((await change('labelled', label(null))).stderr).toContain(
        'or removed while the pod has the sidecar',
      );
      for (const name of ['bare', 'labelled'])
        expect((await change(name, label('pay'), ['--subresource=status'])).stderr).toContain(later);
      // The API server rejects the annotation of a mirror pod, which is not checked at creation.
      const mirror = { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } };
      expect((await change('bare', mirror, ['--subresource=status'])).code).toBe(1);
      expect(await change('labelled', { metadata: { labels: { other: 'x' } } })).toMatchObject({ code: 0 });
    });

    test('keeps the label that network policies select', async () => {
      const label = (value: string | null) => ({ metadata: { labels: { 'platform.io/agent-name': value } } });
      const injected = opted({ initContainers: [sidecar()] });
      injected.metadata.name = 'selected';
      await store(injected);
      expect(await change('selected', label('x'))).toMatchObject({ code: 0 });
      const selected = { ...opted({ initContainers: [sidecar()] }) };
      Object.assign(selected.metadata, {
        name: 'fenced',
        labels: { 'platform.io/agent': 'x', ...label('x').metadata.labels },
      });
      await store(selected);
      for (const value of ['y', null])
        expect((await change('fenced', label(value))).stderr).toContain(
          'it must not be changed or removed while the pod has the sidecar',
        );
      const bare = { ...pod(undefined), metadata: { name: 'named', ...label('x').metadata } };
      await store(bare);
      expect(await change('named', label(null))).toMatchObject({ code: 0 });
    });

    test('keeps the CA that the injector set', async () => {
      const ca = (value: string | null) => ({ metadata: { annotations: { 'platform.io/ca': value } } });
      const injected = opted({ initContainers: [sidecar()] }, { 'platform.io/ca': 'of the product' });
      injected.metadata.name = 'trusting';
      await store(injected);
      for (const subresource of [[], ['--subresource=status']])
        for (const value of ["of the agent's author", null])
          expect((await change('trusting', ca(value), subresource)).stderr).toContain(
            'the injector sets the annotation platform.io/ca when a pod is created',
          );
      const other = { status: { reason: 'Busy' } };
      expect(await change('trusting', other, ['--subresource=status'])).toMatchObject({ code: 0 });
      const bare = { ...pod(undefined), metadata: { name: 'unlabelled' } };
      await store(bare);
      expect(await change('unlabelled', ca('of another author'))).toMatchObject({ code: 0 });
    });
  });

  test('protects the identity from ephemeral containers, and the resources of the sidecar', async () => {
    const own = { ...opted({ ...foreignVolume, initContainers: [sidecar()] }) };
    own.metadata.name = 'debugged';
    await store(own);
    const path = '/api/v1/namespaces/team/pods/debugged';
    const contentType = 'application/strategic-merge-patch+json';
    const rejectionOf = async (subresource: string, spec: Spec): Promise<string> => {
      const request = {
        path: `${path}/${subresource}`,
        query: { dryRun: 'All' },
        body: { spec },
        contentType,
      };
      const response = await client.send({ method: 'PATCH', ...request });
      return response.ok ? '' : response.message;
    };
    const debug = (more: Spec) => ({ ephemeralContainers: [{ name: 'debug', image: 'busybox', ...more }] });
    const mounts = (name: string) => debug({ volumeMounts: [{ name, mountPath: '/x' }] });
    const resized = (requests: Spec) => ({
      initContainers: [{ name: 'platform-sidecar', resources: { requests } }],
    });
    // This is a separate policy, which may become active later than the first policy.
    for (
      const end = performance.now() + 120_000;
      (await rejectionOf('resize', resized({ memory: '32Mi' }))) === '';
    ) {
      if (performance.now() > end) throw new Error('the guard of running pods is not active');
      await delay(100);
    }
    for (const { name } of VOLUMES)
      expect(await rejectionOf('ephemeralcontainers', mounts(name))).toContain(
        'pod debugged: an ephemeral container must not mount the volumes of the sidecar',
      );
    expect(
      await rejectionOf('ephemeralcontainers', debug({ targetContainerName: 'platform-sidecar' })),
    ).toContain('pod debugged: an ephemeral container must not target an injected container');
    expect(await rejectionOf('resize', resized({ memory: '32Mi' }))).toContain(
      'at least 1m of CPU and 96Mi of memory',
    );
    expect(await rejectionOf('ephemeralcontainers', mounts('mine'))).toBe('');
    expect(await rejectionOf('ephemeralcontainers', debug({ targetContainerName: 'agent' }))).toBe('');
    expect(await rejectionOf('resize', resized({ memory: '100Mi' }))).toBe('');
    const limited = (memory: string) => ({
      initContainers: [
        { name: 'platform-sidecar', resources: { requests: { memory: '96Mi' }, limits: { memory } } },
      ],
    });
    expect(await rejectionOf('resize', limited('128Mi'))).toContain(
      'the memory limit of the sidecar must be at least twice the heap size that it was started with',
    );
    expect(await rejectionOf('resize', limited('192Mi'))).toBe('');
  });

  describe('access to a running pod', () => {
    const path = '/api/v1/namespaces/team/pods/reached';
    const post = async (url: string, body?: object, query: Record<string, string> = {}) => {
      const response = await client.send({ method: 'POST', path: url, query, ...(body && { body }) });
      return response.ok ? '' : response.message;
    };
    const exec = (container: string, subresource = 'exec') =>
      post(`${path}/${subresource}`, undefined, { container, command: 'true', stdout: 'true' });
    const NOT_EXEC = 'exec and attach are not allowed in the container platform-sidecar';

    beforeAll(async () => {
      const object = opted({ initContainers: [sidecar()] });
      await store({ ...object, metadata: { ...object.metadata, name: 'reached' } });
      // The test's user is in system:masters.
      await guard('deny', ({ code }) => code === 0, object, 'guard.alsoAllowed.execGroups={debuggers}');
      for (const end = performance.now() + 120_000; !(await exec('platform-sidecar')).includes(NOT_EXEC);) {
        if (performance.now() > end) throw new Error('the guard of exec is not active');
        await delay(100);
      }
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
      const args = ['exec', '-n', 'team', 'reached', '-c', 'platform-sidecar', '--as', 'bob'];
      const groups = ['--as-group', 'debuggers', '--as-group', 'system:masters'];
      expect((await kubectl([...args, ...groups, '--', 'true'])).stderr).toContain('does not have a host');
      const { stderr } = await kubectl([...args, '--as-group', 'system:masters', '--', 'true']);
      expect(stderr).toContain(NOT_EXEC);
    });

    test.each<[string, object]>([
      ['an annotation of the product', { annotations: { 'platform.io/ca': 'of another author' } }],
      ['a label of the product', { labels: { 'platform.io/agent': 'pay' } }],
      ['too many labels', { labels: Object.fromEntries(Object.entries(labels(102)).slice(1)) }],
      ['the annotation of a mirror pod', { annotations: { 'kubernetes.io/config.mirror': 'x' } }],
    ])('rejects a binding to a node with %s', async (_what, metadata) => {
      const target = { apiVersion: 'v1', kind: 'Node', name: 'n' };
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'reached', ...metadata },
        target,
      };
      for (const url of [`${path}/binding`, '/api/v1/namespaces/team/bindings'])
        expect(await post(url, binding)).toContain(
          'a binding must not have labels or annotations of platform.io',
        );
    });

    test('allows other bindings', async () => {
      const object = opted({ initContainers: [sidecar()] });
      await store({ ...object, metadata: { ...object.metadata, name: 'bound' } });
      const metadata = { name: 'bound', annotations: { 'scheduler.example/zone': 'a' } };
      const target = { apiVersion: 'v1', kind: 'Node', name: 'n' };
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata, target };
      expect(await post('/api/v1/namespaces/team/pods/bound/binding', binding)).toBe('');
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
      const contentType = 'application/strategic-merge-patch+json';
      const body = { ...change, metadata };
      const response = await client.send<{ metadata: object }>({
        ...{ method: 'PATCH', path: `${path}/${subresource}`, body, contentType },
      });
      expect(response.ok).toBe(true);
      expect(response.ok && response.body.metadata).toMatchObject({
        labels: { 'platform.io/agent': 'x' },
        annotations: { 'platform.io/inject': 'true' },
      });
      expect(response.ok && Object.keys((response.body.metadata as { labels: object }).labels)).toHaveLength(
        1,
      );
    });
  });

  describe('without sidecars of manually written manifests', () => {
    const MANUAL = 'a sidecar in a manually written manifest is not allowed in this cluster';
    const manual = {
      ...pod(undefined, { initContainers: [sidecar()], volumes: VOLUMES }),
      metadata: { name: 'x', labels: { 'platform.io/agent': 'x' } },
    };

    test('rejects them, and admits injected pods', async () => {
      expect(await create(manual)).toEqual({ code: 0, stderr: '' });
      await guard('deny', ({ stderr }) => stderr.includes(MANUAL), manual, 'guard.allowManualSidecars=false');
      expect(await create(opted({ initContainers: [sidecar()] }))).toEqual({ code: 0, stderr: '' });
    });
  });

  describe('a token of a ServiceAccount', () => {
    const ONLY_KUBELET = 'only a kubelet may request a token for the audience platform.io';
    const SIDECAR_AUDIENCE = ['--audience', 'platform.io'];
    const KUBELET = ['--as', 'system:node:n', '--as-group', 'system:nodes'];
    /** The rules of `edit`; the controller that aggregates them into `edit` does not run here. */
    const EDIT = 'system:aggregate-to-edit';
    const EDITOR = ['--as', 'eve', '--as-group', 'system:authenticated'];
    const token = (user: string[], audiences: string[], namespace = 'team') =>
      kubectl(['create', 'token', 'default', '-n', namespace, ...audiences, ...user]);

    beforeAll(async () => {
      await kubectl(['create', 'rolebinding', 'eve', '-n', 'team', '--clusterrole', EDIT, '--user', 'eve']);
      // The node authorizer allows a kubelet to do this only for pods of its node, and no pod is on a node here.
      const grant = ['--verb', 'create', '--resource', 'serviceaccounts/token'];
      await kubectl(['create', 'clusterrole', 'tokens', ...grant]);
      const users = ['--group', 'system:nodes', '--user', 'system:node:n', '--user', 'tool'];
      await kubectl(['create', 'clusterrolebinding', 'tokens', '--clusterrole', 'tokens', ...users]);
      const end = performance.now() + 120_000;
      for (
        let reported = '';
        !reported.includes(ONLY_KUBELET);
        reported = (await token(EDITOR, SIDECAR_AUDIENCE)).stderr
      ) {
        if (performance.now() > end) throw new Error(`the guard of tokens is not active: ${reported}`);
        await delay(100);
      }
    });

    test.each<[string, string[], string[], string]>([
      ['an editor of the namespace', EDITOR, SIDECAR_AUDIENCE, 'team'],
      [
        'an editor who also requests another audience',
        EDITOR,
        ['--audience', 'vault', ...SIDECAR_AUDIENCE],
        'team',
      ],
      ['a cluster administrator', [], SIDECAR_AUDIENCE, 'team'],
      ['a cluster administrator, in a namespace without injection', [], SIDECAR_AUDIENCE, 'kube-system'],
      [
        'a member of system:nodes that is not a node',
        ['--as', 'tool', '--as-group', 'system:nodes'],
        SIDECAR_AUDIENCE,
        'team',
      ],
    ])("for the sidecar's audience is not issued to %s", async (_case, user, audiences, namespace) => {
      const response = await token(user, audiences, namespace);
      expect([response.code, response.stderr]).toEqual([1, expect.stringContaining(ONLY_KUBELET)]);
    });

    test.each<[string, string[], string[]]>([
      ["for the sidecar's audience for a kubelet", KUBELET, SIDECAR_AUDIENCE],
      ['for another audience', EDITOR, ['--audience', 'vault']],
      ['for the API server', EDITOR, []],
    ])('%s is issued', async (_what, user, audiences) => {
      const { code, stdout, stderr } = await token(user, audiences);
      expect({ code, stderr, parts: stdout.split('.').length }).toEqual({ code: 0, stderr: '', parts: 3 });
    });
  });

  test.each(['kube-system', 'platform-system'])('ignores pods in %s', async (namespace) => {
    expect((await create(opted(), namespace)).code).toBe(0);
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
      const old = opted({ initContainers: [sidecar()] });
      const isActive = ({ stderr }: { stderr: string }) => stderr.includes(ENGINE_NOT_INJECTED);
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

    test.each<[string, object]>([
      ['has the injected engine', whole([rules, opa])],
      [
        'has the engine and the sidecar of an earlier version',
        opted({
          initContainers: [rules, old, withoutSocket],
          volumes: volumes.filter(({ name }) => name !== 'platform-engine'),
        }),
      ],
      ['has another version of the engine', whole([rules, { ...opa, image: 'registry:5000/opa:2' }])],
      [
        'has the engine by its digest',
        whole([rules, { ...opa, image: `registry:5000/opa@sha256:${'a'.repeat(64)}` }]),
      ],
    ])('admits a pod that %s', async (_what, object) => {
      expect(await create(object)).toMatchObject({ code: 0, stderr: '' });
    });

    test.each<[string, object, string]>([
      ['has no engine', whole([]), ENGINE_NOT_INJECTED],
      [
        'has an engine of another image',
        whole([rules, { ...opa, image: 'registry:5000/opa-fake:1' }]),
        ENGINE_NOT_INJECTED,
      ],
      [
        'has an engine with other rules',
        whole([rules, { ...opa, args: ['run', '--server', '/mine'] }]),
        ENGINE_NOT_INJECTED,
      ],
      ['has an engine that does not serve the socket', whole([rules, old]), ENGINE_NOT_INJECTED],
      [
        'has an engine without the directory of the socket',
        whole([rules, { ...opa, volumeMounts: old.volumeMounts }]),
        ENGINE_NOT_INJECTED,
      ],
      [
        'has a sidecar without the directory of the socket',
        opted({
          initContainers: [rules, opa, sidecar({ env: withSocket.env })],
          volumes,
        }),
        ENGINE_NOT_INJECTED,
      ],
      [
        'queries another socket',
        opted({
          initContainers: [
            rules,
            opa,
            sidecar({ ...withSocket, env: envOf({ ...ENGINE_ENV, POLICY_SOCKET: '/mine.sock' }) }),
          ],
          volumes,
        }),
        DIFFERS,
      ],
      [
        'mounts the directory of the socket into another container',
        whole([rules, opa], {
          containers: [{ ...agent, volumeMounts: [{ name: 'platform-engine', mountPath: '/x' }] }],
        }),
        'are reserved for the sidecar: no other container may mount them',
      ],
      ['has an engine with a command', whole([rules, { ...opa, command: ['true'] }]), ENGINE_NOT_INJECTED],
      ['has an engine that runs once', whole([rules, once(opa)]), ENGINE_NOT_INJECTED],
      ['renders no rules', whole([opa]), ENGINE_NOT_INJECTED],
      ['renders rules with another image', whole([{ ...rules, image: 'busybox' }, opa]), ENGINE_NOT_INJECTED],
      ['renders rules with another command', whole([{ ...rules, args: ['true'] }, opa]), ENGINE_NOT_INJECTED],
      [
        'provides its own rules',
        whole([rules, opa], {
          volumes: volumes.map((volume) =>
            volume.name === 'platform-policy' ? { name: volume.name, configMap: { name: 'mine' } } : volume,
          ),
        }),
        'its volumes differ from those that the injector adds: platform-policy',
      ],
      [
        'configures the engine with variables',
        whole([rules, { ...opa, env: [{ name: 'OPA_RUN_SET', value: 'x' }] }]),
        DIFFERS,
      ],
      [
        'queries another engine',
        opted({
          initContainers: [
            rules,
            opa,
            sidecar({ env: envOf({ ...ENGINE_ENV, POLICY_URL: 'http://10.0.0.1' }) }),
          ],
          volumes,
        }),
        DIFFERS,
      ],
      [
        'has a mode below the minimum',
        opted({
          initContainers: [
            rules,
            opa,
            sidecar({ env: envOf({ ...ENGINE_ENV, POLICY_PROXY_MODE: 'track' }) }),
          ],
          volumes,
        }),
        DIFFERS,
      ],
      [
        'has a mode of lanes below the minimum',
        opted({
          initContainers: [rules, opa, sidecar({ env: envOf({ ...ENGINE_ENV, EGRESS_MODE: 'track' }) })],
          volumes,
        }),
        DIFFERS,
      ],
      [
        'has a grade below the minimum',
        opted({}, { 'platform.io/compliant-grade': 'D' }),
        'annotation platform.io/compliant-grade: "D" is not one of "A", "B", "C"',
      ],
      [
        'has evidence below the minimum',
        opted({}, { 'platform.io/compliant-evidence': '39' }),
        'annotation platform.io/compliant-evidence: "39" is not an integer from 40 to 100',
      ],
      ...[8181, 8282].flatMap((containerPort): [string, object, string][] => [
        [
          `listens on ${containerPort}`,
          whole([rules, opa], { containers: [{ ...agent, ports: [{ containerPort }] }] }),
          'ports 4000, 4001, 8181 and 8282 are reserved for the sidecar',
        ],
        [
          `has agent port ${containerPort} in its annotation`,
          opted({}, { 'platform.io/agent-port': String(containerPort) }),
          'ports 4000, 4001, 8181 and 8282 are reserved for the sidecar',
        ],
      ]),
    ])('rejects a pod that opts in and %s', async (_what, object, message) => {
      const { code, stderr } = await create(object);
      expect(code).toBe(1);
      expect(stderr).toContain(message);
    });

    test('rejects compliance thresholds of an observation below the minimum', async () => {
      const crd = join(import.meta.dirname, '../crds/agentobservations.yaml');
      expect(await kubectl([...APPLY, '-f', crd])).toMatchObject({ code: 0 });
      await kubectl(['wait', '--for=condition=Established', 'crd/agentobservations.platform.io']);
      const observation = (grade: string | null, name = 'bar') => ({
        apiVersion: 'platform.io/v1',
        kind: 'AgentObservation',
        metadata: { name, annotations: grade === null ? {} : { 'platform.io/compliant-grade': grade } },
        spec: { source: 'remote' },
      });
      const dryRun = async (grade: string) =>
        (
          await kubectl(
            ['create', UNVALIDATED, '-n', 'team', '--dry-run=server', '-f', '-'],
            observation(grade, 'new'),
          )
        ).stderr;
      // This is a separate policy for a new resource, so it may become active later.
      for (const end = performance.now() + 120_000; (await dryRun('D')) === '';) {
        if (performance.now() > end) throw new Error('the guard of observations is not active');
        await delay(200);
      }
      const message =
        'AgentObservation new: annotation platform.io/compliant-grade: "E" is not one of "A", "B", "C"';
      expect(await dryRun('E')).toContain(message);
      expect(await dryRun('C')).toBe('');
      expect(await kubectl(['create', UNVALIDATED, '-n', 'team', '-f', '-'], observation('A'))).toMatchObject(
        { code: 0 },
      );
      const setGrade = async (grade: string | null) => {
        const patch = { metadata: { annotations: { 'platform.io/compliant-grade': grade } } };
        const args = ['patch', '-n', 'team', 'ao', 'bar', '--type=merge', '-p', JSON.stringify(patch)];
        return (await kubectl(args)).code;
      };
      expect([await setGrade('D'), await setGrade('B'), await setGrade(null)]).toEqual([1, 0, 0]);
      const setEvidence = async (evidence: string | null) => {
        const patch = { metadata: { annotations: { 'platform.io/compliant-evidence': evidence } } };
        return kubectl(['patch', '-n', 'team', 'ao', 'bar', '--type=merge', '-p', JSON.stringify(patch)]);
      };
      expect((await setEvidence('39')).stderr).toContain(
        'AgentObservation bar: annotation platform.io/compliant-evidence: "39" is not an integer from 40 to 100',
      );
      const codes = [];
      for (const evidence of ['101', 'half', '40', '100', null])
        codes.push((await setEvidence(evidence)).code);
      expect(codes).toEqual([1, 1, 0, 0, 0]);
    });

    test('rejects another image for a running engine', async () => {
      const live = whole([rules, opa]);
      live.metadata.name = 'live-engine';
      await store(live);
      expect((await change('live-engine', imageOf('busybox', 'platform-opa'))).stderr).toContain(
        ENGINE_NOT_INJECTED,
      );
      const newer = imageOf('registry:5000/opa:2', 'platform-opa');
      expect(await change('live-engine', newer)).toMatchObject({ code: 0, stderr: '' });
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
        ({ code }) => code === 0,
        opted({ initContainers: [injected] }),
        ...[...values, 'baseUrl=https://llm.example/v1'].map((value) => `llmAnalysis.${value}`),
      );
    });

    test.each<[string, object]>([
      ['has the injected variables', opted({ initContainers: [injected] })],
      ['was injected before the analysis was turned on', opted({ initContainers: [sidecar()] })],
    ])('admits a pod that %s', async (_what, object) => {
      expect(await create(object)).toMatchObject({ code: 0, stderr: '' });
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
      const { code, stderr } = await create(withVariable(variable));
      expect([code, stderr]).toEqual([1, expect.stringContaining(`platform-sidecar/${variable.name} (for`)]);
    });

    test('rejects a second variable with the key', async () => {
      const env = [...(injected.env ?? []), reference({})];
      // The API server itself may also reject a repeated name.
      expect((await create(opted({ initContainers: [{ ...injected, env }] }))).code).toBe(1);
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
        ({ code }) => code === 0,
        withOtlp({ initContainers: [receiving(collector)] }),
        `sidecar.otlp.collector=${collector}`,
      );
    });

    test.each<[string, object]>([
      ['receives and forwards OTLP', withOtlp({ initContainers: [receiving(collector)] })],
      ['was injected before the collector was configured', withOtlp({ initContainers: [receiving(null)] })],
      ['does not receive OTLP', opted({ initContainers: [sidecar()] })],
      [
        'does not receive OTLP and uses port 4318',
        opted({
          containers: [{ ...agent, ports: [{ containerPort: 4318 }] }],
          initContainers: [sidecar()],
        }),
      ],
    ])('admits a pod that %s', async (_what, object) => {
      expect(await create(object)).toMatchObject({ code: 0, stderr: '' });
    });

    test.each([
      ['OTLP_FORWARD_URL', 'http://collectorXobservability:4318'],
      ['OTLP_FORWARD_URL', `${collector}.evil.example`],
      ['OTLP_PORT', '4319'],
    ])('rejects a sidecar with another %s, %s', async (name, value) => {
      const { env = [], ...rest } = receiving(collector);
      const changed = [...env.filter((variable) => variable.name !== name), { name, value }];
      const { code, stderr } = await create(withOtlp({ initContainers: [{ ...rest, env: changed }] }));
      expect([code, stderr]).toEqual([1, expect.stringContaining(`platform-sidecar/${name} (for`)]);
    });
  });

  test('with guard.action=warn admits the pod and warns the client', async () => {
    await guard('warn', ({ code }) => code === 0);
    const dry = ['create', UNVALIDATED, '-n', 'team', '--dry-run=server', '-f', '-'];
    const { code, stderr } = await kubectl(dry, opted());
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Warning: /);
    expect(stderr).toContain(UNAVAILABLE);
  });
});
