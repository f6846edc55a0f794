// Egress lanes and census of injected pods: an unmodified LangGraph agent is observed and stopped, and a pod with several containers
// shows its connections. The vendor has a certificate of a private CA, as a gateway inside the cluster.
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { EgressSummary } from '../core/shapes/egress.ts';
import { uninject } from '../core/injection/inject.ts';
import type { Pod } from '../core/injection/pod.ts';
import { manifestConfigMap } from './agent-workload.ts';
import { startCluster, type Cluster } from './cluster/cluster.ts';
import { eventually, kubectlOf, TEST_MS, type Kubectl, type KubeObject } from './kubectl.ts';
import { installProduct, leave } from './product.ts';
import { OPTED_IN, podTemplate, programContainer, programsConfigMap, serviceOf } from './program-pods.ts';
import { deploymentOf as deployment, LISTENS, VENDOR_PORTS, vendorPods } from './vendor-pods.ts';
import { findPython, hasPython, pythonContainer, type PythonHome } from './python-pods.ts';

jest.setTimeout(TEST_MS);

const NAMESPACE = 'egress';
const LANES = { ...OPTED_IN, 'platform.io/egress-lanes': 'openai', 'platform.io/egress-mode': 'enforce' };
/** The agent without a sidecar does not have the CA of the vendor. */
const UPSTREAM = { ordering: 'https://vendor/v1', unguarded: 'http://vendor/v1' };
const PRIVATE_CA = { ...LANES, 'platform.io/egress-ca-configmap': 'vendor-ca' };
/** Ports of the vendor, one for each container of the pod `several`. */
const [early, second, agent] = VENDOR_PORTS;
const PORTS = { early, second, agent };

interface Status {
  grade?: string;
  tokens?: number;
  egress?: EgressSummary;
  issues?: { severity: string; property: string; description: string }[];
}
interface VendorState {
  calls: number;
  tokens: number;
  work: Record<string, number>;
}

let cluster: Cluster;
let image: string;
let kubectl: Kubectl;

const python = findPython();
if (!hasPython(python))
  process.stderr.write(`skipped: the LangGraph agent in the cluster: ${python.missing}\n`);

const manifest = (name: string): KubeObject =>
  manifestConfigMap(
    name,
    JSON.stringify({
      apiVersion: 'platform.io/v1',
      kind: 'PlatformAgent',
      metadata: { name, version: '1.0.0', description: 'Finds orders' },
      spec: {
        model: { provider: 'openai', id: 'gpt-4o-mini', apiKey: '$env:OPENAI_API_KEY' },
        tools: [
          {
            name: 'search',
            description: 'Searches orders',
            annotations: { readOnlyHint: true, destructiveHint: false },
          },
        ],
        api: { type: 'rest', chatEndpoint: { path: '/ask' } },
      },
    }),
  );

/** The environment that the author of the agent writes. */
const agentEnv = (name: keyof typeof UPSTREAM): { name: string; value: string }[] =>
  Object.entries({
    NAME: name,
    OPENAI_API_KEY: name,
    OPENAI_BASE_URL: UPSTREAM[name],
    SHOP_URL: 'http://vendor',
  }).map(([variable, value]) => ({ name: variable, value }));

function langgraph(
  found: PythonHome,
  name: keyof typeof UPSTREAM,
  annotations: Record<string, string>,
): KubeObject[] {
  const { container, volumes } = pythonContainer(
    {
      ...programContainer('agent', image, ['langgraph-agent.py']),
      env: agentEnv(name),
      ports: [{ name: 'http', containerPort: 8000 }],
      startupProbe: { httpGet: { path: '/health', port: 'http' }, ...LISTENS },
    },
    found,
  );
  return [
    manifest(name),
    deployment(name, podTemplate(name, [container], { annotations, spec: { volumes } })),
    serviceOf(name, name, 'http'),
  ];
}

