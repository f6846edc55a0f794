// What one namespace contains ends neither the operator nor the control plane, which still serve other namespaces. Both run as in
// the chart, with its heap and its memory limit.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { whyNoControlPlane } from '../e2e/cluster/control.ts';
import { freePorts } from '../examples/demo/free-ports.ts';
import { makeAgents } from '../testing/fleet/fleet.ts';
import { OperatorRig, until, type OperatorProcess } from '../testing/cluster/operator-rig.ts';
import type { RunningPart } from '../testing/machine/process-rig.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { cloneStored } from '../testing/cluster/stored-clones.ts';
import { deleteObject, getObject } from './objects.ts';
import {
  AGENT_OBSERVATIONS,
  apiVersionOf,
  collectionPath,
  PODS,
  SERVICES,
  type Resource,
} from './resources.ts';
import type { KubeObject } from './types.ts';

const ADMIN_KEY = 'admin-key-of-a-test';
const EVIL = 'evil';
const GOOD = 'team';
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`seed-${index}`, 'v']));

interface Hostile {
  resource: Resource<KubeObject>;
  count: number;
  /** `seed` is replaced with the name of each copy, which makes every label unique. */
  object: { metadata?: object; spec: object; status?: object };
}

const agentRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'seed' };
const optedIn = { annotations: { 'platform.io/inject': 'true' } };
const podSpec = { containers: [{ name: 'agent', image: 'agent' }], automountServiceAccountToken: false };

/** Each row alone ended the processes before they had bounds. etcd stores 2 GB, so the first cannot be ten times as many. */
const LARGE: Hostile[] = [
  {
    resource: AGENT_OBSERVATIONS,
    count: IN_SOAK ? 2_700 : 900,
    object: {
      metadata: { annotations: { note: 'x'.repeat(200_000) } },
      spec: { source: 'sidecar', agentRef },
    },
  },
  {
    resource: PODS,
    count: IN_SOAK ? 9_000 : 900,
    object: { metadata: { ...optedIn, labels: entries(1_600) }, spec: podSpec },
  },
  {
    resource: SERVICES,
    count: IN_SOAK ? 1_750 : 175,
    object: { spec: { selector: entries(8_000), ports: [{ port: 80 }] } },
  },
];

const issue = { property: 'x', severity: 'low', description: 'x'.repeat(400), recommendation: 'x' };
/** Objects of which as much as possible is cached: more than the memory for one namespace in each cache of the operator. */
const KEPT: Hostile[] = [
  {
    resource: AGENT_OBSERVATIONS,
    count: 1_200,
    object: {
      spec: { source: 'sidecar', agentRef },
      status: { phase: 'Healthy', issues: Array.from({ length: 80 }, () => issue) },
    },
  },
  {
    resource: PODS,
    count: 2_000,
    object: {
      metadata: { ...optedIn, labels: { ...entries(99), 'platform.io/agent': 'seed' } },
      spec: podSpec,
    },
  },
  { resource: SERVICES, count: 1_000, object: { spec: { selector: entries(100), ports: [{ port: 80 }] } } },
];

/** The highest resident memory so far, in MiB, without the pages of files (of Node.js itself), which the kernel can free. */
function peakMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kb = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]);
  return (kb('VmHWM') - kb('RssFile')) / 1_024;
}

(whyNoControlPlane() ? describe.skip : describe)('a namespace with many large objects', () => {
  let rig: OperatorRig;
  let operator: OperatorProcess;
  let controlPlane: RunningPart & { url: string };

  beforeAll(async () => {
    rig = await OperatorRig.open([EVIL, GOOD]);
    for (const name of ['operator', 'control-plane']) await rig.addAccount(name);
    await attack('a', LARGE);
    const [port = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const [first, second] = await Promise.all([
      rig.startOperator('operator'),
      rig.processes.start('control-plane', /listening/, {
        // As in the chart.
        NODE_OPTIONS: '--max-old-space-size=192 --max-semi-space-size=8',
        PORT: String(port),
        STORE: 'kubernetes',
        PLATFORM_ADMIN_KEY: ADMIN_KEY,
        KUBECONFIG: await rig.kubeconfigOf('control-plane', rig.control.url),
      }),
    ]);
    operator = first;
    controlPlane = { ...second, url };
    const isReady = async () => {
      if (!(await operator.isLive())) throw new Error(`the operator has ended: ${operator.output()}`);
      return (await operator.readiness())?.status === 200 && (await fetch(`${url}/readyz`)).ok;
    };
    await until('both processes to be ready', isReady, 600_000);
  }, 900_000);
  afterAll(() => rig?.close());

  /** Stores the objects as the API server would, of which it creates the first. */
  async function attack(prefix: string, hostile: readonly Hostile[], perTransaction?: number): Promise<void> {
    for (const { resource, count, object } of hostile) {
      const { status, ...body } = { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
      const metadata = { ...body.metadata, name: 'seed' };
      await rig.post(collectionPath(resource, EVIL), { ...body, metadata });
      const key = { namespace: EVIL, name: 'seed' };
      const made = await getObject(rig.client, resource, key);
      await deleteObject(rig.client, resource, key);
      const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
      const seed = { resource, object: { ...made, ...(status && { status }) } as KubeObject };
      await cloneStored(rig.control, [seed], {
        from: 'seed',
        names,
        ...(perTransaction && { perTransaction }),
      });
    }
  }

  async function listed(): Promise<string[]> {
    const headers = { 'x-admin-key': ADMIN_KEY };
    const response = await fetch(`${controlPlane.url}/api/v1/agents?namespace=${GOOD}`, { headers });
    const agents = (await response.json()) as { agentName: string; namespace?: string }[];
    return agents.map(({ agentName }) => agentName);
  }

  /** Creates an agent in the other namespace; resolves when the operator observes it and the control plane lists it. */
  async function serves(name: string): Promise<void> {
    await makeAgents(rig, [{ namespace: GOOD, name, pods: 1 }]);
    await until('the observation', async () => {
      const observation = await getObject(rig.client, AGENT_OBSERVATIONS, { namespace: GOOD, name });
      return observation?.status?.conditions?.some(({ type }) => type === 'Injected') === true;
    });
    await until('the agent in the control plane', async () => (await listed()).includes(name));
  }

  const incomplete = () =>
    Promise.all(
      ['pods', 'unlabelledPods', 'services', 'observations'].map((informer) =>
        operator.metric('platform_operator_incomplete_namespaces', new RegExp(`"${informer}"`)),
      ),
    );

  function expectBounded(): void {
    process.stdout.write(
      `peak: operator ${peakMb(operator.pid).toFixed(0)} MiB of 256, control plane ${peakMb(controlPlane.pid).toFixed(0)} MiB of 384\n`,
    );
    expect(peakMb(operator.pid)).toBeLessThan(256);
    expect(peakMb(controlPlane.pid)).toBeLessThan(384);
  }

  test('does not end the processes when they start, and does not affect other namespaces', async () => {
    await serves('first');
    expectBounded();
    expect(await incomplete()).toEqual([0, 1, 0, 0]);
  }, 300_000);

  test('does not end the processes when it grows while they run', async () => {
    // The watches of both processes must receive every object.
    await attack('b', KEPT, 1);
    await until('the caches are full', async () => (await incomplete()).every((count) => count === 1));
    await serves('second');
    expectBounded();
  }, 300_000);
});
