import { hostname } from 'node:os';
import { randomBytes } from 'node:crypto';
import { AGENT_LABEL } from '../core/injection/names.ts';
import type { AgentObservation, ObservationStatus } from '../core/observation/observation.ts';
import type { KubeClient } from '../kube/client.ts';
import type { ClusterAccess } from '../kube/cluster-access.ts';
import { createEventRecorder, type EventRecorder } from '../kube/events.ts';
import { createInformer, type Change, type Informer, type InformerTiming } from '../kube/informer.ts';
import { AGENT_OBSERVATIONS, parseKey, PODS, SERVICES } from '../kube/resources.ts';
import { createStatusWriter } from '../kube/status-writer.ts';
import type { Pod, Service } from '../kube/types.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics, type Metrics } from '../runtime/metrics.ts';
import { agentKeyOf, keepPod } from './agents/agent-pods.ts';
import { createAgentController, type AgentController } from './agents/controller.ts';
import { addFleetMetrics } from './agents/fleet-metrics.ts';
import { FIELD_MANAGER } from './agents/reconcile-agent.ts';
import type { OperatorConfig } from './config.ts';
import { createInjectorWatch, type InjectorWatch } from './injector-watch.ts';
import { mirrorSettings } from './remote/config.ts';
import { createMirror, type Mirror } from './remote/mirror.ts';

/** What the operator is made of. */
export interface OperatorContext {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** Tells this process from its other replicas. */
  identity: string;
  events: EventRecorder;
  informers: { pods: Informer<Pod>; observations: Informer<AgentObservation>; services: Informer<Service> };
  agents: AgentController;
  injectorWatch: InjectorWatch;
  mirror: Mirror;
}

export interface ContextParts {
  config: OperatorConfig;
  /** Of the release; null: unknown. */
  namespace: string | null;
  access: ClusterAccess;
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  informerTiming?: Partial<InformerTiming> | undefined;
}

export function createContext(parts: ContextParts): OperatorContext {
  const { client, clock, logger } = parts;
  const podName = parts.config.POD_NAME ?? hostname();
  const metrics = createMetrics();
  const observe = observer(metrics);
  const events = createEventRecorder({
    client,
    controller: 'platform.io/operator',
    instance: podName,
    clock,
    logger,
  });
  // The informers tell the controller what changes, and the controller reads their caches.
  const tell = {
    pod: (change: Change<Pod>) => agents.podChanged(change),
    observation: (change: Change<AgentObservation>) => agents.observationChanged(change),
    service: (change: Change<Service>) => agents.serviceChanged(change),
  };
  const informers = createInformers(parts, tell);
  const statusWriter = createStatusWriter<ObservationStatus, AgentObservation>({
    client,
    resource: AGENT_OBSERVATIONS,
    fieldManager: FIELD_MANAGER,
    clock,
  });
  const allObservations = () => informers.observations.list();
  const agents = createAgentController({
    client,
    clock,
    logger,
    events,
    statusWriter,
    observationAt: (key) => informers.observations.get(parseKey(key)),
    podsOf: (key) => informers.pods.list().filter((pod) => agentKeyOf(pod) === key),
    servicesIn: (namespace) =>
      informers.services.list().filter((service) => service.metadata.namespace === namespace),
    allPods: () => informers.pods.list(),
    allObservations,
    observe,
  });
  const injectorWatch = createInjectorWatch({ ...parts, metrics, events, observe });
  const mirror = createMirror({
    ...{ client, clock, logger, metrics, statusWriter, allObservations },
    ...mirrorSettings(parts.config),
  });
  const depths = () =>
    [...agents.depths(), ...injectorWatch.depths()].map(({ queue, depth }) => ({
      labels: { name: queue },
      value: depth,
    }));
  metrics.gauge('workqueue_depth', 'Keys that wait for work.', depths);
  addFleetMetrics(metrics, () => informers.observations.list());
  const identity = `${podName}_${randomBytes(4).toString('hex')}`;
  return { client, clock, logger, metrics, identity, events, informers, agents, injectorWatch, mirror };
}

function createInformers(
  parts: ContextParts,
  tell: {
    pod: (change: Change<Pod>) => void;
    observation: (change: Change<AgentObservation>) => void;
    service: (change: Change<Service>) => void;
  },
): OperatorContext['informers'] {
  const { client, clock, logger, informerTiming } = parts;
  const common = { client, clock, logger, ...(informerTiming ? { timing: informerTiming } : {}) };
  return {
    pods: createInformer({
      ...common,
      resource: PODS,
      selection: { labelSelector: AGENT_LABEL },
      keep: keepPod,
      onChange: tell.pod,
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
      onChange: tell.service,
    }),
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

/** controller-runtime's names, so that its dashboards work. */
function observer(metrics: Metrics): Parameters<typeof createAgentController>[0]['observe'] {
  const total = metrics.counter('controller_runtime_reconcile_total', 'Reconciles by controller and result.');
  const errors = metrics.counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed.');
  const seconds = metrics.histogram(
    'controller_runtime_reconcile_time_seconds',
    'Duration of a reconcile.',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  );
  return ({ queue, outcome, seconds: took }) => {
    total.add({ controller: queue, result: outcome });
    if (outcome === 'error') errors.add({ controller: queue });
    seconds.observe(took, { controller: queue });
  };
}
