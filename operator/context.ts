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
  const { config, namespace, client, clock, logger, metrics } = parts;
  const podName = config.POD_NAME ?? hostname();
  const observe = workObserver(metrics, clock);
  const events = createEventRecorder({ ...parts, controller: 'platform.io/operator', instance: podName });
  const excludedNamespaces = excludedNamespacesOf(config, namespace);
  // The informers report changes to the controller, and the controller reads their caches.
  const { informers, podsOf, servicesIn } = createInformers({ ...parts, excludedNamespaces }, () => agents);
  const { pods, unlabelledPods, observations } = informers;
  const allObservations = () => observations.list();
  const statusWriter = createStatusWriter<ObservationStatus, AgentObservation>({
    client,
    resource: AGENT_OBSERVATIONS,
    fieldManager: FIELD_MANAGER,
    clock,
  });
  const agents: AgentController = createAgentController({
    ...parts,
    ...{ events, statusWriter, podsOf, servicesIn, allObservations, excludedNamespaces, observe },
    observationAt: (key) => observations.get(parseKey(key)),
    podAt: (key) => unlabelledPods.get(parseKey(key)) ?? pods.get(parseKey(key)),
    allPods: () => [...pods.list(), ...unlabelledPods.list()],
    installed: installedOf(config, namespace),
    minimum: minimumOf(config),
  });
  const injectorWatch = createInjectorWatch({ ...parts, events, observe });
  const mirror = createMirror({ ...parts, statusWriter, allObservations, ...mirrorSettings(config) });
  metrics.gauge('workqueue_depth', 'Current depth of workqueue by workqueue and priority', () =>
    [...agents.depths(), ...injectorWatch.depths()].map(({ queue, depth }) => ({
      labels: queueLabels(queue),
      value: depth,
    })),
  );
  addFleetMetrics(metrics, allObservations);
  const identity = `${podName}_${randomBytes(4).toString('hex')}`;
  return { client, clock, logger, metrics, identity, events, informers, agents, injectorWatch, mirror };
}
