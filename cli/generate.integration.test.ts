// Generates deployment files with the built command, and checks them with the schemas of two Kubernetes versions and with Helm.
// e2e/generate.test.ts runs them in a cluster.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { run, type RunResult } from '../e2e/cluster/run.ts';
import { runBuiltCommand, type Ended } from '../testing/machine/built-command.ts';
import { clusterBinary } from '../testing/machine/cluster-binary.ts';
import { KubernetesSchemas } from '../testing/cluster/kubernetes-schemas.ts';
import { FULL_MANIFEST, manifestText } from '../testing/manifests/manifest-text.ts';
import { objectsOf, type ChartObject } from '../testing/cluster/rendered-chart.ts';

const VERSIONS = ['1.33', '1.36'];
/** Values that Go templates, YAML 1.1 or Kubernetes names could misread. */
const ODD_MANIFEST = manifestText('  api: { port: 9000, healthEndpoint: "/a{{b}}" }\n')
  .replace('name: minimal', "name: '42'")
  .replace('version: 1.0.0', 'version: 1.0.0+build.7')
  .replace('provider: openai', 'provider: yes')
  .replace('id: gpt-4.1', 'id: "{{ .Values.x }} \\"quoted\\" \\u00e9\\u0007"');
const MANIFESTS = { full: FULL_MANIFEST, odd: ODD_MANIFEST };
const NAMES = Object.keys(MANIFESTS) as (keyof typeof MANIFESTS)[];

/** Another value for nearly every value of the chart. */
const MANY_VALUES = {
  replicaCount: 3,
  image: { tag: 'v7', pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'pull' }],
  fullnameOverride: 'other',
  secretName: 'mine',
  env: [
    { name: 'TZ', value: 'UTC' },
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 'more', key: 'key' } } },
  ],
  resources: { limits: { memory: '2Gi' } },
  sidecar: {
    image: 'mirror/sidecar:7',
    pullPolicy: 'Never',
    policyMode: 'off',
    logLevel: 'debug',
    heapMebibytes: 128,
  },
  podAnnotations: { 'example.com/note': 'on' },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'dedicated', operator: 'Exists' }],
};

let cwd: string;
const ended: Record<string, Ended> = {};

const platform = (...args: string[]) => runBuiltCommand(args, { cwd });
const helm = (...args: string[]): Promise<RunResult> => run([clusterBinary('helm'), ...args]);
const chartOf = (name: string) => join(cwd, name, 'helm');
const IMAGE = ['--set', 'image.repository=registry.example/agent'];
const VERSION = ['--kube-version', '1.36.0'];
const template = async (name: string, release: string, ...args: string[]) =>
  objectsOf<Rendered>(await helm('template', release, chartOf(name), ...VERSION, ...IMAGE, ...args));

interface Container {
  name: string;
  image: string;
  env: { name: string; value?: string; valueFrom?: unknown }[];
}

interface FencePolicy {
  spec: { podSelector: { matchLabels: Record<string, string> } };
}

interface Rendered extends ChartObject {
  data: Record<string, string>;
  spec: {
    replicas: number;
    template: {
      metadata: { annotations: Record<string, string>; labels: Record<string, string> };
      spec: { initContainers: Container[]; containers: Container[] } & Record<string, unknown>;
    };
  };
}

const find = (objects: readonly Rendered[], kind: string, name = ''): Rendered => {
  const found = objects.find((each) => each.kind === kind && each.metadata.name.endsWith(name));
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
};

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'generate-'));
  writeFileSync(join(cwd, 'many.yaml'), JSON.stringify(MANY_VALUES));
  for (const name of NAMES) {
    mkdirSync(join(cwd, name));
    writeFileSync(join(cwd, name, 'agent.yaml'), MANIFESTS[name]);
    const targets = { k8s: ['--push'], helm: [] };
    for (const [target, options] of Object.entries(targets))
      ended[`${name} ${target}`] = await platform(
        ...['generate', `${name}/agent.yaml`, '--deploy', target, '--output', name, ...options],
      );
  }
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe('the built command', () => {
  test.each(NAMES.flatMap((name) => [`${name} k8s`, `${name} helm`]))('generates %s', (what) => {
    expect(ended[what]).toMatchObject({ errors: '', exitCode: 0 });
  });

  test('writes the files of the contract', () => {
    const files = (directory: string) => readdirSync(join(cwd, 'full', directory));
    expect(files('k8s')).toEqual(
      expect.arrayContaining(['deployment.yaml', 'service.yaml', 'configmap.yaml', 'secret.yaml.example']),
    );
    expect(files('helm')).toEqual(
      expect.arrayContaining(['Chart.yaml', 'values.yaml', 'templates', 'README.md']),
    );
    expect(files('helm/templates')).toContain('_helpers.tpl');
    expect(files('.')).toContain('.env.platform');
  });
});

