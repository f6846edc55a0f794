// The chart's guard at a real API server, without an injector: what it lets through, and what it says of the rest.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { ANNOTATIONS, describeAnnotationProblem } from '../core/injection/annotations.ts';
import { buildSidecar, buildVolumes, type InjectionPlan } from '../core/injection/build-sidecar.ts';
import { buildEngine, buildEngineVolumes } from '../core/injection/build-engine.ts';
import type { Injection } from '../core/injection/guard-table.ts';
import type { Container } from '../core/injection/pod.ts';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { createKubeClient, type KubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { clusterBinary } from '../testing/cluster-binary.ts';
import { injectionSettings } from '../testing/pods.ts';

// Far more than any of it takes.
jest.setTimeout(300_000);

const CHART = join(import.meta.dirname, 'agent-compliance');
const PREVIOUS = join(import.meta.dirname, '../core/injection/previous');
const AWAY = 'has no platform-sidecar: the injector did not answer';
const OTHERWISE = 'its platform-sidecar is not set up as the injector does it';
const IMPOSTOR = 'its platform-sidecar is not the one that the injector puts in';

type Spec = Record<string, unknown>;

const agent = { name: 'agent', image: 'agent', ports: [{ containerPort: 8000 }] };
const SETTINGS = injectionSettings({ image: 'registry.example/agent-compliance/sidecar:0.1.0' });
const PLAN: InjectionPlan = {
  ...{ agentName: 'x', agentContainer: 'agent', agentPort: 8000, manifestConfigMap: 'x-manifest' },
  ...{ mode: 'track', image: SETTINGS.image, logLevel: 'info', resources: SETTINGS.resources },
};
const TRUE = buildSidecar(PLAN, agent, [], SETTINGS);
const VOLUMES = buildVolumes(PLAN, SETTINGS);
const ENV = Object.fromEntries((TRUE.env ?? []).map(({ name, value }) => [name, value]));
const envOf = (change: Record<string, string | undefined> = {}) =>
  Object.entries({ ...ENV, ...change }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value }],
  );
/** What only a native sidecar may have is gone. */
const ONCE = {
  ...{ restartPolicy: undefined, lifecycle: undefined },
  ...{ startupProbe: undefined, readinessProbe: undefined },
};
const sidecar = (change: Spec = {}) => ({ ...TRUE, ...change });
const mount = (mountPath: string, more: Spec = {}) => ({
  volumeMounts: [...(TRUE.volumeMounts ?? []), { name: 'mine', mountPath, ...more }],
});
const mine = { volumes: [{ name: 'mine', emptyDir: {} }] };
const pod = (annotations: Record<string, string> | undefined, spec: Spec = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'x', ...(annotations && { annotations }) },
  spec: { containers: [agent], ...spec },
});
/** Opted in; with a sidecar also the volumes and the label that the injector adds. */
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