/** Each container opens a connection to a port of its own. The vendor ends it after a minute. */
function several(): KubeObject[] {
  const connect = (port: number, then = ''): string =>
    `require('node:net').connect(${port}, 'vendor', () => { ${then} }).on('error', (error) => { throw error; });`;
  const listen = `require('node:http').createServer((q, a) => a.end('{}')).listen(8000);`;
  // A closed connection does not end the program.
  const hold = 'setInterval(() => undefined, 60_000);';
  const early = programContainer('early', image, [
    '-e',
    connect(PORTS.early, 'setTimeout(() => process.exit(0), 1000)'),
  ]);
  const second = programContainer('second', image, ['-e', connect(PORTS.second) + hold]);
  const agent = {
    ...programContainer('agent', image, ['-e', listen + connect(PORTS.agent) + hold]),
    env: [{ name: 'OPENAI_API_KEY', value: 'key' }],
    ports: [{ name: 'http', containerPort: 8000 }],
  };
  const template = podTemplate('several', [second, agent], {
    annotations: { ...LANES, 'platform.io/agent-container': 'agent' },
    spec: {
      initContainers: [early],
      // The cluster has no external DNS. While the addresses of a declared host are not known, each address may be its own.
      hostAliases: [{ ip: '10.255.0.1', hostnames: ['api.openai.com'] }],
    },
  });
  return [manifest('several'), deployment('several', template)];
}

const inVendor = async <T>(script: string): Promise<T> =>
  JSON.parse(await kubectl.script('deploy/vendor', 'vendor', script)) as T;

const stateFor = (agent: string): Promise<VendorState> =>
  inVendor(
    `fetch('http://127.0.0.1:8000/state?agent=${agent}').then((r) => r.text()).then((t) => console.log(t))`,
  );

/** The response of an agent that offers these tools to its model. */
const ask = (name: string, tools: readonly string[]): Promise<{ text?: string; error?: string }> =>
  inVendor(
    `fetch('http://${name}/ask', { method: 'POST', body: ${JSON.stringify(JSON.stringify({ tools }))} })
       .then((r) => r.text()).then((t) => console.log(t))`,
  );

/** A Service refuses connections until kube-proxy has its rules. Opens a connection without a request, which no observation has. */
async function untilReachable(...services: string[]): Promise<void> {
  for (const host of services)
    await eventually(`a connection to ${host}`, () =>
      inVendor(`require('node:net').connect(80, '${host}', () => { console.log('true'); process.exit(); })`),
    );
}

async function observed(name: string, passes: (status: Status) => boolean): Promise<Status> {
  const { result } = await eventually(
    `the observation of ${name}`,
    async () => (await kubectl.get<{ status?: Status }>('ao', name)).status ?? {},
    passes,
  );
  return result;
}

async function podOf(app: string): Promise<Pod> {
  const { items } = await kubectl.get<{ items: Pod[] }>('pods', '-l', `app=${app}`);
  const [pod] = items;
  if (pod === undefined) throw new Error(`no pod of ${app}`);
  return pod;
}

const envOf = ({ spec }: Pod): unknown => spec.containers.find(({ name }) => name === 'agent')?.env;

beforeAll(async () => {
  cluster = await startCluster();
  image = cluster.imageRef('example-agents');
  kubectl = kubectlOf(cluster, NAMESPACE);
  await installProduct(cluster);
  await kubectl.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    programsConfigMap(),
    ...(await vendorPods(image)),
  ]);
  await kubectl.rolledOut('deploy/vendor');
  const agents = hasPython(python)
    ? [...langgraph(python, 'ordering', PRIVATE_CA), ...langgraph(python, 'unguarded', {})]
    : [];
  await kubectl.apply([...agents, ...several()]);
});

afterAll(async () => {
  await leave(cluster, NAMESPACE);
});

