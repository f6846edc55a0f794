import { hostname } from 'node:os';
import { randomBytes } from 'node:crypto';
import type { AgentObservation, ObservationStatus } from '../core/observation/observation.ts';
import type { KubeClient } from '../kube/client.ts';
import { createEventRecorder, type EventRecorder } from '../kube/events.ts';
import { AGENT_OBSERVATIONS, parseKey } from '../kube/resources.ts';
import { createStatusWriter } from '../kube/status-writer.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { createAgentController, type AgentController } from './agents/controller.ts';
import { addFleetMetrics } from './agents/fleet-metrics.ts';
import { FIELD_MANAGER } from './agents/reconcile-agent.ts';
import { excludedNamespacesOf, installedOf, minimumOf } from './config.ts';
import { createInformers, type Informers } from './informers.ts';
import { createInjectorWatch, type InjectorWatch, type InjectorWatchParts } from './injector-watch.ts';
import { mirrorSettings } from './remote/config.ts';
import { createMirror, type Mirror } from './remote/mirror.ts';
import { queueLabels, workObserver } from './reconcile-metrics.ts';

/** The components of the operator. */
export interface OperatorContext {
  client: KubeClient;
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  /** Distinguishes this process from the other replicas. */
  identity: string;
  events: EventRecorder;
  informers: Informers;
  agents: AgentController;
  injectorWatch: InjectorWatch;
  mirror: Mirror;
}

export type ContextParts = Omit<InjectorWatchParts, 'events' | 'observe'>;

export function createContext(parts: ContextParts): OperatorContext {
  const { client, clock, logger, metrics } = parts;
  const podName = parts.config.POD_NAME ?? hostname();
  const observe = workObserver(metrics, clock);
  const events = createEventRecorder({
    client,
    controller: 'platform.io/operator',
    instance: podName,
    clock,
    logger,
  });
  // The informers report changes to the controller, and the controller reads their caches.
  const excludedNamespaces = excludedNamespacesOf(parts.config, parts.namespace);
  const { informers, podsOf, servicesIn } = createInformers(
    { ...parts, excludedNamespaces },
    {
      pod: (change) => agents.podChanged(change),
      observation: (change) => agents.observationChanged(change),
      service: (change) => agents.serviceChanged(change),
    },
  );
  const { pods, unlabelledPods } = informers;
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
    podsOf,
    servicesIn,
    podAt: (key) => unlabelledPods.get(parseKey(key)) ?? pods.get(parseKey(key)),
    allPods: () => [...pods.list(), ...unlabelledPods.list()],
    allObservations,
    installed: installedOf(parts.config, parts.namespace),
    minimum: minimumOf(parts.config),
    excludedNamespaces,
    observe,
  });
  const injectorWatch = createInjectorWatch({ ...parts, events, observe });
  const mirror = createMirror({
    ...{ client, clock, logger, metrics, statusWriter, allObservations },
    ...mirrorSettings(parts.config),
  });
  const depths = () =>
    [...agents.depths(), ...injectorWatch.depths()].map(({ queue, depth }) => ({
      labels: queueLabels(queue),
      value: depth,
    }));
  metrics.gauge('workqueue_depth', 'Current depth of workqueue by workqueue and priority', depths);
  addFleetMetrics(metrics, () => informers.observations.list());
  const identity = `${podName}_${randomBytes(4).toString('hex')}`;
  return { client, clock, logger, metrics, identity, events, informers, agents, injectorWatch, mirror };
}
