import {
  known,
  type Fact,
  type ManifestFacts,
  type ManifestText,
  type PodFacts,
  type WorkloadFacts,
} from '../../core/diagnosis/facts.ts';
import { MANIFEST_KEY, optedInOf, type OptedIn } from '../../core/diagnosis/opted-in.ts';
import { workloadOf } from '../../core/injection/agent-name.ts';
import { optsIn } from '../../core/injection/drift.ts';
import { parseInjected } from '../../core/injection/injected.ts';
import { NAME_LABEL, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { getObject, listObjects } from '../../kube/objects.ts';
import {
  AGENT_OBSERVATIONS,
  apiVersionOf,
  CRON_JOBS,
  DAEMON_SETS,
  DEPLOYMENTS,
  PODS,
  STATEFUL_SETS,
  type Resource,
} from '../../kube/resources.ts';
import { isLive, MIRROR_ANNOTATION } from '../../kube/pods.ts';
import type { ContainerStatus, Data, KubeObject, Pod, Workload } from '../../kube/types.ts';
import { CONFIG_MAPS } from './kinds.ts';
import { fencesOf } from './gather-fences.ts';
import { eachOf, mapFact, readFact } from './read-fact.ts';

/** `system`: the namespace of the release. */
export async function gatherAgents(client: KubeClient, system: string) {
  const [observations, workloads, pods, fences] = await Promise.all([
    readFact(
      'list agentobservations in every namespace',
      async () => (await listObjects(client, AGENT_OBSERVATIONS)).items,
    ),
    workloadsOf(client),
    readFact('list pods in every namespace', () => podsOf(client, system)),
    fencesOf(client),
  ]);
  return { observations, workloads, pods, fences };
}

/** Controllers whose pods run permanently or repeatedly. */
const CONTROLLERS: readonly Resource<KubeObject>[] = [DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, CRON_JOBS];

async function workloadsOf(client: KubeClient): Promise<Fact<WorkloadFacts[]>> {
  const found: { optedIn: OptedIn; object: KubeObject }[] = [];
  for (const resource of CONTROLLERS) {
    const fact = await readFact(`list ${resource.plural} in every namespace`, () =>
      optedIn(client, resource),
    );
    if (!fact.known) return fact;
    found.push(...fact.value);
  }
  return known(
    await eachOf(found, async ({ optedIn: { configMap, ...workload }, object }) => ({
      ...workload,
      refused: rejectionIn(object),
      manifest: configMap === null ? null : await manifestOf(client, workload.namespace, configMap),
    })),
  );
}

async function optedIn(
  client: KubeClient,
  resource: Resource<KubeObject>,
): Promise<{ optedIn: OptedIn; object: KubeObject }[]> {
  const { items } = await listObjects(client, resource);
  return items.flatMap((object) => {
    // Items of a list have no kind and apiVersion.
    const whole = { ...object, kind: resource.kind, apiVersion: apiVersionOf(resource) };
    const optedIn = optedInOf(whole);
    return optedIn === null ? [] : [{ optedIn, object }];
  });
}

/** A Deployment reports in its status why pods cannot be created; other controllers report it only in Events. */
function rejectionIn(object: KubeObject): string | null {
  const { conditions = [] } = (object as Workload).status ?? {};
  const failure = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True');
  return failure?.message ?? null;
}

async function manifestOf(client: KubeClient, namespace: string, configMap: string): Promise<ManifestFacts> {
  const key = { namespace, name: configMap };
  const found = await readFact(`get configmaps in ${namespace}`, () => getObject(client, CONFIG_MAPS, key));
  return { configMap, text: mapFact(found, textIn) };
}

function textIn(configMap: Data | null): ManifestText {
  if (configMap === null) return { state: 'absent' };
  const text = configMap.data?.[MANIFEST_KEY];
  return text === undefined ? { state: 'no-key' } : { state: 'there', text };
}

/** Pods of the release, pods that opt in, and pods with a sidecar or the label of an agent. Other pods are dropped while reading, to save memory. */
export async function podsOf(client: KubeClient, system: string): Promise<PodFacts[]> {
  const found: PodFacts[] = [];
  const keep = (pod: Pod): null => {
    const facts = podFacts(pod, system);
    const concerns = facts.isOwn || facts.optedIn || facts.hasSidecar || NAME_LABEL in facts.labels;
    if (isLive(pod) && concerns) found.push(facts);
    return null;
  };
  await listObjects(client, PODS, { keep });
  return found;
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
  };
}

function waitingOf({ name, state }: ContainerStatus): PodFacts['waiting'] {
  const { reason, message = '' } = state?.waiting ?? {};
  return reason === undefined ? [] : [{ container: name, reason, message }];
}
