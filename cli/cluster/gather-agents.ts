import type { PodFacts } from '../../authoring/diagnosis/facts.ts';
import { workloadOf } from '../../core/injection/agent-name.ts';
import { optsIn } from '../../core/injection/drift.ts';
import { parseInjected } from '../../core/injection/injected.ts';
import { NAME_LABEL, OWN_CONTAINERS, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listObjects } from '../../kube/objects.ts';
import { AGENT_OBSERVATIONS, PODS } from '../../kube/resources.ts';
import { isLive, MIRROR_ANNOTATION } from '../../kube/pods.ts';
import type { ContainerStatus, Pod } from '../../kube/types.ts';
import { fencesOf } from './gather-fences.ts';
import { topOf, workloadsOf, type Top } from './gather-workloads.ts';
import { mapFact, readFact } from './read-fact.ts';

/** `system`: the namespace of the release. */
export async function gatherAgents(client: KubeClient, system: string) {
  const [observations, pods, fences] = await Promise.all([
    readFact(
      'list agentobservations in every namespace',
      async () => (await listObjects(client, AGENT_OBSERVATIONS)).items,
    ),
    readFact('list pods in every namespace', () => readPods(client, system)),
    fencesOf(client),
  ]);
  const { workloads, mistakes } = await workloadsOf(
    client,
    mapFact(pods, ({ tops }) => tops),
  );
  return { observations, workloads, mistakes, pods: mapFact(pods, ({ facts }) => facts), fences };
}

/** Pods of the release, pods that opt in, and pods with a sidecar or the label of an agent. */
export async function podsOf(client: KubeClient, system: string): Promise<PodFacts[]> {
  return (await readPods(client, system)).facts;
}

/** Also the pods that are workloads themselves. All other pods are dropped while reading, to save memory. */
async function readPods(client: KubeClient, system: string): Promise<{ facts: PodFacts[]; tops: Top[] }> {
  const facts: PodFacts[] = [];
  const tops: Top[] = [];
  const keep = (pod: Pod): null => {
    if (!isLive(pod)) return null;
    const found = podFacts(pod, system);
    if (found.isOwn || found.optedIn || found.hasSidecar || NAME_LABEL in found.labels) facts.push(found);
    const isMirror = pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
    const top = isMirror ? null : topOf(PODS, pod);
    if (top !== null) tops.push(top);
    return null;
  };
  await listObjects(client, PODS, { keep });
  return { facts, tops };
}

const EGRESS_ANNOTATIONS = ['platform.io/egress-lanes', 'platform.io/egress-connect'];
const NO_LANE = ['', 'off'];

function podFacts({ metadata, spec, status }: Pod, system: string): PodFacts {
  const { namespace = '', name, annotations = {}, labels } = metadata;
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return {
    namespace,
    name,
    owner: workloadOf(metadata),
    isOwn: namespace === system && labels?.['app.kubernetes.io/part-of'] === 'agent-compliance',
    optedIn: optsIn(annotations) && annotations[MIRROR_ANNOTATION] === undefined,
    hasSidecar: containers.some((container) => container.name === SIDECAR_CONTAINER),
    injected: parseInjected({ annotations }),
    labels: labels ?? {},
    hasEgressLane: EGRESS_ANNOTATIONS.some((name) => !NO_LANE.includes(annotations[name] ?? '')),
    waiting: statuses.flatMap(waitingOf),
    failed: statuses.flatMap(failureOf),
  };
}

function waitingOf({ name, state }: ContainerStatus): PodFacts['waiting'] {
  const { reason, message = '' } = state?.waiting ?? {};
  return reason === undefined ? [] : [{ container: name, reason, message }];
}

function failureOf({ name, state, lastState }: ContainerStatus): PodFacts['failed'] {
  const end = state?.terminated ?? lastState?.terminated;
  if (state?.running || !end || end.exitCode === 0 || !OWN_CONTAINERS.includes(name)) return [];
  const { exitCode, message, reason = '' } = end;
  return [{ container: name, exitCode, message: message ?? reason }];
}
