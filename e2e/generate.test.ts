// The files of `platform generate --deploy` in a cluster: kubectl apply, and helm install of the chart. The agent becomes ready and
// its sidecar has a grade. The pods need nothing of the product's installation.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runBuiltCommand } from '../testing/machine/built-command.ts';
import { manifestOf } from './agent-workload.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl } from './kubectl.ts';
import { HELM_MS, leave } from './product.ts';

jest.setTimeout(TEST_MS);

const NAMESPACE = 'generated-team';
/** Agents by target. */
const AGENTS = { k8s: 'applied', helm: 'charted' };
const KEY = 'not-a-real-key';

let cluster: Cluster;
let kubectl: Kubectl;
let directory: string;

/** Generates the files of one target, and returns their directory. */
async function generate(target: keyof typeof AGENTS): Promise<string> {
  const name = AGENTS[target];
  writeFileSync(join(directory, `${name}.yaml`), manifestOf(name));
  const command = ['generate', `${name}.yaml`, '--deploy', target, '--output', name];
  expect(await runBuiltCommand(command, { cwd: directory })).toMatchObject({ errors: '', exitCode: 0 });
  return join(directory, name, target);
}

/** Edits the files as their comments say, and applies them. */
async function applyManifests(files: string): Promise<void> {
  const file = (name: string) => join(files, name);
  const edited = readFileSync(file('deployment.yaml'), 'utf8')
    .replace('SET_AGENT_IMAGE', cluster.imageRef('example-agents'))
    .replace(/agent-compliance\/sidecar:\S+/, cluster.imageRef('sidecar'));
  writeFileSync(file('deployment.yaml'), edited);
  const secret = readFileSync(file('secret.yaml.example'), 'utf8').replaceAll('CHANGE_ME', KEY);
  writeFileSync(file('secret.yaml'), secret);
  const apply = await cluster.exec(['kubectl', '-n', NAMESPACE, 'apply', '-f', files]);
  // A pod outside the restricted profile would cause a warning.
  expect(apply).toMatchObject({ code: 0, stderr: '' });
}

/** Installs the chart as its README says. */
async function installChart(chart: string): Promise<void> {
  const name = AGENTS.helm;
  const literal = `--from-literal=OPENAI_API_KEY=${KEY}`;
  await kubectl.run('create', 'secret', 'generic', `${name}-secrets`, literal);
  const [, repository = '', tag = ''] = /^(.+):([^:]+)$/.exec(cluster.imageRef('example-agents')) ?? [];
  const values = {
    image: { repository, tag },
    sidecar: { image: cluster.imageRef('sidecar') },
  };
  const install = await cluster.exec(['helm', '-n', NAMESPACE, 'install', name, chart, '-f', '-'], {
    input: JSON.stringify(values),
    timeoutMs: HELM_MS,
  });
  expect(install).toMatchObject({ code: 0, stderr: '' });
}

/** Reads from a port of the agent's Service. */
async function fetchFrom(name: string, port: number, path: string): Promise<Response> {
  const forward = await cluster.forward({ namespace: NAMESPACE, name, port });
  try {
    // A later forward may use the same local port, on which a kept connection would be a dead one.
    const response = await fetch(`${forward.url}${path}`, { headers: { connection: 'close' } });
    return new Response(await response.text(), { status: response.status });
  } finally {
    await forward.close();
  }
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'generate-e2e-'));
  cluster = await startCluster();
  kubectl = kubectlOf(cluster, NAMESPACE);
  const profile = 'pod-security.kubernetes.io';
  const labels = { [`${profile}/enforce`]: 'restricted', [`${profile}/warn`]: 'restricted' };
  await kubectl.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } }]);
  await applyManifests(await generate('k8s'));
  await installChart(await generate('helm'));
});

afterAll(async () => {
  if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  await leave(cluster, NAMESPACE);
});

describe.each(Object.entries(AGENTS))('--deploy %s', (_target, name) => {
  test('the agent becomes ready with its own sidecar, without a restart', async () => {
    await kubectl.rolledOut(`deploy/${name}`);
    const { items } = await kubectl.get<{
      items: {
        metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
        status: Record<
          'initContainerStatuses' | 'containerStatuses',
          { name: string; ready: boolean; restartCount: number }[]
        >;
      }[];
    }>('pods', '-l', `app.kubernetes.io/name=${name}`);
    const containers = items.flatMap(({ status }) => [
      ...status.initContainerStatuses,
      ...status.containerStatuses,
    ]);
    expect(containers.map(({ name, ready, restartCount }) => [name, ready, restartCount])).toEqual([
      ['platform-sidecar', true, 0],
      ['agent', true, 0],
    ]);
    expect(items[0]?.metadata.labels).not.toHaveProperty(['platform.io/agent']);
    expect(items[0]?.metadata.labels).toMatchObject({ 'platform.io/agent-name': name });
    expect(items[0]?.metadata.annotations ?? {}).not.toHaveProperty(['platform.io/injected']);
  });

  test('its Service has the agent, the proxy and the grade', async () => {
    // Ready pods are not yet reachable: kube-proxy writes the rules of a Service a moment later.
    for (const port of [8000, 4000]) {
      const health = async () => (await fetchFrom(name, port, '/health')).status;
      expect((await eventually(`a response from port ${port}`, health)).result).toBe(200);
    }
    const gap = async () =>
      (await (await fetchFrom(name, 4001, '/gap')).json()) as {
        source: string;
        score: number;
        grade: string;
      };
    const { result } = await eventually('a report of the agent', gap, ({ source }) => source === 'agent-sdk');
    expect(result).toMatchObject({ score: 100, grade: 'A' });
  });
});
