import { contextOf } from '../../core/observation/context-of.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { InstanceStatus } from '../../core/shapes/instance.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { statusOf } from '../../core/observation/status-of.ts';
import { expectOk, listObjects } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, PODS } from '../../kube/resources.ts';
import { StatusWriter } from '../../kube/status-writer.ts';
import { Semaphore } from '../../kube/semaphore.ts';
import type { Pod } from '../../kube/types.ts';
import type { OperatorRig } from '../cluster/operator-rig.ts';

const INJECTED = {
  version: '1',
  config: 'c',
  agent: { container: 'agent', port: 8000 },
  restore: [],
  ownLabel: false,
};

/** An injected pod of about realistic size. */
const template = (agent: string) => ({
  metadata: {
    labels: { app: agent, 'platform.io/agent': agent },
    annotations: { 'platform.io/inject': 'true', 'platform.io/injected': JSON.stringify(INJECTED) },
  },
  spec: {
    automountServiceAccountToken: false,
    initContainers: [
      {
        name: 'platform-sidecar',
        image: 'sidecar',
        restartPolicy: 'Always',
        ports: [{ name: 'http', containerPort: 4000 }],
        env: Array.from({ length: 12 }, (_, index) => ({ name: `NAME_${index}`, value: `value ${index}` })),
      },
    ],
    containers: [
      {
        name: 'agent',
        image: 'agent',
        ports: [{ containerPort: 8000 }],
        env: Array.from({ length: 12 }, (_, index) => ({ name: `NAME_${index}`, value: `value ${index}` })),
      },
    ],
  },
});

/**
 * Creates agents as in a cluster: a Deployment, its ReplicaSet and `pods` pods on nonexistent nodes, each as
 * the API server stores it. Nothing runs, and no controller reacts.
 */
export async function makeAgents(
  rig: OperatorRig,
  agents: readonly { namespace: string; name: string; pods: number }[],
): Promise<void> {
  const slots = new Semaphore(24);
  const apps = (namespace: string, plural: string) => `/apis/apps/v1/namespaces/${namespace}/${plural}`;
  await Promise.all(
    agents.map(({ namespace, name, pods }) =>
      slots.run(async () => {
        const spec = {
          replicas: pods,
          selector: { matchLabels: { app: name } },
          template: template(name),
        };
        const deployment = await rig.post(apps(namespace, 'deployments'), { metadata: { name }, spec });
        const replicaSet = await rig.post(apps(namespace, 'replicasets'), {
          metadata: { name: `${name}-1`, ownerReferences: [owner('Deployment', name, deployment)] },
          spec,
        });
        const ownerReferences = [owner('ReplicaSet', `${name}-1`, replicaSet)];
        for (let index = 0; index < pods; index += 1) {
          const { metadata, spec: containers } = template(name);
          await rig.post(`/api/v1/namespaces/${namespace}/pods`, {
            metadata: { ...metadata, name: `${name}-1-${index}`, ownerReferences },
            spec: { ...containers, nodeName: `fake-${index}` },
          });
        }
      }),
    ),
  );
}

/** Deletes all objects of an agent. */
export async function removeAgent(
  rig: OperatorRig,
  { namespace, name, pods }: { namespace: string; name: string; pods: number },
): Promise<void> {
  const apps = `/apis/apps/v1/namespaces/${namespace}`;
  const podNames = Array.from({ length: pods }, (_, index) => `${name}-1-${index}`);
  for (const path of [
    `${apps}/deployments/${name}`,
    `${apps}/replicasets/${name}-1`,
    ...podNames.map((pod) => `/api/v1/namespaces/${namespace}/pods/${pod}`),
  ])
    expectOk(await rig.client.send({ method: 'DELETE', path, body: { gracePeriodSeconds: 0 } }));
}

const owner = (kind: string, name: string, { metadata }: { metadata: { uid: string } }) => ({
  apiVersion: 'apps/v1',
  kind,
  name,
  uid: metadata.uid,
  controller: true,
});

/** The instance that the control plane stores for the first heartbeat of a healthy pod, sent at `at`. */
export const reportedInstance = (
  { metadata }: Pod,
  at: Date,
  change: Partial<InstanceStatus> = {},
): InstanceStatus => ({
  name: metadata.name,
  ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
  startedAt: at.toISOString(),
  seq: 1,
  phase: 'Healthy',
  score: 100,
  lastHeartbeat: at.toISOString(),
  intervalSeconds: 10,
  tokensToday: 7,
  costTodayUsd: 0,
  day: at.toISOString().slice(0, 10),
  violations: 0,
  criticalIssues: 0,
  agentReachable: true,
  evidence: { shown: 1, declared: 1, reported: 0, notShown: [] },
  deniedInWindow: 0,
  ...change,
});

/** Stores a heartbeat for every pod of the agent, as the control plane does. */
export async function report(
  rig: OperatorRig,
  { namespace, name }: { namespace: string; name: string },
  change: Partial<InstanceStatus> = {},
): Promise<void> {
  const { items } = await listObjects(rig.client, PODS, {
    namespace,
    labelSelector: `platform.io/agent=${name}`,
  });
  const at = new Date();
  const instances = items.map((pod) => reportedInstance(pod, at, { intervalSeconds: 300, ...change }));
  const writer = new StatusWriter<AgentObservation, ObservationStatus>({
    client: rig.client,
    resource: AGENT_OBSERVATIONS,
    fieldManager: 'platform-control-plane',
  });
  await writer.write({ namespace, name }, (current) =>
    statusOf(
      { ...(current.status ?? { phase: 'Pending' }), instances, lastChecked: at.toISOString() },
      at,
      contextOf(current),
    ),
  );
}

/** Whether the operator's conditions are complete. */
export function isSettled({ status }: AgentObservation): boolean {
  return ['Ready', 'Injected'].every((type) => status?.conditions?.some((each) => each.type === type));
}
