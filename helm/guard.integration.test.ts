// The chart's guard at a real API server, without an injector: what it lets through, and what it says of the rest.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { ANNOTATIONS, describeAnnotationProblem } from '../core/injection/annotations.ts';
import type { InjectionPlan } from '../core/injection/build-sidecar.ts';
import { buildEngine } from '../core/injection/build-engine.ts';
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
const AWAY = 'has no platform-sidecar: the injector did not answer';
const OTHERWISE = 'its platform-sidecar is not set up as the injector does it';
const IMPOSTOR = 'its platform-sidecar is not the one that the injector puts in';

type Spec = Record<string, unknown>;

const agent = { name: 'agent', image: 'agent', ports: [{ containerPort: 8000 }] };
const SETTINGS = injectionSettings({ image: 'agent-compliance/sidecar:0.1.0' });
/** What the injector gives the sidecar, as far as the guard looks. */
const ENV: Record<string, string> = {
  UPSTREAM_URL: 'http://127.0.0.1:8000',
  MANIFEST_PATH: '/manifest/agent.yaml',
  POLICY_ENGINE: 'builtin',
  POLICY_PROXY_MODE: 'track',
  CONTROL_ACCESS: 'local',
  NODE_OPTIONS: '--max-old-space-size=96 --max-semi-space-size=8',
};
const envOf = (change: Record<string, string | undefined> = {}) =>
  Object.entries({ ...ENV, ...change }).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value }],
  );
const sidecar = (change: Spec = {}) => ({
  name: 'platform-sidecar',
  image: 'agent-compliance/sidecar:0.1.0',
  restartPolicy: 'Always',
  ports: [{ containerPort: 4000 }, { containerPort: 4001 }],
  env: envOf(),
  ...change,
});
const mount = (mountPath: string) => ({ volumeMounts: [{ name: 'mine', mountPath }] });
const mine = { volumes: [{ name: 'mine', emptyDir: {} }] };
const pod = (annotations: Record<string, string> | undefined, spec: Spec = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'x', ...(annotations && { annotations }) },
  spec: { containers: [agent], ...spec },
});
const opted = (spec: Spec = {}, annotations: Record<string, string> = {}) =>
  pod({ 'platform.io/inject': 'true', ...annotations }, spec);

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

  /** Applies the guard, and waits until it is in force, which takes about a second: another refusal of the probe is not it. */
  async function guard(
    action: string,
    isInForce: (answer: Pick<RunResult, 'code' | 'stderr'>) => boolean,
    probe: object = opted(),
    ...values: string[]
  ): Promise<void> {
    const rendered = await run([
      ...[clusterBinary('helm'), 'template', 'agent-compliance', CHART, '-n', 'platform-system'],
      ...['--kube-version', '1.36.0', '--show-only', 'templates/guard.yaml'],
      ...['--set', `guard.action=${action}`, '--set', 'sidecar.allowedImages={mirror/sidecar:7}'],
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
      opted({ initContainers: [sidecar({ image: 'agent-compliance/sidecar:9' })] }),
    ],
    [
      'has the sidecar by its digest',
      opted({ initContainers: [sidecar({ image: `agent-compliance/sidecar@sha256:${'a'.repeat(64)}` })] }),
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
      opted({ initContainers: [sidecar({ image: 'agent-compliance/sidecar-fake:1' })] }),
      IMPOSTOR,
    ],
    [
      'has another version of an allowed image',
      opted({ initContainers: [sidecar({ image: 'mirror/sidecar:8' })] }),
      IMPOSTOR,
    ],
    [
      'has it as a plain init container',
      opted({ initContainers: [sidecar({ restartPolicy: undefined })] }),
      IMPOSTOR,
    ],
    ['has it with a command', opted({ initContainers: [sidecar({ command: ['true'] })] }), IMPOSTOR],
    ['has it with arguments', opted({ initContainers: [sidecar({ args: ['x'] })] }), IMPOSTOR],
    ['has it as a container', opted({ containers: [agent, sidecar({ restartPolicy: undefined })] }), AWAY],
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
    expect(await change('live', imageOf('agent-compliance/sidecar:0.1.1'))).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await change('live', { metadata: { labels: { a: 'b' } } })).toMatchObject({ code: 0, stderr: '' });
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
    const injected = buildEngine({ resources: SETTINGS.resources, image: SETTINGS.image } as InjectionPlan, {
      ...SETTINGS,
      engine: { image: 'registry:5000/opa:1', resources: SETTINGS.resources },
    });
    const [rules, opa] = injected as [Container, Container];
    const once = ({ restartPolicy: _r, startupProbe: _s, livenessProbe: _l, ...rest }: Container) => rest;
    const volumes = [
      { name: 'platform-policy', emptyDir: {} },
      { name: 'platform-manifest', configMap: { name: 'x' } },
      { name: 'platform-noapi', emptyDir: {} },
    ];
    const whole = (containers: object[], others: Spec = {}) =>
      opted({ initContainers: [...containers, sidecar({ env: envOf(ENGINE_ENV) })], volumes, ...others });

    beforeAll(async () => {
      const values = ['policy.engine=opa', 'policy.opa.image=registry:5000/opa:1', 'policy.mode=enforce'];
      const old = opted({ initContainers: [sidecar()] });
      const isInForce = ({ stderr }: { stderr: string }) => stderr.includes(OTHERWISE);
      await guard('deny', isInForce, old, ...values, 'policy.minimumMode=enforce');
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
          volumes: [{ name: 'platform-policy', configMap: { name: 'mine' } }, ...volumes.slice(1)],
        }),
        NOT_THE_ENGINE,
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