(whyNoControlPlane() ? describe.skip : describe)('the guard', () => {
  let control: ControlPlane;
  let client: KubeClient;

  const kubectl = (args: string[], input: unknown = ''): Promise<RunResult> =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args], {
      input: JSON.stringify(input),
    });
  /** As kubectl would, on a kept connection, since there are many; `stderr` is what is said against the pod. */
  async function create(object: object, namespace = 'team'): Promise<Pick<RunResult, 'code' | 'stderr'>> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const answer = await client.send({ method: 'POST', path, query: { dryRun: 'All' }, body: object });
    return answer.ok ? { code: 0, stderr: '' } : { code: 1, stderr: answer.message };
  }

  /** Applies the guard, and waits until it is in force, which takes about a second: another rejection of the probe is not it. */
  async function guard(
    action: string,
    isInForce: (answer: Pick<RunResult, 'code' | 'stderr'>) => boolean,
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
    for (const document of parseAllDocuments(rendered.stdout)) {
      const { code, stderr } = await kubectl(['apply', '-f', '-'], document.toJS());
      if (code !== 0) throw new Error(stderr);
    }
    for (const end = performance.now() + 120_000; !isInForce(await create(probe));) {
      if (performance.now() > end) throw new Error('the guard is not in force');
      await delay(200);
    }
  }

  beforeAll(async () => {
    control = await startControlPlane();
    client = createKubeClient({ access: loadClusterAccess(control.kubeconfig), part: 'test' });
    for (const name of ['team', 'platform-system']) {
      await kubectl(['create', 'namespace', name]);
      // The controller that makes it does not run here.
      await kubectl(['create', 'serviceaccount', 'default', '-n', name]);
    }
    await kubectl(['create', 'serviceaccount', 'default', '-n', 'kube-system']);
    await guard('deny', ({ stderr }) => stderr.includes(AWAY));
  });
  afterAll(async () => {
    await client.close();
    await control.close();
  });

  test.each<[string, object]>([
    ['says nothing', pod(undefined)],
    ['opts out', pod({ 'platform.io/inject': 'false' })],
    ['opts out and has a wrong value', pod({ 'platform.io/inject': 'false', 'platform.io/agent-port': 'x' })],
    ['has other annotations alone', pod({ 'platform.io/agent-port': 'x' })],
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
      'has a sidecar to which other webhooks gave variables and mounts of theirs',
      opted({
        ...mine,
        initContainers: [
          sidecar({
            env: [...envOf(), { name: 'AWS_REGION', value: 'eu' }],
            ...mount('/var/run/secrets/eks.amazonaws.com/serviceaccount'),
          }),
        ],
      }),
    ],
    [
      'listens on a port of the engine, without one',
      opted({
        containers: [{ ...agent, ports: [{ containerPort: 8181 }] }],
        initContainers: [sidecar()],
      }),
    ],
  ])('lets a pod through that %s', async (_what, object) => {
    expect(await create(object)).toMatchObject({ code: 0, stderr: '' });
  });

  test.each<[string, object, string]>([
    ['has no sidecar', opted(), `pod x is opted in (annotation platform.io/inject: true) but ${AWAY}`],
    ['has another image', opted({ initContainers: [sidecar({ image: 'busybox' })] }), IMPOSTOR],
    [
      'has an image that only begins like it',
      opted({ initContainers: [sidecar({ image: 'registry.example/agent-compliance/sidecar-fake:1' })] }),
      IMPOSTOR,
    ],
    [
      'has another version of an allowed image',
      opted({ initContainers: [sidecar({ image: 'mirror/sidecar:8' })] }),
      IMPOSTOR,
    ],
    ['has it as a plain init container', opted({ initContainers: [sidecar(ONCE)] }), IMPOSTOR],
    ['has it with a command', opted({ initContainers: [sidecar({ command: ['true'] })] }), IMPOSTOR],
    ['has it with arguments', opted({ initContainers: [sidecar({ args: ['x'] })] }), IMPOSTOR],
    [
      'has it as a container',
      opted({ containers: [agent, sidecar({ ...ONCE, volumeMounts: undefined, ports: undefined })] }),
      AWAY,
    ],
    [
      'has hostNetwork',
      opted({ hostNetwork: true, containers: [{ name: 'agent', image: 'agent' }] }),
      'a pod with hostNetwork cannot be injected: ports 4000 and 4001 would be taken on the node',
    ],
    ...[4000, 4001].map((containerPort): [string, object, string] => [
      `listens on ${containerPort}`,
      opted({ containers: [{ ...agent, ports: [{ containerPort }] }] }),
      "ports 4000 and 4001 are the sidecar's: let the agent, and every other container, listen elsewhere",
    ]),
    [
      'says that its agent listens on 4001',
      opted({}, { 'platform.io/agent-port': '4001' }),
      "ports 4000 and 4001 are the sidecar's",
    ],
    ...(
      [
        ['lacks a variable of the injector', { env: envOf({ POLICY_PROXY_MODE: undefined }) }],
        ['leads to another host', { env: envOf({ UPSTREAM_URL: 'http://10.0.0.1:80' }) }],
        ['evaluates nothing', { env: envOf({ POLICY_ENGINE: 'none' }) }],
        ['has a mode that is none', { env: envOf({ POLICY_PROXY_MODE: 'never' }) }],
        ['lets everybody at its control port', { env: envOf({ CONTROL_ACCESS: 'all' }) }],
        [
          'has a variable twice',
          { env: [...envOf(), { name: 'UPSTREAM_URL', value: 'http://10.0.0.1:80' }] },
        ],
        [
          'has a variable from elsewhere',
          {
            env: [
              ...envOf({ POLICY_PROXY_MODE: undefined }),
              { name: 'POLICY_PROXY_MODE', valueFrom: { configMapKeyRef: { name: 'x', key: 'y' } } },
            ],
          },
        ],
        ['has variables from elsewhere', { envFrom: [{ configMapRef: { name: 'x' } }] }],
        ['runs other code first', { env: envOf({ NODE_OPTIONS: '--import=/manifest/evil.mjs' }) }],
        ['takes compiled code from elsewhere', { env: envOf({ NODE_COMPILE_CACHE: '/manifest' }) }],
        ['preloads a library', { env: envOf({ LD_PRELOAD: '/manifest/evil.so' }) }],
        ['believes any certificate', { env: envOf({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }) }],
        ['starts in another folder', { workingDir: '/manifest' }],
        ['has a hook that runs something', { lifecycle: { postStart: { exec: { command: ['true'] } } } }],
        ['has an end that runs something', { lifecycle: { preStop: { exec: { command: ['true'] } } } }],
        ['has a probe that runs something', { startupProbe: { exec: { command: ['true'] } } }],
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
      opted({ ...mine, initContainers: [sidecar(change)] }),
      OTHERWISE,
    ]),
    [
      'mounts what is injected',
      opted({
        containers: [{ ...agent, volumeMounts: [{ name: 'platform-policy', mountPath: '/rules' }] }],
        initContainers: [sidecar()],
        volumes: [{ name: 'platform-policy', emptyDir: {} }],
      }),
      "the sidecar's: let no other container mount them",
    ],
    [
      'has a value of many lines',
      opted({}, { 'platform.io/agent-port': '1\n2' }),
      'annotation platform.io/agent-port is not an integer from 1 to 65535',
    ],
    [
      'has a value of 200 KB',
      opted({}, { 'platform.io/agent-name': 'a'.repeat(200_000) }),
      'annotation platform.io/agent-name is not a DNS label',
    ],
  ])('refuses a pod that opts in and %s', async (_what, object, words) => {
    const { code, stderr } = await create(object);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
  });

  const env = (name: string, value = 'x') => ({ env: [...envOf(), { name, value }] });
  const withResources = (side: 'requests' | 'limits', change: Spec) => ({
    resources: { ...TRUE.resources, [side]: { ...TRUE.resources?.[side], ...change } },
  });
  const heap = (mebibytes: number) => ({
    env: envOf({ NODE_OPTIONS: `--max-old-space-size=${mebibytes} --max-semi-space-size=8` }),
  });
  const security = (change: Spec) => ({
    securityContext: { ...(TRUE['securityContext'] as object), ...change },
  });
  const without = (volume: string) => ({
    volumeMounts: TRUE.volumeMounts?.filter(({ name }) => name !== volume),
  });
  const tokenOf = (audience: string) => ({
    projected: { sources: [{ serviceAccountToken: { audience, path: 'token' } }] },
  });

  // Who writes pods has the true image and everything else as the injector has it, and changes one thing.
  test.each<[string, Spec, string]>([
    ...[
      ...['PROXY_PORT', 'CONTROL_PLANE_PORT', 'BIND_ADDRESS', 'PLATFORM_KEY', 'AUDIT_RING_SIZE'],
      ...['OPENSSL_CONF', 'SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY', 'ANYTHING', 'AWS_REGION2'],
    ].map((name): [string, Spec, string] => [
      `sets ${name}`,
      env(name),
      `environment variables platform-sidecar/${name} (of other`,
    ]),
    ...Object.keys(ENV).map((name): [string, Spec, string] => [
      `leaves ${name} out`,
      { env: envOf({ [name]: undefined }) },
      `environment variables platform-sidecar/${name} (of other`,
    ]),
    [
      'sends heartbeats elsewhere',
      {
        env: envOf({
          PLATFORM_URL: 'https://agent-compliance-control-plane.platform-system.svc.evil.example:8080',
        }),
      },
      'platform-sidecar/PLATFORM_URL',
    ],
    ['reads another manifest', { env: envOf({ MANIFEST_PATH: '/manifest/other.yaml' }) }, 'MANIFEST_PATH'],
    ['has the sidecar proxy itself', { env: envOf({ UPSTREAM_URL: 'http://127.0.0.1:4001' }) }, OTHERWISE],
    ['has it do so by name', { env: envOf({ UPSTREAM_URL: 'http://localhost:4001' }) }, OTHERWISE],
    ['has another name', { env: envOf({ AGENT_NAME: 'pay' }) }, OTHERWISE],
    ['has hardly any heap', heap(10), OTHERWISE],
    ['has more heap than memory', heap(4096), OTHERWISE],
    [
      'has a heap beyond numbers',
      { env: envOf({ NODE_OPTIONS: '--max-old-space-size=99999999999999999999 --max-semi-space-size=8' }) },
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
      `mounts platform-sidecar ${path} (of`,
    ]),
    ['mounts no manifest', without('platform-manifest'), 'mounts platform-sidecar /manifest (of'],
    [
      'mounts no identity',
      without('platform-identity'),
      'mounts platform-sidecar /var/run/secrets/platform.io (of',
    ],
    [
      'mounts the API token',
      without('platform-noapi'),
      'mounts platform-sidecar /var/run/secrets/kubernetes.io/serviceaccount',
    ],
    ['requests memory of 32Mi', withResources('requests', { memory: '32Mi' }), 'platform-sidecar.resources'],
    [
      'has no memory limit',
      { resources: { requests: TRUE.resources?.requests } },
      'platform-sidecar.resources',
    ],
    ['requests no CPU', withResources('requests', { cpu: '0' }), 'platform-sidecar.resources'],
    ['wants huge pages', withResources('limits', { 'hugepages-2Mi': '2Mi' }), 'platform-sidecar.resources'],
    [
      'has its port on the node',
      { ports: [{ containerPort: 4000, hostPort: 4000 }, { containerPort: 4001 }] },
      'platform-sidecar.ports',
    ],
    [
      'has another port',
      { ports: [...(TRUE.ports ?? []), { containerPort: 9000 }] },
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
    ['is ready whatever it does', { readinessProbe: undefined }, 'platform-sidecar.readinessProbe'],
    [
      'lets the agent start first',
      { startupProbe: { httpGet: { path: '/', port: 8000 } } },
      'platform-sidecar.startupProbe',
    ],
    [
      'is ended by a probe',
      { livenessProbe: { httpGet: { path: '/', port: 1 } } },
      'platform-sidecar.livenessProbe',
    ],
    [
      'asks a host for its end',
      { lifecycle: { preStop: { httpGet: { path: '/', port: 80, host: '10.0.0.1' } } } },
      'platform-sidecar.lifecycle',
    ],
    ['has no end', { lifecycle: undefined }, 'platform-sidecar.lifecycle'],
    ['waits for input', { stdin: true }, 'platform-sidecar.stdin'],
    ['is never pulled', { imagePullPolicy: 'Never' }, 'platform-sidecar.imagePullPolicy'],
  ])('refuses a true sidecar that %s', async (_what, change, words) => {
    const { code, stderr } = await create(opted({ ...mine, initContainers: [sidecar(change)] }));
    expect(stderr).toContain(words);
    expect(code).toBe(1);
  });

  test.each<[string, Spec, string]>([
    [
      'another manifest',
      { volumes: [{ name: 'platform-manifest', configMap: { name: 'other', defaultMode: 0o644 } }] },
      'platform-manifest',
    ],
    [
      'an entry under another name',
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
      'a token of the sidecar for the agent',
      { volumes: [{ name: 'mine', ...tokenOf('platform.io') }] },
      'mine',
    ],
  ])('refuses a pod with %s', async (_what, spec, name) => {
    const { stderr } = await create(opted({ initContainers: [sidecar()], ...spec }));
    expect(stderr).toContain(`its volumes are not those that the injector puts in: ${name}`);
  });

  test.each<[string, Spec, string]>([
    [
      'that mounts the identity, by a name of the injector that is not in use',
      { name: 'platform-opa', image: 'x', volumeMounts: [{ name: 'platform-identity', mountPath: '/x' }] },
      "the sidecar's: let no other container mount them",
    ],
    [
      'on its port, by such a name',
      { name: 'platform-policy', image: 'x', ports: [{ containerPort: 4000 }] },
      'ports 4000 and 4001',
    ],
  ])('refuses a container %s', async (_what, container, words) => {
    const containers = opted({ containers: [agent, container], initContainers: [sidecar()] });
    expect((await create(containers)).stderr).toContain(words);
    const init = opted({ initContainers: [sidecar(), { ...container, restartPolicy: 'Always' }] });
    expect((await create(init)).stderr).toContain(words);
  });

  test('refuses a pod whose containers see the processes of the sidecar', async () => {
    const { stderr } = await create(opted({ initContainers: [sidecar()], shareProcessNamespace: true }));
    expect(stderr).toContain('shareProcessNamespace lets the other containers end the sidecar');
  });

  test('lets through what an API server and other plugins add', async () => {
    const change = {
      imagePullPolicy: 'Always',
      env: [...envOf(), { name: 'AZURE_CLIENT_ID', value: 'x' }],
      resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
      resources: {
        requests: { ...TRUE.resources?.requests, 'ephemeral-storage': '1Mi' },
        limits: { ...TRUE.resources?.limits, memory: '1Gi' },
      },
    };
    expect(await create(opted({ initContainers: [sidecar(change)] }))).toEqual({ code: 0, stderr: '' });
  });

  test.each(readdirSync(PREVIOUS))('lets through what the injector of %s adds', async (file) => {
    const { containers, volumes } = JSON.parse(readFileSync(join(PREVIOUS, file), 'utf8')) as Injection;
    const of = containers.find(({ name }) => name === 'platform-sidecar');
    const inUse: Record<string, string | undefined> = { ...ENV, AGENT_ENV_NAMES: 'A,B,*' };
    // The sample has an engine, whose variables are not set without one.
    const variables = of?.env?.flatMap(({ name }) =>
      name === 'POLICY_URL' ? [] : [{ name, value: inUse[name] }],
    );
    const own = volumes
      .filter(({ name }) => name !== 'platform-policy')
      .map((volume) => ('configMap' in volume ? VOLUMES.find(({ name }) => name === volume.name) : volume));
    const old = { ...of, image: 'registry.example/agent-compliance/sidecar:0.1.0', env: variables };
    expect(await create(opted({ initContainers: [old], volumes: own }))).toEqual({ code: 0, stderr: '' });
  });

  /** Values that no row accepts, and for each row one that it does. */
  const BAD = ['', 'Not_A!Value', '0', 'x y'];
  const GOOD: Record<keyof typeof ANNOTATIONS, string> = {
    inject: 'true',
    agentName: 'chat',
    manifestConfigMap: 'chat.v1',
    agentContainer: 'agent',
    agentPort: '65535',
    mode: 'enforce',
    cpuRequest: '1m',
    cpuLimit: '64',
    memoryRequest: '96Mi',
    memoryLimit: '16Gi',
    image: 'registry:5000/a/b_c@sha256:0',
    logLevel: 'debug',
    compliantGrade: 'F',
    compliantEvidence: '100',
  };
  test.each(Object.entries(ANNOTATIONS))('says of %s what the injector says', async (key, row) => {
    const bad = BAD.filter((value) => !row.read(value).ok);
    expect(bad.length).toBeGreaterThan(0);
    for (const value of bad) {
      const { stderr } = await create(opted({}, { [row.name]: value }));
      expect(stderr).toContain(describeAnnotationProblem({ name: row.name, value, allowed: row.allowed }));
    }
    const good = GOOD[key as keyof typeof ANNOTATIONS];
    expect(row.read(good).ok).toBe(true);
    expect((await create(opted({}, { [row.name]: good }))).stderr).toContain(AWAY);
  });

  const change = (name: string, patch: object, type = 'strategic') =>
    kubectl(['patch', '-n', 'team', 'pod', name, `--type=${type}`, '-p', JSON.stringify(patch)]);
  const imageOf = (image: string, name = 'platform-sidecar') => ({
    spec: { initContainers: [{ name, image }] },
  });

  test('refuses nothing else that is changed later, and no ephemeral container', async () => {
    const bare = { ...pod({}, { initContainers: [{ name: 'x', image: 'a' }] }), metadata: { name: 'later' } };
    expect((await kubectl(['create', '-n', 'team', '-f', '-'], bare)).code).toBe(0);
    // Opted in by name alone, with a value that is none, it can be changed as ever: to be deleted, for one.
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

  test('lets nobody put another image in the place of a sidecar that runs', async () => {
    const live = { ...opted({ initContainers: [sidecar()] }) };
    live.metadata.name = 'live';
    expect(await kubectl(['create', '-n', 'team', '-f', '-'], live)).toMatchObject({ code: 0 });
    expect((await change('live', imageOf('busybox'))).stderr).toContain(IMPOSTOR);
    // Neither after it has opted out, and not by a look like a mirror of a static pod.
    const out = { metadata: { annotations: { 'platform.io/inject': 'false' } } };
    expect(await change('live', out)).toMatchObject({ code: 0, stderr: '' });
    expect((await change('live', imageOf('busybox'))).stderr).toContain(IMPOSTOR);
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
    const ONLY_INJECTOR = 'the label platform.io/agent is set by the injector only: remove it';

    test.each<[string, object, string]>([
      ['alone', labelled(pod(undefined)), ONLY_INJECTOR],
      ['and opts out', labelled(pod({ 'platform.io/inject': 'false' })), ONLY_INJECTOR],
      ['that is empty', labelled(pod(undefined), ''), ONLY_INJECTOR],
      ['and opts in', labelled(opted()), AWAY],
      [
        'and a sidecar of another image, and does not opt in',
        labelled(pod(undefined, { initContainers: [sidecar({ image: 'evil' })], volumes: VOLUMES })),
        IMPOSTOR,
      ],
      [
        'of another agent than its sidecar',
        labelled(opted({ initContainers: [sidecar()] }), 'pay'),
        OTHERWISE,
      ],
    ])('refuses a pod that has it %s', async (_what, object, words) => {
      expect((await create(object)).stderr).toContain(words);
    });

    test('lets an injected pod through that no longer says why it was injected', async () => {
      const object = labelled(pod(undefined, { initContainers: [sidecar()], volumes: VOLUMES }));
      expect(await create(object)).toEqual({ code: 0, stderr: '' });
    });

    test('is neither added, changed nor removed later', async () => {
      const later = 'may not be added or changed later';
      const bare = { ...pod(undefined), metadata: { name: 'bare' } };
      expect(await kubectl(['create', '-n', 'team', '-f', '-'], bare)).toMatchObject({ code: 0 });
      const label = (value: string | null) => ({ metadata: { labels: { 'platform.io/agent': value } } });
      expect((await change('bare', label('pay'))).stderr).toContain(later);
      const injected = { ...opted({ initContainers: [sidecar()] }) };
      injected.metadata.name = 'labelled';
      expect(await kubectl(['create', '-n', 'team', '-f', '-'], injected)).toMatchObject({ code: 0 });
      expect((await change('labelled', label('pay'))).stderr).toContain(later);
      expect((await change('labelled', label(null))).stderr).toContain(
        'nor removed while the sidecar is there',
      );
      expect(await change('labelled', { metadata: { labels: { other: 'x' } } })).toMatchObject({ code: 0 });
    });

    test('stays with the CA that the injector gave the sidecar', async () => {
      const ca = (value: string | null) => ({ metadata: { annotations: { 'platform.io/ca': value } } });
      const injected = opted({ initContainers: [sidecar()] }, { 'platform.io/ca': 'of the product' });
      injected.metadata.name = 'trusting';
      expect(await kubectl(['create', '-n', 'team', '-f', '-'], injected)).toMatchObject({ code: 0 });
      for (const value of ["of the agent's author", null])
        expect((await change('trusting', ca(value))).stderr).toContain(
          'the annotation platform.io/ca is set by the injector when a pod is created',
        );
      const bare = { ...pod(undefined), metadata: { name: 'unlabelled' } };
      expect(await kubectl(['create', '-n', 'team', '-f', '-'], bare)).toMatchObject({ code: 0 });
      expect(await change('unlabelled', ca('of anybody'))).toMatchObject({ code: 0 });
    });
  });

  test('keeps ephemeral containers from the identity, and the sidecar from being starved', async () => {
    const own = { ...opted({ ...mine, initContainers: [sidecar()] }) };
    own.metadata.name = 'debugged';
    expect(await kubectl(['create', '-n', 'team', '-f', '-'], own)).toMatchObject({ code: 0 });
    const path = '/api/v1/namespaces/team/pods/debugged';
    const contentType = 'application/strategic-merge-patch+json';
    const say = async (subresource: string, spec: Spec): Promise<string> => {
      const request = {
        path: `${path}/${subresource}`,
        query: { dryRun: 'All' },
        body: { spec },
        contentType,
      };
      const answer = await client.send({ method: 'PATCH', ...request });
      return answer.ok ? '' : answer.message;
    };
    const debug = (more: Spec) => ({ ephemeralContainers: [{ name: 'debug', image: 'busybox', ...more }] });
    const mounts = (name: string) => debug({ volumeMounts: [{ name, mountPath: '/x' }] });
    const resized = (requests: Spec) => ({
      initContainers: [{ name: 'platform-sidecar', resources: { requests } }],
    });
    // It is a policy of its own, which may be in force later than the one that was waited for.
    for (
      const end = performance.now() + 120_000;
      (await say('resize', resized({ memory: '32Mi' }))) === '';
    ) {
      if (performance.now() > end) throw new Error('the guard of pods that run is not in force');
      await delay(100);
    }
    for (const { name } of VOLUMES)
      expect(await say('ephemeralcontainers', mounts(name))).toContain(
        'pod debugged: an ephemeral container may not mount the volumes of the sidecar',
      );
    expect(await say('ephemeralcontainers', debug({ targetContainerName: 'platform-sidecar' }))).toContain(
      'pod debugged: an ephemeral container may not target a container of the injector',
    );
    expect(await say('resize', resized({ memory: '32Mi' }))).toContain(
      'at least 1m of CPU and 96Mi of memory',
    );
    expect(await say('ephemeralcontainers', mounts('mine'))).toBe('');
    expect(await say('ephemeralcontainers', debug({ targetContainerName: 'agent' }))).toBe('');
    expect(await say('resize', resized({ memory: '100Mi' }))).toBe('');
    const limited = (memory: string) => ({
      initContainers: [
        { name: 'platform-sidecar', resources: { requests: { memory: '96Mi' }, limits: { memory } } },
      ],
    });
    expect(await say('resize', limited('128Mi'))).toContain(
      'the memory limit of the sidecar may not fall below twice the heap that it was started with',
    );
    expect(await say('resize', limited('192Mi'))).toBe('');
  });

  describe('a token of a ServiceAccount', () => {
    const ONLY_KUBELET = 'a token of the audience platform.io is made by a kubelet only';
    const OURS = ['--audience', 'platform.io'];
    const KUBELET = ['--as', 'system:node:n', '--as-group', 'system:nodes'];
    /** Of `edit`, which a controller puts together that does not run here. */
    const EDIT = 'system:aggregate-to-edit';
    const EDITOR = ['--as', 'eve', '--as-group', 'system:authenticated'];
    const token = (who: string[], audiences: string[], namespace = 'team') =>
      kubectl(['create', 'token', 'default', '-n', namespace, ...audiences, ...who]);

    beforeAll(async () => {
      await kubectl(['create', 'rolebinding', 'eve', '-n', 'team', '--clusterrole', EDIT, '--user', 'eve']);
      // The node authorizer lets a kubelet do it for the pods of its node, of which there is none here.
      const grant = ['--verb', 'create', '--resource', 'serviceaccounts/token'];
      await kubectl(['create', 'clusterrole', 'tokens', ...grant]);
      const users = ['--group', 'system:nodes', '--user', 'system:node:n', '--user', 'tool'];
      await kubectl(['create', 'clusterrolebinding', 'tokens', '--clusterrole', 'tokens', ...users]);
      const end = performance.now() + 120_000;
      for (let said = ''; !said.includes(ONLY_KUBELET); said = (await token(EDITOR, OURS)).stderr) {
        if (performance.now() > end) throw new Error(`the guard of tokens is not in force: ${said}`);
        await delay(100);
      }
    });

    test.each<[string, string[], string[], string]>([
      ['who may edit the namespace', EDITOR, OURS, 'team'],
      ['who asks for another audience as well', EDITOR, ['--audience', 'vault', ...OURS], 'team'],
      ['a cluster administrator', [], OURS, 'team'],
      ['a cluster administrator, in a namespace without injection', [], OURS, 'kube-system'],
      ['a member of the nodes that is no node', ['--as', 'tool', '--as-group', 'system:nodes'], OURS, 'team'],
    ])('of the audience of the sidecar is not made for %s', async (_who, who, audiences, namespace) => {
      const answer = await token(who, audiences, namespace);
      expect([answer.code, answer.stderr]).toEqual([1, expect.stringContaining(ONLY_KUBELET)]);
    });

    test.each<[string, string[], string[]]>([
      ['of the audience of the sidecar for a kubelet', KUBELET, OURS],
      ['of another audience', EDITOR, ['--audience', 'vault']],
      ['of the API server', EDITOR, []],
    ])('%s is made', async (_what, who, audiences) => {
      const { code, stdout, stderr } = await token(who, audiences);
      expect({ code, stderr, parts: stdout.split('.').length }).toEqual({ code: 0, stderr: '', parts: 3 });
    });
  });

  test.each(['kube-system', 'platform-system'])('leaves %s alone', async (namespace) => {
    expect((await create(opted(), namespace)).code).toBe(0);
  });

  describe('with an engine beside the sidecar, and a floor under the mode', () => {
    const NOT_THE_ENGINE = 'its platform-opa and platform-policy are not those that the injector puts in';
    const ENGINE_ENV = {
      POLICY_ENGINE: 'opa',
      POLICY_URL: 'http://127.0.0.1:8181',
      POLICY_PROXY_MODE: 'enforce',
    };
    const settings = { ...SETTINGS, engine: { image: 'registry:5000/opa:1', resources: SETTINGS.resources } };
    const injected = buildEngine(PLAN, settings);
    const [rules, opa] = injected as [Container, Container];
    const once = ({ restartPolicy: _r, startupProbe: _s, livenessProbe: _l, ...rest }: Container) => rest;
    const volumes = buildEngineVolumes(settings);
    const whole = (containers: object[], others: Spec = {}) =>
      opted({ initContainers: [...containers, sidecar({ env: envOf(ENGINE_ENV) })], volumes, ...others });

    beforeAll(async () => {
      const values = ['policy.engine=opa', 'policy.opa.image=registry:5000/opa:1', 'policy.mode=enforce'];
      const old = opted({ initContainers: [sidecar()] });
      const isInForce = ({ stderr }: { stderr: string }) => stderr.includes(NOT_THE_ENGINE);
      await guard(
        'deny',
        isInForce,
        old,
        ...values,
        'policy.minimumMode=enforce',
        'policy.minimumCompliantGrade=C',
        'policy.minimumCompliantEvidence=40',
      );
    });

    test.each<[string, object]>([
      ['has what the injector makes', whole([rules, opa])],
      ['has another version of the engine', whole([rules, { ...opa, image: 'registry:5000/opa:2' }])],
      [
        'has the engine by its digest',
        whole([rules, { ...opa, image: `registry:5000/opa@sha256:${'a'.repeat(64)}` }]),
      ],
    ])('lets a pod through that %s', async (_what, object) => {
      expect(await create(object)).toMatchObject({ code: 0, stderr: '' });
    });

    test.each<[string, object, string]>([
      ['has no engine', whole([]), NOT_THE_ENGINE],
      [
        'has an engine of another image',
        whole([rules, { ...opa, image: 'registry:5000/opa-fake:1' }]),
        NOT_THE_ENGINE,
      ],
      [
        'has an engine on other rules',
        whole([rules, { ...opa, args: ['run', '--server', '/mine'] }]),
        NOT_THE_ENGINE,
      ],
      ['has an engine with a command', whole([rules, { ...opa, command: ['true'] }]), NOT_THE_ENGINE],
      ['has an engine that runs once', whole([rules, once(opa)]), NOT_THE_ENGINE],
      ['renders no rules', whole([opa]), NOT_THE_ENGINE],
      ['renders them by another image', whole([{ ...rules, image: 'busybox' }, opa]), NOT_THE_ENGINE],
      ['renders them otherwise', whole([{ ...rules, args: ['true'] }, opa]), NOT_THE_ENGINE],
      [
        'brings rules of its own',
        whole([rules, opa], {
          volumes: [{ name: 'platform-policy', configMap: { name: 'mine' } }],
        }),
        'its volumes are not those that the injector puts in: platform-policy',
      ],
      [
        'configures the engine by variables',
        whole([rules, { ...opa, env: [{ name: 'OPA_RUN_SET', value: 'x' }] }]),
        OTHERWISE,
      ],
      [
        'asks another engine',
        opted({
          initContainers: [
            rules,
            opa,
            sidecar({ env: envOf({ ...ENGINE_ENV, POLICY_URL: 'http://10.0.0.1' }) }),
          ],
          volumes,
        }),
        OTHERWISE,
      ],
      [
        'has a mode below the floor',
        opted({
          initContainers: [
            rules,
            opa,
            sidecar({ env: envOf({ ...ENGINE_ENV, POLICY_PROXY_MODE: 'track' }) }),
          ],
          volumes,
        }),
        OTHERWISE,
      ],
      [
        'has a grade below the floor',
        opted({}, { 'platform.io/compliant-grade': 'D' }),
        'annotation platform.io/compliant-grade: "D" is not one of "A", "B", "C"',
      ],
      [
        'has evidence below the floor',
        opted({}, { 'platform.io/compliant-evidence': '39' }),
        'annotation platform.io/compliant-evidence: "39" is not an integer from 40 to 100',
      ],
      ...[8181, 8282].flatMap((containerPort): [string, object, string][] => [
        [
          `listens on ${containerPort}`,
          whole([rules, opa], { containers: [{ ...agent, ports: [{ containerPort }] }] }),
          "ports 4000, 4001, 8181 and 8282 are the sidecar's",
        ],
        [
          `says that its agent listens on ${containerPort}`,
          opted({}, { 'platform.io/agent-port': String(containerPort) }),
          "ports 4000, 4001, 8181 and 8282 are the sidecar's",
        ],
      ]),
    ])('refuses a pod that opts in and %s', async (_what, object, words) => {
      const { code, stderr } = await create(object);
      expect(code).toBe(1);
      expect(stderr).toContain(words);
    });

    test('keeps the bar of compliance of an observation on or above the floor', async () => {
      const crd = join(import.meta.dirname, '../crds/agentobservations.yaml');
      expect(await kubectl(['apply', '-f', crd])).toMatchObject({ code: 0 });
      await kubectl(['wait', '--for=condition=Established', 'crd/agentobservations.platform.io']);
      const observation = (grade: string | null, name = 'bar') => ({
        apiVersion: 'platform.io/v1',
        kind: 'AgentObservation',
        metadata: { name, annotations: grade === null ? {} : { 'platform.io/compliant-grade': grade } },
        spec: { source: 'remote' },
      });
      const dryRun = async (grade: string) =>
        (await kubectl(['create', '-n', 'team', '--dry-run=server', '-f', '-'], observation(grade, 'new')))
          .stderr;
      // It is a policy of its own, and of a resource that is new.
      for (const end = performance.now() + 120_000; (await dryRun('D')) === '';) {
        if (performance.now() > end) throw new Error('the guard of observations is not in force');
        await delay(200);
      }
      const words =
        'AgentObservation new: annotation platform.io/compliant-grade: "E" is not one of "A", "B", "C"';
      expect(await dryRun('E')).toContain(words);
      expect(await dryRun('C')).toBe('');
      expect(await kubectl(['create', '-n', 'team', '-f', '-'], observation('A'))).toMatchObject({ code: 0 });
      const barOf = async (grade: string | null) => {
        const patch = { metadata: { annotations: { 'platform.io/compliant-grade': grade } } };
        const args = ['patch', '-n', 'team', 'ao', 'bar', '--type=merge', '-p', JSON.stringify(patch)];
        return (await kubectl(args)).code;
      };
      expect([await barOf('D'), await barOf('B'), await barOf(null)]).toEqual([1, 0, 0]);
      const evidenceOf = async (evidence: string | null) => {
        const patch = { metadata: { annotations: { 'platform.io/compliant-evidence': evidence } } };
        return kubectl(['patch', '-n', 'team', 'ao', 'bar', '--type=merge', '-p', JSON.stringify(patch)]);
      };
      expect((await evidenceOf('39')).stderr).toContain(
        'AgentObservation bar: annotation platform.io/compliant-evidence: "39" is not an integer from 40 to 100',
      );
      const codes = [];
      for (const evidence of ['101', 'half', '40', '100', null])
        codes.push((await evidenceOf(evidence)).code);
      expect(codes).toEqual([1, 1, 0, 0, 0]);
    });

    test('lets nobody put another image in the place of an engine that runs', async () => {
      const live = whole([rules, opa]);
      live.metadata.name = 'live-engine';
      expect(await kubectl(['create', '-n', 'team', '-f', '-'], live)).toMatchObject({ code: 0 });
      expect((await change('live-engine', imageOf('busybox', 'platform-opa'))).stderr).toContain(
        NOT_THE_ENGINE,
      );
      const newer = imageOf('registry:5000/opa:2', 'platform-opa');
      expect(await change('live-engine', newer)).toMatchObject({ code: 0, stderr: '' });
    });
  });

  test('with guard.action=warn it admits the pod and warns who made it', async () => {
    await guard('warn', ({ code }) => code === 0);
    const dry = ['create', '-n', 'team', '--dry-run=server', '-f', '-'];
    const { code, stderr } = await kubectl(dry, opted());
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Warning: /);
    expect(stderr).toContain(AWAY);
  });
});
