import { hostname } from 'node:os';
import { randomBytes } from 'node:crypto';
import type { AgentObservation } from '../core/observation/observation.ts';
import type { ObservationStatus } from '../core/shapes/observation.ts';
import { EventRecorder } from '../kube/events.ts';
import { AGENT_OBSERVATIONS, parseKey } from '../kube/resources.ts';
import { AgentStops } from '../kube/agent-stops.ts';
import { OrganisationRules } from '../kube/organisation-rules.ts';
import { StatusWriter } from '../kube/status-writer.ts';
import { ManifestWorker } from '../runtime/manifest-worker.ts';
import { KnownCas } from '../runtime/known-cas.ts';
import { AgentController } from './agents/controller.ts';
import { createFailedMounts } from './agents/failed-mounts.ts';
import { addFleetMetrics } from './agents/fleet-metrics.ts';
import { FIELD_MANAGER } from './agents/reconcile-agent.ts';
import { namespacesWithoutInjection, installedOf, minimumOf } from './config.ts';
import { createInformers } from './informers.ts';
import { createInjectorWatch, type InjectorWatchParts } from './injector-watch.ts';
import { PolicyStatuses } from './organisation/policy-statuses.ts';
import { StopWork, type StopWorkParts } from './stops/agent-stops.ts';
import { OpenReports } from './reports/open-reports.ts';
import { mirrorSettings } from './remote/config.ts';
import { Mirror } from './remote/mirror.ts';
import { queueLabels, workObserver } from './reconcile-metrics.ts';

export type ContextParts = Omit<InjectorWatchParts, 'events' | 'observe' | 'onMisfit'>;

/** Creates the components of the operator. */
export function createContext(parts: ContextParts) {
  const { config, namespace, client, clock, logger, metrics } = parts;
  const podName = config.POD_NAME ?? hostname();
  const observe = workObserver(metrics, clock);
  const events = new EventRecorder({ ...parts, controller: 'platform.io/operator', instance: podName });
  const excludedNamespaces = namespacesWithoutInjection(config, namespace);
  // The informers report changes to the controller, and the controller reads their caches.
  const { informers, podsOf, servicesIn, isIncomplete } = createInformers(
    { ...parts, excludedNamespaces },
    () => agents,
  );
  const { pods, unlabelledPods, observations } = informers;
  const mounts = createFailedMounts(parts, (pod) => agents.mountChanged(pod));
  const allObservations = () => observations.list();
  const statusWriter = new StatusWriter<AgentObservation, ObservationStatus>({
    client,
    resource: AGENT_OBSERVATIONS,
    fieldManager: FIELD_MANAGER,
    clock,
  });
  const agents: AgentController = new AgentController({
    ...parts,
    ...{
      events,
      statusWriter,
      podsOf,
      servicesIn,
      isIncomplete,
      allObservations,
      excludedNamespaces,
      observe,
    },
    observationAt: (key) => observations.get(parseKey(key)),
    failedMountOf: mounts.failedMountOf,
    misfitOf: (key) => injectorWatch.misfitOf(key),
    podAt: (key) => unlabelledPods.get(parseKey(key)) ?? pods.get(parseKey(key)),
    allPods: () => [...pods.list(), ...unlabelledPods.list()],
    installed: installedOf(config, namespace),
    knownCas: config.SIDECAR_CA_FILES && new KnownCas(config.SIDECAR_CA_FILES, clock),
    minimum: minimumOf(config),
    stopAt: (key) => stopWork.stopAt(key),
  });
  const reconcile = (key: string) => agents.reconcile(key);
  const injectorWatch = createInjectorWatch({ ...parts, events, observe, onMisfit: reconcile });
  const organisation = createOrganisation(parts, { allObservations, reconcile });
  const { stopWork } = organisation;
  const mirror = new Mirror({ ...parts, statusWriter, allObservations, ...mirrorSettings(config) });
  metrics.gauge('workqueue_depth', 'Current depth of workqueue by workqueue and priority', () =>
    [...agents.depths(), ...injectorWatch.depths()].map(({ queue, depth }) => ({
      labels: queueLabels(queue),
      value: depth,
    })),
  );
  addFleetMetrics(metrics, allObservations);
  // Distinguishes this process from the other replicas.
  const identity = `${podName}_${randomBytes(4).toString('hex')}`;
  return {
    ...{ client, clock, logger, metrics, identity, events, informers, agents, injectorWatch, mirror },
    ...organisation,
    mounts: mounts.informer,
  };
}

/** The rules of the organisation with their statuses, the stops with theirs, and the reports of the agents. */
function createOrganisation(
  { namespace, ...parts }: ContextParts,
  { allObservations, reconcile }: Pick<StopWorkParts, 'allObservations' | 'reconcile'>,
) {
  const rules = new OrganisationRules(parts);
  const worker = new ManifestWorker();
  const stops = new AgentStops(parts);
  const rootNamespace = namespace ?? '';
  return {
    ...{ rules, worker, stops },
    reports: new OpenReports({ ...parts, isEnabled: parts.config.OPEN_REPORTS, allObservations }),
    policies: new PolicyStatuses({ ...parts, rules, worker, allObservations }),
    stopWork: new StopWork({ ...parts, stops, rootNamespace, allObservations, reconcile }),
  };
}

export type OperatorContext = ReturnType<typeof createContext>;
