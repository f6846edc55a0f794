// A release with every option on, at a real API server: its namespace lets only restricted pods in, and the Prometheus
// Operator's definitions are there. Nothing runs in pods here; e2e/install.test.ts has `helm test`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, request } from 'undici';
import { parseAllDocuments } from 'yaml';
import { startControlPlane, whyNoControlPlane, type ControlPlane } from '../e2e/cluster/control.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { CHART_OPTIONS } from '../testing/chart-options.ts';
import { clusterBinary } from '../testing/cluster-binary.ts';
import { ProcessRig } from '../testing/process-rig.ts';
import { SCHEMAS } from '../testing/kubernetes-schemas.ts';
import { CHART, RELEASE_NAMESPACE, type ChartObject } from '../testing/rendered-chart.ts';

const RELEASE = 'agent-compliance';
const KEY = ['get', 'secret', 'agent-compliance-admin', '-o', 'jsonpath={.data.admin-key}'];
const MONITORS = ['servicemonitors', 'podmonitors', 'prometheusrules'];

interface PodSpec {
  securityContext: { runAsNonRoot?: boolean };
}

interface Workload extends ChartObject {
  spec: PodSpec & { template?: { metadata: object; spec: PodSpec } };
}

(whyNoControlPlane() ? describe.skip : describe)('a release with every option on', () => {
  let control: ControlPlane;
  let folder: string;
  let installed: RunResult;

  const kubectl = (args: readonly string[], input = '') =>
    run([clusterBinary('kubectl'), '--kubeconfig', control.kubeconfig, '-n', RELEASE_NAMESPACE, ...args], {
      input,
    });
  const helm = (...args: string[]) =>
    run([clusterBinary('helm'), '--kubeconfig', control.kubeconfig, '-n', RELEASE_NAMESPACE, ...args]);

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'chart-options-'));
    writeFileSync(join(folder, 'values.json'), JSON.stringify(CHART_OPTIONS['every option on']));
    control = await startControlPlane({ controllers: true });
    const definitions = MONITORS.flatMap((kind) => ['-f', join(SCHEMAS, `${kind}.yaml`)]);
    await ok(kubectl(['create', ...definitions]));
    await ok(kubectl(['create', 'namespace', RELEASE_NAMESPACE]));
    await ok(kubectl(['create', 'namespace', 'team']));
    const modes = ['enforce', 'warn'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
    await ok(kubectl(['label', 'namespace', RELEASE_NAMESPACE, ...modes]));
    await ok(kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s']));
    installed = await helm('install', RELEASE, CHART, '-f', join(folder, 'values.json'));
  }, 180_000);
  afterAll(async () => {
    await control.close();
    rmSync(folder, { recursive: true, force: true });
  }, 30_000);

  test('is installed without a warning of the API server', () => {
    expect(installed).toMatchObject({ code: 0, stderr: '' });
  });

  test('keeps every pod, that of helm test too, to the restricted profile', async () => {
    const parts = await Promise.all(['manifest', 'hooks'].map((what) => ok(helm('get', what, RELEASE))));
    const workloads = parts
      .flatMap(({ stdout }) => parseAllDocuments(stdout))
      .map((document) => document.toJS() as Workload | null)
      .filter((object) => object !== null)
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Pod');
    expect(workloads.map(({ metadata }) => metadata.name).sort()).toEqual([
      'agent-compliance-control-plane',
      'agent-compliance-operator',
      'agent-compliance-test',
      'agent-compliance-webhook',
    ]);
    for (const { metadata, spec } of workloads) {
      // The ServiceAccount of the test is made with it.
      const pod = { ...(spec.template?.spec ?? spec), serviceAccountName: 'default' };
      expect({ ...(await createPod(metadata.name, pod)), stdout: '' }).toMatchObject({ code: 0, stderr: '' });
      const loose = { ...pod, securityContext: { ...pod.securityContext, runAsNonRoot: false } };
      expect((await createPod(metadata.name, loose)).stderr).toContain('violates PodSecurity "restricted');
    }
  }, 60_000);

  function createPod(name: string, spec: object): Promise<RunResult> {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `${name}-pod` }, spec };
    return kubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(pod));
  }

  test('tells commands that can be typed as they are', async () => {
    const deployment = ['create', 'deployment', 'chat', '-n', 'default', '--image=agent:1', '--port=8000'];
    await ok(kubectl(deployment));
    writeFileSync(join(folder, 'agent.yaml'), 'kind: PlatformAgent\n');
    const { stdout: notes } = await ok(helm('get', 'notes', RELEASE));
    const commands = notes.split('\n').filter((line) => line.startsWith('     kubectl '));
    expect(commands).toHaveLength(4);
    const [adminKey, ...next] = commands.map((command) => command.trim());
    expect((await ok(typed(adminKey ?? ''))).stdout).toMatch(/^[A-Za-z0-9]{48}$/);
    for (const command of next) await ok(typed(command));
    const annotation = String.raw`jsonpath={.spec.template.metadata.annotations.platform\.io/inject}`;
    const seen = await ok(kubectl(['get', 'deployment', 'chat', '-n', 'default', '-o', annotation]));
    expect(seen.stdout).toBe('true');
  }, 60_000);

  /** As somebody types it in the folder of agent.yaml, with kubectl on the path and the cluster chosen. */
  function typed(command: string): Promise<RunResult> {
    const path = `${join(clusterBinary('kubectl'), '..')}:${process.env['PATH'] ?? ''}`;
    return run(['sh', '-c', `cd "${folder}" && ${command}`], {
      env: { ...process.env, PATH: path, KUBECONFIG: control.kubeconfig },
    });
  }

  test('alerts on, and shows, what its processes expose', async () => {
    const rig = await ProcessRig.open();
    try {
      const exposed = await exposedBy(rig);
      const expressions = await expressionsOf(helm('get', 'manifest', RELEASE));
      expect(expressions.length).toBeGreaterThan(30);
      const named = expressions.flatMap((expression) => metricsIn(expression));
      expect([...new Set(named)].filter((name) => !exposed.has(name))).toEqual([]);
    } finally {
      await rig.close();
    }
  }, 90_000);

  /** Names of the samples that the four processes expose, each as it is shipped. */
  async function exposedBy(rig: ProcessRig): Promise<Set<string>> {
    const common = { KUBECONFIG: control.kubeconfig, POD_NAMESPACE: RELEASE_NAMESPACE };
    const injection = { SIDECAR_IMAGE: 'sidecar:1' };
    const manifest = join(CHART, '../../examples/agents/compliant/agent.yaml');
    const [operator = 0, webhook = 0, api = 0, proxy = 0, sidecar = 0] = await freePorts(5);
    const listens = /listens/;
    await Promise.all([
      rig.start('operator', listens, {
        ...{ ...common, ...injection, PORT: String(operator) },
        // As in the chart: without them there are fewer metrics.
        ...{ GUARD_POLICY: 'agent-compliance-guard', CANARY_NAMESPACE: 'platform-canary' },
        ...{ PLATFORM_CONTROL_PLANE_URL: 'http://127.0.0.1:9', PLATFORM_ADMIN_KEY: 'key' },
      }),
      rig.start('webhook', listens, { ...common, ...injection, PORT: String(webhook) }),
      rig.start('control-plane', listens, { ...common, PORT: String(api), STORE: 'kubernetes' }),
      rig.start('sidecar', listens, {
        ...{ UPSTREAM_URL: 'http://127.0.0.1:9', MANIFEST_PATH: manifest },
        ...{ BIND_ADDRESS: '127.0.0.1', PROXY_PORT: String(proxy), CONTROL_PLANE_PORT: String(sidecar) },
      }),
    ]);
    const ports = [operator, api, sidecar].map((port) => `http://127.0.0.1:${port}`);
    const urls = [...ports, `https://127.0.0.1:${webhook}`];
    const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
    const texts = await Promise.all(
      urls.map(async (url) => (await request(`${url}/metrics`, { dispatcher })).body.text()),
    );
    await dispatcher.close();
    return new Set(texts.flatMap(sampleNames));
  }

  test('keeps its generated admin key over an upgrade and an uninstallation', async () => {
    const made = (await ok(kubectl(KEY))).stdout;
    expect(Buffer.from(made, 'base64').toString()).toMatch(/^[A-Za-z0-9]{48}$/);
    const values = join(folder, 'values.json');
    await ok(helm('upgrade', RELEASE, CHART, '--reuse-values', '--set', 'webhook.timeoutSeconds=4'));
    expect((await ok(kubectl(KEY))).stdout).toBe(made);
    await ok(helm('uninstall', RELEASE, '--wait', '--timeout', '60s'));
    expect((await ok(kubectl(KEY))).stdout).toBe(made);
    await ok(kubectl(['wait', '--for=delete', 'namespace/platform-remote', '--timeout=60s']));
    await ok(kubectl(['wait', '--for=delete', 'namespace/platform-canary', '--timeout=60s']));
    await ok(helm('install', RELEASE, CHART, '-f', values));
    expect((await ok(kubectl(KEY))).stdout).toBe(made);
  }, 240_000);
});

/** What the rules and the dashboard of a release ask Prometheus. */
async function expressionsOf(manifest: Promise<RunResult>): Promise<string[]> {
  const objects = parseAllDocuments((await ok(manifest)).stdout).map((each) => each.toJS() as unknown);
  const found: string[] = [];
  const look = (key: string, value: unknown): unknown => {
    if (key === 'expr' && typeof value === 'string') found.push(value);
    if (key === 'agent-compliance.json') JSON.parse(value as string, look);
    return value;
  };
  JSON.parse(JSON.stringify(objects), look);
  return found;
}

/** Metrics that an expression names: words with an underscore, before their labels or a range; `up` is Prometheus' own. */
function metricsIn(expression: string): string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '').replaceAll(/\bby \([^)]*\)/g, '');
  return [...bare.matchAll(/[a-z]+(?:_[a-z]+)+(?=[{[)\s])/g)]
    .map(([name]) => name)
    .filter((name) => name !== 'histogram_quantile');
}

function sampleNames(exposition: string): string[] {
  return [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
}

async function ok(result: Promise<RunResult>): Promise<RunResult> {
  const { code, stdout, stderr } = await result;
  if (code !== 0) throw new Error(stderr || stdout);
  return { code, stdout, stderr };
}
