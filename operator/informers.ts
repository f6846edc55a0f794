import { AGENT_LABEL } from '../core/injection/names.ts';
import type { AgentObservation } from '../core/observation/observation.ts';
import type { KubeClient } from '../kube/client.ts';
import { createInformer, type Change, type Informer, type InformerTiming } from '../kube/informer.ts';
import { createIndex, type ObjectIndex } from '../kube/object-index.ts';
import { AGENT_OBSERVATIONS, PODS, SERVICES } from '../kube/resources.ts';
import type { Pod, Service } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { agentKeyOf, keepPod } from './agents/agent-pods.ts';

/** What of the cluster is always in memory. */
export interface Informers {
  pods: Informer<Pod>;
  observations: Informer<AgentObservation>;
  services: Informer<Service>;
}

export interface InformerParts {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  informerTiming?: Partial<InformerTiming> | undefined;
}

/** Called once per change, after the caches and indexes have it. */
export interface Listeners {
  pod: (change: Change<Pod>) => void;
  observation: (change: Change<AgentObservation>) => void;
  service: (change: Change<Service>) => void;
}

export function createInformers(
  { client, clock, logger, informerTiming }: InformerParts,
  tell: Listeners,
): { informers: Informers; podsOf: (agent: string) => Pod[]; servicesIn: (namespace: string) => Service[] } {
  const common = { client, clock, logger, ...(informerTiming ? { timing: informerTiming } : {}) };
  const pods = createIndex(agentKeyOf);
  const services = createIndex((service: Service) => service.metadata.namespace ?? null);
  const informers = {
    pods: createInformer({
      ...common,
      resource: PODS,
      selection: { labelSelector: AGENT_LABEL },
      keep: keepPod,
      onChange: after(pods, tell.pod),
    }),
    observations: createInformer({
      ...common,
      resource: AGENT_OBSERVATIONS,
      keep: withoutManagedFields,
      onChange: tell.observation,
    }),
    services: createInformer({
      ...common,
      resource: SERVICES,
      keep: keepService,
      onChange: after(services, tell.service),
    }),
  };
  return { informers, podsOf: pods.at, servicesIn: services.at };
}

function after<T>(index: ObjectIndex<T>, tell: (change: Change<T>) => void): (change: Change<T>) => void {
  return (change) => {
    index.changed(change);
    tell(change);
  };
}

/** A third of an observation's size, and nobody reads them. */
function withoutManagedFields(observation: AgentObservation): AgentObservation {
  return {
    ...observation,
    metadata: { ...observation.metadata, managedFields: undefined } as AgentObservation['metadata'],
  };
}

function keepService({ metadata, spec }: Service): Service {
  const { name, namespace, resourceVersion } = metadata;
  const { type, selector, ports } = spec ?? {};
  return {
    metadata: { name, ...(namespace ? { namespace } : {}), ...(resourceVersion ? { resourceVersion } : {}) },
    spec: { ...(type ? { type } : {}), ...(selector ? { selector } : {}), ...(ports ? { ports } : {}) },
  };
}
