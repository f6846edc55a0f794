// The stop switch in a real cluster: an agent that calls three vendors on its own with their official clients, with open streams, is
// stopped and resumed by each of the four ways, and stays stopped whatever process of the product ends.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { join } from 'node:path';
import type { Condition } from '../core/shapes/condition.ts';
import { adminApi } from './admin-api.ts';
import { manifestConfigMap } from './agent-workload.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { canKill } from './container-killer.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl, type KubeObject } from './kubectl.ts';
import { installProduct, leave, SYSTEM_NAMESPACE } from './product.ts';
import {
  OPTED_IN,
  podTemplate,
  programContainer,
  programsConfigMap,
  serviceOf,
  type PodObject,
} from './program-pods.ts';
import { findPython, hasPython, pythonContainer, type PythonHome } from './python-pods.ts';
import { deploymentOf, LISTENS, vendorPods } from './vendor-pods.ts';

jest.setTimeout(TEST_MS);

const NAMESPACE = 'stops';
const AGENT = 'tireless';
const CLI = join(import.meta.dirname, '../dist/cli/main.js');
const ANNOTATIONS = {
  ...OPTED_IN,
  'platform.io/egress-lanes': 'openai,anthropic,gemini',
  'platform.io/egress-ca-configmap': 'vendor-ca',
};
const VENDORS = ['openai', 'anthropic', 'google'];
/** From the return of the command to the last call that a vendor gets, in milliseconds. */
const LIMIT_MS = 1_000;

interface Streams {
  started: number;
  lastStartMs: number;
  open: number;
}
type Report = Record<string, { streams: number; failures: number; last: string; longestFailureMs: number }>;

let cluster: Cluster;
let kubectl: Kubectl;
let system: Kubectl;

const python = findPython();
if (!hasPython(python)) process.stderr.write(`skipped: the stop switch in the cluster: ${python.missing}\n`);

const manifest = JSON.stringify({
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: AGENT, version: '1.0.0', description: 'Calls three vendors' },
  spec: {
    model: { provider: 'openai', id: 'long', apiKey: '$env:OPENAI_API_KEY' },
    api: { type: 'rest', chatEndpoint: { path: '/ask' }, healthEndpoint: '/report' },
  },
});

function agentPods(found: PythonHome, image: string): KubeObject[] {
  const variables = {
    OPENAI_API_KEY: 'key',
    OPENAI_BASE_URL: 'https://vendor/v1',
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: 'https://vendor',
    GEMINI_API_KEY: 'key',
    GOOGLE_GEMINI_BASE_URL: 'https://vendor',
  };
  const { container, volumes } = pythonContainer(
    {
      ...programContainer('agent', image, ['three-vendors.py']),
      env: Object.entries(variables).map(([name, value]) => ({ name, value })),
      ports: [{ name: 'http', containerPort: 8000 }],
      startupProbe: { httpGet: { path: '/report', port: 'http' }, ...LISTENS },
    },
    found,
  );
  const template = podTemplate(AGENT, [container], { annotations: ANNOTATIONS, spec: { volumes } });
  return [manifestConfigMap(AGENT, manifest), deploymentOf(AGENT, template), serviceOf(AGENT, AGENT, 'http')];
}

const inVendor = async <T>(script: string): Promise<T> =>
  JSON.parse(await kubectl.script('deploy/vendor', 'vendor', script)) as T;
const get = <T>(url: string): Promise<T> =>
  inVendor(`fetch('${url}').then((r) => r.text()).then((t) => console.log(t))`);
const streams = (): Promise<Streams> => get('http://127.0.0.1:8000/streams');

/** The report of the agent, read in its pod, because the sidecar rejects requests while it is stopped. */
const report = async (): Promise<Report> => {
  const script = `fetch('http://127.0.0.1:8000/report').then((r) => r.text()).then((t) => console.log(t))`;
  return JSON.parse(await kubectl.script(`deploy/${AGENT}`, 'platform-sidecar', script)) as Report;
};

