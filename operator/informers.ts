import { AGENT_LABEL, MAX_LABELS } from '../core/injection/names.ts';
import { present } from '../core/untrusted/present.ts';
import type { ClusterParts } from '../kube/cluster-parts.ts';
import { Informer, type Change, type InformerOptions } from '../kube/informer.ts';
import { keepObservation } from '../kube/kept-metadata.ts';
import { createIndex, type ObjectIndex } from '../kube/object-index.ts';
import type { ListSelection } from '../kube/objects.ts';
import { AGENT_OBSERVATIONS, PODS, SERVICES } from '../kube/resources.ts';
import type { KubeObject, Pod, Service } from '../kube/types.ts';
import { keepOptedIn, keepPod } from './agents/agent-pods.ts';
import { claimOf } from './agents/claim.ts';
import type { AgentController } from './agents/controller.ts';

export interface InformerParts extends ClusterParts {
  /** Namespaces that are excluded from injection. */
  excludedNamespaces: readonly string[];
}

/** Opted-in pods without the agent label. No selector covers annotations, so this watch receives all other pods. */
const UNLABELLED = {
  labelSelector: `!${AGENT_LABEL}`,
  // Ended pods never run again.
  fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
  only: 'metadata',
} as const;

/**
 * The objects of the cluster that are always in memory. `controller` is called once per change, after the caches and indexes
 * are updated.
 */
export function createInformers(
  { client, clock, logger, excludedNamespaces }: InformerParts,
  controller: () => Pick<AgentController, 'podChanged' | 'observationChanged' | 'serviceChanged'>,
) {
  const common = { client, clock, logger };
  const agentOf = (pod: Pod): string | null => {
    const claim = claimOf(pod, excludedNamespaces);
    return claim?.kind === 'agent' ? claim.key : null;
  };
  const pods = createIndex(agentOf);
  // A separate index: a pod that gets the label is removed here and added there, in either order.
  const unlabelledPods = createIndex(agentOf);
  const services = createIndex((service: Service) => service.metadata.namespace ?? null);
  const podInformer = (
    index: ObjectIndex<Pod>,
    selection: ListSelection,
    reduced: Pick<InformerOptions<Pod>, 'keep' | 'namespacePart'>,
  ) => {
    const onChange = after(index, (change) => controller().podChanged(change));
    return new Informer({ ...common, resource: PODS, selection, ...reduced, onChange });
  };
  const informers = {
    /** Pods with the agent label. */
    pods: podInformer(pods, { labelSelector: AGENT_LABEL }, { keep: keepPod, namespacePart: 1 / 8 }),
    /** Metadata of opted-in pods without the agent label: these pods were not injected. */
    unlabelledPods: podInformer(unlabelledPods, UNLABELLED, { keep: keepOptedIn }),
    observations: new Informer({
      ...common,
      resource: AGENT_OBSERVATIONS,
      keep: keepObservation,
      namespacePart: 1 / 5,
      onChange: (change) => controller().observationChanged(change),
    }),
    services: new Informer({
      ...common,
      resource: SERVICES,
      keep: keepService,
      onChange: after(services, (change) => controller().serviceChanged(change)),
    }),
  };
  const podsOf = (agent: string): Pod[] => {
    const labelled = pods.at(agent);
    const seen = new Set(labelled.map((pod) => pod.metadata.uid));
    return [...labelled, ...unlabelledPods.at(agent).filter((pod) => !seen.has(pod.metadata.uid))];
  };
  const isIncomplete = (namespace: string): boolean =>
    Object.values(informers).some((informer) => informer.fullNamespaces.has(namespace));
  return { informers, podsOf, servicesIn: services.at, isIncomplete };
}

function after<T extends KubeObject>(
  index: ObjectIndex<T>,
  listener: (change: Change<T>) => void,
): (change: Change<T>) => void {
  return (change) => {
    index.changed(change);
    listener(change);
  };
}

/** Further ports of a Service are not checked. */
const MAX_PORTS = 250;

/** Reduces a Service to the cached fields; null if its selector has more labels than are cached of a pod. */
export function keepService({ metadata, spec }: Service): Service | null {
  const { name, namespace, resourceVersion } = metadata;
  const { type, selector } = spec ?? {};
  if (Object.keys(selector ?? {}).length > MAX_LABELS) return null;
  const ports = spec?.ports
    ?.slice(0, MAX_PORTS)
    .map(({ port, protocol, targetPort }) => ({ port, ...present({ protocol, targetPort }) }));
  return {
    metadata: { name, ...present({ namespace, resourceVersion }) },
    spec: present({ type, selector, ports }),
  };
}
