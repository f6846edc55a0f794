// Computes the expected observations from the objects in the API server, independently of the operator's code, and compares them.

interface Meta {
  name: string;
  uid: string;
  generation?: number;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: { kind: string; name: string; uid: string }[];
}

export interface ListedPod {
  kind: 'Pod';
  metadata: Meta;
  spec: {
    containers: { ports?: { name?: string; containerPort: number }[] }[];
    initContainers?: { name: string; ports?: { name?: string; containerPort: number }[] }[];
  };
  status: {
    phase: string;
    conditions?: { type: string; status: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

interface ContainerStatus {
  name: string;
  ready: boolean;
  restartCount: number;
}

export interface ListedService {
  kind: 'Service';
  metadata: Meta;
  spec: { selector?: Record<string, string>; ports: { targetPort: string | number }[] };
}

export interface ListedWorkload {
  kind: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  metadata: Meta;
  spec: { replicas?: number; template: { metadata: { annotations?: Record<string, string> } } };
  status: Record<string, number | string | undefined>;
}

export interface ListedObservation {
  kind: 'AgentObservation';
  metadata: Meta;
  spec: { source: string; agentRef?: { kind: string; name: string } };
  status?: {
    phase?: string;
    grade?: string;
    score?: number;
    instances?: { name: string; uid?: string }[];
    instanceCount?: number;
    drift?: unknown[];
    conditions?: { type: string; status: string; reason: string }[];
  };
}

export interface World {
  pods: ListedPod[];
  services: ListedService[];
  workloads: ListedWorkload[];
  observations: ListedObservation[];
}

/** An object of one of the WORLD_KINDS. */
export type WorldItem = ListedPod | ListedService | ListedWorkload | ListedObservation;

export const WORLD_KINDS = 'deployments,statefulsets,daemonsets,pods,services,agentobservations';

export function worldOf(items: readonly WorldItem[]): World {
  const ofKind = <T extends WorldItem>(...kinds: string[]) =>
    items.filter((each): each is T => kinds.includes(each.kind));
  return {
    pods: ofKind('Pod'),
    services: ofKind('Service'),
    workloads: ofKind('Deployment', 'StatefulSet', 'DaemonSet'),
    observations: ofKind('AgentObservation'),
  };
}

/** Reasons why the cluster is not settled; empty if all rollouts are complete, and all pods are ready and not terminating. */
export function unrest({ pods, workloads }: World): string[] {
  const rollouts = workloads.flatMap(({ kind, metadata, spec, status }) => {
    const isDaemon = kind === 'DaemonSet';
    const wanted = Number(isDaemon ? status['desiredNumberScheduled'] : spec.replicas);
    const counts = isDaemon
      ? ['currentNumberScheduled', 'updatedNumberScheduled', 'numberReady']
      : ['replicas', 'updatedReplicas', 'readyReplicas'];
    // A StatefulSet without pods keeps its count of updated pods.
    const relevant = wanted === 0 ? counts.filter((count) => count !== 'updatedReplicas') : counts;
    const open = relevant.filter((count) => Number(status[count] ?? 0) !== wanted);
    if (Number(status['observedGeneration'] ?? 0) < (metadata.generation ?? 0)) open.push('generation');
    return open.map((count) => `${kind} ${metadata.name}: ${count} ${status[count] ?? 0} of ${wanted}`);
  });
  const names = new Set(workloads.map(({ metadata }) => metadata.name));
  const going = pods.flatMap(({ metadata, status }) => {
    if (metadata.deletionTimestamp !== undefined) return [`Pod ${metadata.name} is going`];
    if (!names.has(metadata.labels?.['app'] ?? '')) return [`Pod ${metadata.name} is left`];
    const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status;
    return ready === 'True' ? [] : [`Pod ${metadata.name} is ${status.phase}, ready ${ready}`];
  });
  return [...rollouts, ...going];
}

const optsIn = (annotations: Record<string, string> = {}) => annotations['platform.io/inject'] === 'true';
const agentOf = (workload: ListedWorkload): string =>
  workload.spec.template.metadata.annotations?.['platform.io/agent-name'] ?? workload.metadata.name;
const workloadOf = (pod: ListedPod, { workloads }: World): ListedWorkload | undefined =>
  workloads.find(({ metadata }) => metadata.name === pod.metadata.labels?.['app']);

/** The pods of each agent, by agent name. */
export function agentsOf(world: World): Map<string, ListedPod[]> {
  const agents = new Map<string, ListedPod[]>();
  for (const pod of world.pods) {
    const workload = workloadOf(pod, world);
    if (workload === undefined || !optsIn(pod.metadata.annotations)) continue;
    const name = agentOf(workload);
    agents.set(name, [...(agents.get(name) ?? []), pod]);
  }
  return agents;
}

/** Differences between the observations and a settled cluster. */
export function complaints(world: World): string[] {
  const agents = agentsOf(world);
  const found = [...agents].flatMap(([name, pods]) => {
    const observation = world.observations.find(({ metadata }) => metadata.name === name);
    return observation ? ofAgent(observation, pods, world) : [`${name}: no observation`];
  });
  const resting = world.observations
    .filter(({ metadata }) => !agents.has(metadata.name))
    .flatMap((observation) => ofResting(observation, world));
  return [...found, ...resting];
}

function ofAgent(observation: ListedObservation, pods: readonly ListedPod[], world: World): string[] {
  const { metadata, spec, status = {} } = observation;
  const claimants = world.workloads.filter((workload) =>
    pods.some((pod) => workloadOf(pod, world) === workload),
  );
  const owner = claimants.find(
    ({ kind, metadata }) => kind === spec.agentRef?.kind && metadata.name === spec.agentRef.name,
  );
  const listed = (status.instances ?? []).map(({ name, uid }) => `${name} ${uid}`).sort();
  const bare = pods.some((pod) => !pod.spec.initContainers?.some(({ name }) => name === 'platform-sidecar'));
  const rows: [string, unknown, unknown][] = [
    ['source', spec.source, 'sidecar'],
    ['agentRef is one of its workloads', owner !== undefined, true],
    ['owners', metadata.ownerReferences?.map(({ uid }) => uid).join(), owner?.metadata.uid],
    [
      'instances',
      listed.join(),
      pods
        .map((pod) => `${pod.metadata.name} ${pod.metadata.uid}`)
        .sort()
        .join(),
    ],
    ['instanceCount', status.instanceCount, pods.length],
    ['drift', status.drift, undefined],
    ['Injected', stateOf(observation, 'Injected'), bare ? 'False SidecarMissing' : 'True SidecarPresent'],
    ['Routed', stateOf(observation, 'Routed'), routedOf(pods, world.services)],
    [
      'Conflict',
      stateOf(observation, 'Conflict'),
      claimants.length > 1 ? 'True NameClaimedTwice' : 'False OneWorkload',
    ],
    ['Reporting', stateOf(observation, 'Reporting'), 'True HeartbeatReceived'],
  ];
  return differences(metadata.name, rows);
}

/** An observation without pods is valid only for a workload of this agent with zero replicas. */
function ofResting(observation: ListedObservation, { workloads }: World): string[] {
  const { metadata, spec, status = {} } = observation;
  const workload = workloads.find(
    ({ kind, metadata }) => kind === spec.agentRef?.kind && metadata.name === spec.agentRef.name,
  );
  if (!workload) return [`${metadata.name}: left over from ${spec.agentRef?.kind} ${spec.agentRef?.name}`];
  return differences(metadata.name, [
    ['owners', metadata.ownerReferences?.map(({ uid }) => uid).join(), workload.metadata.uid],
    ['the name of its workload', metadata.name, agentOf(workload)],
    ['opts in', optsIn(workload.spec.template.metadata.annotations), true],
    ['wants pods', workload.spec.replicas, 0],
    ['phase', status.phase, 'Pending'],
    ['instances', status.instances?.length ?? 0, 0],
    ['Reporting', stateOf(observation, 'Reporting'), 'False ScaledToZero'],
  ]);
}

function routedOf(pods: readonly ListedPod[], services: readonly ListedService[]): string {
  const targets = services.flatMap(({ spec }) =>
    pods
      .filter((pod) =>
        Object.entries(spec.selector ?? {}).every(([key, value]) => pod.metadata.labels?.[key] === value),
      )
      .flatMap((pod) => {
        const ports = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].flatMap(
          (each) => each.ports ?? [],
        );
        return spec.ports.map(({ targetPort }) =>
          typeof targetPort === 'number'
            ? targetPort
            : ports.find(({ name }) => name === targetPort)?.containerPort,
        );
      }),
  );
  if (targets.includes(8000)) return 'False ServiceBypassesSidecar';
  return targets.includes(4000) ? 'True ThroughSidecar' : 'Unknown NoService';
}

function stateOf({ status }: ListedObservation, type: string): string {
  const condition = status?.conditions?.find((each) => each.type === type);
  return condition ? `${condition.status} ${condition.reason}` : 'none';
}

export function differences(name: string, rows: readonly (readonly [string, unknown, unknown])[]): string[] {
  return rows
    .filter(([, seen, expected]) => seen !== expected)
    .map(([what, seen, expected]) => `${name}: ${what} ${String(seen)}, not ${String(expected)}`);
}