/** What a client of the agent gets through its Service. */
const asClient = (): Promise<{ status: number; retry: string | null; body: { detail?: string } }> =>
  inVendor(
    `fetch('http://${AGENT}/ask', { method: 'POST' }).then(async (r) => console.log(JSON.stringify({
       status: r.status, retry: r.headers.get('x-should-retry'), body: r.status === 503 ? await r.json() : {} })))`,
  );

/** Runs the built CLI in the network of the cluster. */
async function platform(...args: string[]): Promise<string> {
  const { stdout, stderr, code } = await cluster.exec([process.execPath, CLI, ...args]);
  if (code !== 0) throw new Error(`platform ${args.join(' ')}: exit ${code}: ${stderr || stdout}`);
  return stdout;
}

const agentStop = (name: string, spec: object = {}): KubeObject => ({
  ...{ apiVersion: 'platform.io/v1', kind: 'AgentStop', metadata: { name } },
  spec: { agents: [AGENT], reason: 'leak of order data', ...spec },
});

const condition = async (): Promise<Condition | undefined> => {
  const { status } = await kubectl.get<{ status?: { conditions?: Condition[] } }>('ao', AGENT);
  return status?.conditions?.find(({ type }) => type === 'Stopped');
};
const untilCondition = (reason: string) =>
  eventually(`the condition Stopped with ${reason}`, condition, (found) => found?.reason === reason);

/** How often the kubelet has restarted the sidecar. It is ready again. */
async function restarts(): Promise<number> {
  const { items } = await kubectl.get<{ items: PodObject[] }>('pods', '-l', `app=${AGENT}`);
  const [sidecar] = items.flatMap(({ status }) => status.initContainerStatuses ?? []);
  return sidecar?.ready === true ? sidecar.restartCount : 0;
}

/** Each vendor has an open stream and gets calls. */
const untilRunning = async (): Promise<void> => {
  const { started } = await streams();
  const isBusy = (now: Streams): boolean => now.open >= VENDORS.length && now.started > started;
  await eventually('calls of the agent', streams, isBusy);
};

/**
 * Waits until no stream is open, and until every client has failed again since.
 * @returns the last start of a call, in Unix milliseconds
 */
async function untilStopped(): Promise<number> {
  await eventually('the end of all streams', streams, ({ open }) => open === 0);
  const before = await report();
  const { result } = await eventually('failures of every client', report, (now) =>
    VENDORS.every((vendor) => (now[vendor]?.failures ?? 0) > (before[vendor]?.failures ?? 0) + 1),
  );
  for (const vendor of VENDORS) expect(result[vendor]?.streams).toBe(before[vendor]?.streams);
  const last = await streams();
  expect(last.open).toBe(0);
  return last.lastStartMs;
}

beforeAll(async () => {
  if (!hasPython(python)) return;
  cluster = await startCluster();
  kubectl = kubectlOf(cluster, NAMESPACE);
  system = kubectlOf(cluster, SYSTEM_NAMESPACE);
  const image = cluster.imageRef('example-agents');
  await installProduct(cluster);
  await kubectl.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    programsConfigMap(),
    ...(await vendorPods(image)),
  ]);
  await kubectl.rolledOut('deploy/vendor');
  await kubectl.apply(agentPods(python, image));
  await kubectl.rolledOut(`deploy/${AGENT}`);
  await untilRunning();
});

afterAll(async () => {
  if (hasPython(python)) await leave(cluster, NAMESPACE);
});

