import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { KubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import { expectOk } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS, collectionPath, PODS } from '../kube/resources.ts';
import { Semaphore } from '../kube/semaphore.ts';
import { injectedSpec } from '../testing/cluster/injected-spec.ts';
import { send, type Endpoint, type SimulatedAgent } from './heartbeats.ts';

export const ADMIN_KEY = 'admin-key-of-the-benchmark';
const NAMESPACE = 'bench';
/** Number of agents that are created at the same time. */
const CONCURRENT = 24;
/** Longer than a run. */
const TOKEN_SECONDS = 6 * 3_600;

async function each(count: number, create: (name: string) => Promise<string>): Promise<SimulatedAgent[]> {
  const slots = new Semaphore(CONCURRENT);
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      slots.run(async () => {
        const name = `agent-${index}`;
        return { name, bearer: await create(name), seq: 0 };
      }),
    ),
  );
}

/** Agents outside a cluster, each with its own key from the control plane. */
export function registeredAgents(endpoint: Endpoint, count: number): Promise<SimulatedAgent[]> {
  return each(count, async (agentName) => {
    const { status, body } = await send(endpoint, '/api/v1/register', {
      headers: { 'x-admin-key': ADMIN_KEY },
      body: JSON.stringify({ agentName, runtime: 'other' }),
    });
    if (status !== 201) throw new Error(`registration failed with ${status}: ${body}`);
    return (JSON.parse(body) as { apiKey: string }).apiKey;
  });
}

/** Workloads of a cluster: an AgentObservation, as the operator creates it, and an injected pod with its projected token. */
export async function injectedAgents(kubeconfig: string, count: number): Promise<SimulatedAgent[]> {
  const client = new KubeClient({ access: loadClusterAccess(kubeconfig), part: 'bench' });
  const post = async <T>(path: string, body: unknown): Promise<T> =>
    expectOk(await client.send<T>({ method: 'POST', path, body, timeoutMs: 30_000 }));
  await post('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
  await post(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, { metadata: { name: 'default' } });
  const create = async (name: string): Promise<string> => {
    const labels = { app: name, 'platform.io/agent': name };
    const agentRef = { apiVersion: 'apps/v1', kind: 'Deployment', name };
    await post(collectionPath(AGENT_OBSERVATIONS, NAMESPACE), {
      ...{ apiVersion: 'platform.io/v1', kind: 'AgentObservation', metadata: { name } },
      spec: { source: 'sidecar', agentRef },
    });
    const pod = await post<{ metadata: { uid: string } }>(collectionPath(PODS, NAMESPACE), {
      metadata: { name: `${name}-0`, labels, annotations: { 'platform.io/inject': 'true' } },
      spec: {
        ...{ automountServiceAccountToken: false, ...injectedSpec(name) },
        containers: [{ name: 'agent', image: 'agent' }],
      },
    });
    const { status } = await post<{ status: { token: string } }>(
      `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default/token`,
      {
        spec: {
          ...{ audiences: ['platform.io'], expirationSeconds: TOKEN_SECONDS },
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: `${name}-0`, uid: pod.metadata.uid },
        },
      },
    );
    return status.token;
  };
  try {
    return await each(count, create);
  } finally {
    await client.close();
  }
}

/** Installs the CustomResourceDefinition and the namespace of registered agents, and waits until the kind is served. */
export async function installDefinition(kubeconfig: string): Promise<void> {
  const client = new KubeClient({ access: loadClusterAccess(kubeconfig), part: 'bench' });
  try {
    const file = join(import.meta.dirname, '../crds/agentobservations.yaml');
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const body: unknown = parse(readFileSync(file, 'utf8'));
    expectOk(await client.send({ method: 'POST', path, body }));
    const metadata = { name: 'platform-remote' };
    expectOk(await client.send({ method: 'POST', path: '/api/v1/namespaces', body: { metadata } }));
    while (!(await client.send({ method: 'GET', path: collectionPath(AGENT_OBSERVATIONS) })).ok)
      await sleep(100);
  } finally {
    await client.close();
  }
}
