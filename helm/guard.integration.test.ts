// The chart's guard at a real API server, without an injector: what it lets through, and what it says of the rest.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { ANNOTATIONS, describeAnnotationProblem } from '../core/injection/annotations.ts';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { clusterBinary } from '../testing/cluster-binary.ts';

const CHART = join(import.meta.dirname, 'agent-compliance');
const AWAY = 'has no platform-sidecar: the injector did not answer';
const IMPOSTOR = 'its platform-sidecar is not the one that the injector puts in';

type Spec = Record<string, unknown>;

const agent = { name: 'agent', image: 'agent', ports: [{ containerPort: 8000 }] };
const sidecar = (change: Spec = {}) => ({
  name: 'platform-sidecar',
  image: 'agent-compliance/sidecar:0.1.0',
  restartPolicy: 'Always',
  ports: [{ containerPort: 4000 }, { containerPort: 4001 }],
  ...change,
});
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

  const kubectl = (args: string[], input: unknown = ''): Promise<RunResult> =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, ...args], {
      input: JSON.stringify(input),
    });
  const create = (object: object, namespace = 'team') =>
    kubectl(['create', '-n', namespace, '--dry-run=server', '-f', '-'], object);

  /** Applies the guard, and waits until it is in force: about a second. */
  async function guard(action: string, isInForce: (answer: RunResult) => boolean): Promise<void> {
    const rendered = await run([
      ...[clusterBinary('helm'), 'template', 'agent-compliance', CHART, '-n', 'platform-system'],
      ...['--kube-version', '1.36.0', '--show-only', 'templates/guard.yaml'],
      ...['--set', `guard.action=${action}`, '--set', 'sidecar.allowedImages={mirror/sidecar:7}'],
    ]);
    if (rendered.code !== 0) throw new Error(rendered.stderr);
    for (const document of parseAllDocuments(rendered.stdout)) {
      const { code, stderr } = await kubectl(['apply', '-f', '-'], document.toJS());
      if (code !== 0) throw new Error(stderr);
    }
    for (const end = performance.now() + 20_000; !isInForce(await create(opted()));) {
      if (performance.now() > end) throw new Error('the guard is not in force');
      await delay(200);
    }
  }

  beforeAll(async () => {
    control = await startControlPlane();
    for (const name of ['team', 'platform-system']) {
      await kubectl(['create', 'namespace', name]);
      // The controller that makes it does not run here.
      await kubectl(['create', 'serviceaccount', 'default', '-n', name]);
    }
    await kubectl(['create', 'serviceaccount', 'default', '-n', 'kube-system']);
    await guard('deny', ({ code }) => code !== 0);
  }, 90_000);
  afterAll(() => control.close(), 30_000);

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
  test.each(Object.entries(ANNOTATIONS))(
    'says of %s what the injector says',
    async (key, row) => {
      const bad = BAD.filter((value) => !row.read(value).ok);
      expect(bad.length).toBeGreaterThan(0);
      for (const value of bad) {
        const { stderr } = await create(opted({}, { [row.name]: value }));
        expect(stderr).toContain(describeAnnotationProblem({ name: row.name, value, allowed: row.allowed }));
      }
      const good = GOOD[key as keyof typeof ANNOTATIONS];
      expect(row.read(good).ok).toBe(true);
      expect((await create(opted({}, { [row.name]: good }))).stderr).toContain(AWAY);
    },
    60_000,
  );

  test('refuses nothing that is changed later, and no ephemeral container', async () => {
    const bare = { ...pod({}), metadata: { name: 'later' } };
    expect((await kubectl(['create', '-n', 'team', '-f', '-'], bare)).code).toBe(0);
    const annotated = await kubectl(['annotate', '-n', 'team', 'pod', 'later', 'platform.io/inject=true']);
    expect(annotated).toMatchObject({ code: 0, stderr: '' });
    expect(await kubectl(['label', '-n', 'team', 'pod', 'later', 'a=b'])).toMatchObject({ code: 0 });
    const debug = ['debug', '-n', 'team', 'later', '--image=busybox', '--', 'true'];
    expect(await kubectl(debug)).toMatchObject({ code: 0 });
  });

  test.each(['kube-system', 'platform-system'])('leaves %s alone', async (namespace) => {
    expect((await create(opted(), namespace)).code).toBe(0);
  });

  test('with guard.action=warn it admits the pod and warns who made it', async () => {
    await guard('warn', ({ code }) => code === 0);
    const { code, stderr } = await create(opted());
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Warning: /);
    expect(stderr).toContain(AWAY);
  }, 60_000);
});