/** Each way to stop the agent, and to resume it. */
const WAYS: [string, { stop: () => Promise<unknown>; resume: () => Promise<unknown> }][] = [
  [
    'kubectl',
    {
      stop: () => kubectl.apply([agentStop('by-kubectl')]),
      resume: () => kubectl.run('delete', 'agentstop', 'by-kubectl'),
    },
  ],
  [
    'the CLI',
    {
      stop: () => platform('stop', AGENT, '--namespace', NAMESPACE, '--reason', 'leak', '--wait', '0s'),
      resume: () => platform('resume', AGENT, '--namespace', NAMESPACE),
    },
  ],
  [
    'the route',
    {
      stop: async () => {
        const body = { namespace: NAMESPACE, agents: [AGENT], reason: 'leak' };
        const { status } = await adminApi(kubectl, `deploy/${AGENT}`, '/api/v1/stops', {
          method: 'POST',
          body,
        });
        expect(status).toBe(201);
      },
      resume: async () => {
        const { body } = await adminApi<{ id: string }[]>(kubectl, `deploy/${AGENT}`, '/api/v1/stops');
        expect(body).toHaveLength(1);
        const path = `/api/v1/stops/${body[0]?.id}`;
        const { status } = await adminApi(kubectl, `deploy/${AGENT}`, path, { method: 'DELETE' });
        expect(status).toBe(204);
      },
    },
  ],
  [
    'the annotation of the pods',
    {
      stop: () => kubectl.run('annotate', 'pods', '-l', `app=${AGENT}`, 'platform.io/stop=leak'),
      resume: () => kubectl.run('annotate', 'pods', '-l', `app=${AGENT}`, 'platform.io/stop-'),
    },
  ],
];

(hasPython(python) ? describe : describe.skip)('an agent with open streams to three vendors', () => {
  test.each(WAYS)('is stopped and resumed by %s', async (way, { stop, resume }) => {
    await untilRunning();
    await stop();
    const returnedMs = Date.now();
    const lastMs = (await untilStopped()) - returnedMs;
    process.stdout.write(`stopped by ${way}: last upstream call ${lastMs} ms after the command\n`);
    // The kubelet updates the annotation of a pod in its own time.
    if (!way.startsWith('the annotation')) expect(lastMs).toBeLessThan(LIMIT_MS);
    expect(await asClient()).toMatchObject({
      ...{ status: 503, retry: 'false', body: { detail: `the agent ${AGENT} is stopped` } },
    });
    await untilCondition('Stopped');
    await resume();
    await untilRunning();
    await untilCondition('Running');
  });

  test('has clients that get one error at once, instead of waiting for another attempt', async () => {
    const results = await report();
    expect(VENDORS.map((vendor) => results[vendor]?.last)).toEqual([
      ...['InternalServerError', 'ServiceUnavailableError', 'ServerError'],
    ]);
    // A client that repeats a call waits 30 seconds for it, because Retry-After is 30.
    for (const vendor of VENDORS) expect(results[vendor]?.longestFailureMs).toBeLessThan(15_000);
  });

  test('runs again at the end of the stop, without a connection to the control plane', async () => {
    await untilRunning();
    const until = new Date(Date.now() + 20_000).toISOString();
    await kubectl.apply([agentStop('for-a-while', { until })]);
    await untilStopped();
    await system.run('scale', 'deploy/platform-agent-compliance-control-plane', '--replicas=0');
    await untilRunning();
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until));
    await system.run('scale', 'deploy/platform-agent-compliance-control-plane', '--replicas=1');
    await system.rolledOut('deploy/platform-agent-compliance-control-plane');
  });

  (canKill ? test : test.skip)(
    'stays stopped when its sidecar is killed and no control plane runs',
    async () => {
      await untilRunning();
      await kubectl.apply([agentStop('kept')]);
      await untilStopped();
      await untilCondition('Stopped');
      await system.run('scale', 'deploy/platform-agent-compliance-control-plane', '--replicas=0');
      const before = await streams();
      const filter = `labels."io.kubernetes.container.name"==platform-sidecar,labels."io.kubernetes.pod.namespace"==${NAMESPACE}`;
      const kill = `for id in $(ctr -n k8s.io containers ls -q '${filter}'); do ctr -n k8s.io tasks kill -s SIGKILL "$id"; done`;
      await cluster.exec(['sh', '-c', kill]);
      await eventually('the restart of the sidecar', restarts, (count) => count > 0);
      await untilStopped();
      expect(await streams()).toEqual(before);
      await system.run('scale', 'deploy/platform-agent-compliance-control-plane', '--replicas=1');
      await system.rolledOut('deploy/platform-agent-compliance-control-plane');
      await kubectl.run('delete', 'agentstop', 'kept');
      await untilRunning();
    },
  );
});