(hasPython(python) ? describe : describe.skip)('an unmodified LangGraph agent with two annotations', () => {
  beforeAll(async () => {
    await kubectl.rolledOut('deploy/ordering');
    await kubectl.rolledOut('deploy/unguarded');
    await untilReachable('vendor', 'ordering', 'unguarded');
  });

  test('is stopped before it executes an undeclared tool, which it executes without the sidecar', async () => {
    expect(await ask('unguarded', ['search'])).toEqual({ text: 'There is one order.' });
    expect(await ask('ordering', ['search'])).toEqual({ text: 'There is one order.' });
    expect((await stateFor('ordering')).work).toEqual({
      'unguarded/search': 1,
      'unguarded/delete_all_orders': 1,
      'ordering/search': 1,
    });
  });

  test('gets a 403 of its SDK for an offered undeclared tool, and the vendor no call', async () => {
    const before = await stateFor('ordering');
    expect(await ask('ordering', ['search', 'delete_all_orders'])).toMatchObject({
      error: expect.stringMatching(/PermissionDeniedError$/),
    });
    expect(await stateFor('ordering')).toEqual(before);
  });

  test('has its model, tools and tokens in its observation, and its grade includes the undeclared tool', async () => {
    const { tokens } = await stateFor('ordering');
    const isComplete = (status: Status): boolean =>
      status.tokens === tokens && (status.egress?.undeclared ?? 0) > 0;
    const { egress, issues, grade } = await observed('ordering', isComplete);
    expect(egress).toMatchObject({ lanes: ['openai'], models: ['gpt-4o-mini'] });
    expect(egress?.tools).toContain('search');
    expect(egress?.undeclaredNames).toContain('tool delete_all_orders');
    expect(issues).toContainEqual(
      expect.objectContaining({ severity: 'critical', property: 'tools.undeclared.delete_all_orders' }),
    );
    expect(grade).toMatch(/^[B-F]$/);
  });

  test('calls the lane, and has its own variables again after uninject', async () => {
    const pod = await podOf('ordering');
    expect(envOf(pod)).toContainEqual({ name: 'OPENAI_BASE_URL', value: 'http://127.0.0.1:4002/openai/v1' });
    const written = JSON.stringify(envOf(await podOf('unguarded')))
      .replaceAll('unguarded', 'ordering')
      .replace(UPSTREAM.unguarded, UPSTREAM.ordering);
    const plain = uninject(pod);
    expect(envOf(plain)).toEqual(JSON.parse(written));
    expect(JSON.stringify(plain.spec)).not.toContain('vendor-ca');
  });
});

describe('the census', () => {
  test('shows the connections of every container, init containers too', async () => {
    await kubectl.rolledOut('deploy/several');
    const service = await kubectl.get<{ spec: { clusterIP: string } }>('service', 'vendor');
    const addresses = Object.values(PORTS).map((port) => `${service.spec.clusterIP}:${port}`);
    const textOf = ({ issues = [] }: Status): string =>
      issues.find(({ property }) => property === 'egress.unseen')?.description ?? '';
    const status = await observed('several', (each) =>
      addresses.every((address) => textOf(each).includes(address)),
    );
    expect(status.egress?.unseenEgress).toBeGreaterThanOrEqual(addresses.length);
  });

  test('leaves no trace in a pod after uninject, where a variable was added', async () => {
    const pod = await podOf('several');
    expect(envOf(pod)).toContainEqual({ name: 'OPENAI_BASE_URL', value: 'http://127.0.0.1:4002/openai/v1' });
    expect(envOf(uninject(pod))).toEqual([{ name: 'OPENAI_API_KEY', value: 'key' }]);
  });
});

test('a pod with hostNetwork is rejected', async () => {
  const template = podTemplate('shared', [programContainer('agent', image, ['lingering-agent.ts'])], {
    annotations: LANES,
    spec: { hostNetwork: true },
  });
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, name: 'shared' },
    spec: template.spec,
  };
  await expect(kubectl.apply([manifest('shared'), pod])).rejects.toThrow(
    /a pod with hostNetwork cannot be injected/,
  );
});