(whyNoControlPlane() ? describe.skip : describe)('with the binaries of the test cluster', () => {
  describe.each(NAMES)('the manifest %s', (name) => {
    test('helm lint --strict passes', async () => {
      const result = await helm('lint', '--strict', '--quiet', chartOf(name), ...IMAGE);
      expect(result).toMatchObject({ code: 0, stdout: '', stderr: '' });
    });

    test('the network policy of generate-egress selects the pods of both outputs', async () => {
      const { output } = await platform('generate-egress', `${name}/agent.yaml`, '--json');
      const { matchLabels } = (JSON.parse(output) as { policy: FencePolicy }).policy.spec.podSelector;
      const plain = parse(readFileSync(join(cwd, name, 'k8s/deployment.yaml'), 'utf8')) as Rendered;
      const charted = find(await template(name, 'release', '-f', join(cwd, 'many.yaml')), 'Deployment');
      for (const { spec } of [plain, charted])
        expect(spec.template.metadata.labels).toMatchObject(matchLabels);
    });

    test.each(VERSIONS)('the schemas of Kubernetes %s accept both outputs', async (minor) => {
      const schemas = new KubernetesSchemas(minor);
      const files = readdirSync(join(cwd, name, 'k8s')).map((file) => join(cwd, name, 'k8s', file));
      // kubectl reads YAML 1.1.
      const plain = files.map((file) => parse(readFileSync(file, 'utf8'), { version: '1.1' }) as ChartObject);
      const charted = await template(name, 'release', '-f', join(cwd, 'many.yaml'));
      expect([plain.length, charted.length]).toEqual([5, 4]);
      const problems = [...plain, ...charted].flatMap((object) =>
        schemas.problems(object).map((problem) => `${object.kind} ${object.metadata.name}: ${problem}`),
      );
      expect(problems).toEqual([]);
    });

    test('the chart has the manifest, the model and the sidecar of the agent', async () => {
      const objects = await template(name, 'release');
      const text = MANIFESTS[name];
      const { spec, metadata } = parse(text) as {
        spec: { model: { provider: string; id: string } };
        metadata: { name: string };
      };
      expect(find(objects, 'ConfigMap', '-manifest').data).toEqual({ 'agent.yaml': text });
      expect(find(objects, 'ConfigMap', '-config').data).toEqual({
        AGENT_NAME: metadata.name,
        MODEL_PROVIDER: spec.model.provider,
        MODEL_ID: spec.model.id,
      });
      const { initContainers, containers } = find(objects, 'Deployment').spec.template.spec;
      expect(initContainers.map((each) => each.name)).toEqual(['platform-sidecar']);
      const { version } = parse(readFileSync(join(chartOf(name), 'Chart.yaml'), 'utf8')) as {
        version: string;
      };
      expect(containers.map((each) => each.image)).toEqual([
        `registry.example/agent:${version.replace('+', '_')}`,
      ]);
    });

    test('the release with the name of the next steps has the same pods as the Kubernetes manifests', async () => {
      const workload = parse(readFileSync(join(cwd, name, 'k8s/deployment.yaml'), 'utf8')) as Rendered;
      const { initContainers, containers, ...pod } = workload.spec.template.spec;
      const release = workload.metadata.name;
      const rendered = find(await template(name, release), 'Deployment');
      expect(rendered.metadata.name).toBe(release);
      const { containers: charted, initContainers: sidecars, ...rest } = rendered.spec.template.spec;
      expect(rest).toEqual({ ...pod, imagePullSecrets: [], nodeSelector: {}, tolerations: [], affinity: {} });
      const [agent] = charted;
      expect([{ ...agent, image: 'SET_AGENT_IMAGE' }]).toEqual(containers);
      // Only the Kubernetes manifests were generated with --push.
      const env = initContainers[0]?.env.filter(({ valueFrom }) => valueFrom === undefined);
      expect(sidecars).toEqual([{ ...initContainers[0], env }]);
    });
  });

  test('the chart cannot be installed without an image', async () => {
    const { code, stderr } = await helm('template', 'release', chartOf('full'), ...VERSION);
    expect(code).not.toBe(0);
    expect(stderr).toContain('set image.repository to the image of the agent');
  });

  test.each([
    ['sidecar.policyMode=block', 'policyMode'],
    ['sidecar.mode=track', 'mode'],
    ['replicaCount=two', 'replicaCount'],
  ])('the chart rejects --set %s', async (value, name) => {
    const { code, stderr } = await helm(
      'template',
      'release',
      chartOf('full'),
      ...VERSION,
      ...IMAGE,
      '--set',
      value,
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain(name);
  });

  test('every value of the chart has an effect', async () => {
    const objects = await template('full', 'release', '-f', join(cwd, 'many.yaml'));
    const { spec } = find(objects, 'Deployment');
    const pod = spec.template.spec;
    expect(spec.replicas).toBe(3);
    expect(spec.template.metadata.annotations).toEqual({
      'checksum/config': expect.stringMatching(/^[0-9a-f]{64}$/),
      'example.com/note': 'on',
    });
    expect(pod).toMatchObject({
      imagePullSecrets: [{ name: 'pull' }],
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    });
    expect(pod.containers[0]).toMatchObject({
      image: 'registry.example/agent:v7',
      imagePullPolicy: 'Always',
      resources: { limits: { memory: '2Gi' } },
    });
    expect(pod.containers[0]?.env.slice(-2)).toEqual([
      { name: 'TZ', value: 'UTC' },
      { name: 'KEY', valueFrom: { secretKeyRef: { name: 'more', key: 'key' } } },
    ]);
    const secrets = pod.containers[0]?.env.find((each) => each.name === 'REDIS_URL');
    expect(secrets?.valueFrom).toEqual({ secretKeyRef: { name: 'mine', key: 'REDIS_URL' } });
    const variables = Object.fromEntries(
      (pod.initContainers[0]?.env ?? []).map(({ name, value }) => [name, value]),
    );
    expect(pod.initContainers[0]).toMatchObject({ image: 'mirror/sidecar:7', imagePullPolicy: 'Never' });
    expect(variables).toMatchObject({
      POLICY_PROXY_MODE: 'off',
      LOG_LEVEL: 'debug',
      NODE_OPTIONS: '--max-old-space-size=128 --max-semi-space-size=4',
      AGENT_ENV_NAMES: expect.stringMatching(/^AGENT_NAME,.*,TZ,KEY$/),
    });
    expect(find(objects, 'Service').metadata.name).toBe('other');
  });
});
