import { parseInjected } from '../../core/injection/injected.ts';
import {
  CONTROL_PORT,
  EGRESS_CONNECT_PORT,
  EGRESS_PORT,
  OTLP_PORT,
  PROXY_PORT,
} from '../../core/egress/ports.ts';
import { always, type ConditionTable } from '../../core/observation/condition-table.ts';
import type { Pod, Service, ServicePort } from '../../kube/types.ts';
import { containersOf, hasSidecar } from './agent-pods.ts';
import { isPortTaken, isSidecarDown } from './sidecar-state.ts';

/** How the Services route traffic to the agent's pods; both lists are sorted. */
interface Routes {
  /** One description per Service that bypasses the sidecar. */
  bypassing: string[];
  /** The Services through the sidecar. */
  through: string[];
}

interface RoutingState {
  pods: readonly Pod[];
  services: readonly Service[];
}

/** The reason with its own Event. */
export const PORT_TAKEN = 'PortTaken';

/** About half a second. While it compares, this process does nothing for the agents of other namespaces. */
const MAX_COMPARISONS = 5_000_000;

/** Comparisons of all Services with one pod: each label of the selector and each port. */
const comparisons = (services: readonly Service[]): number =>
  services.reduce(
    (sum, { spec }) => sum + Object.keys(spec?.selector ?? {}).length + (spec?.ports?.length ?? 0),
    0,
  );

/** Whether the Services that select the agent's pods send their traffic through the sidecar. */
export const ROUTED: ConditionTable<RoutingState> = {
  type: 'Routed',
  meaning: 'the Services of the agent route through the sidecar',
  rows: [
    {
      status: 'False',
      reason: PORT_TAKEN,
      when: 'the sidecar of a live pod ended because another process in the pod used one of its ports; until the pod is replaced',
      holds: ({ pods }) => pods.some(isPortTaken),
      message: ({ pods }) =>
        `the sidecar of ${namesOf(pods.filter(isPortTaken))} could not listen on port ${PROXY_PORT} or ${CONTROL_PORT}, for lanes ${EGRESS_PORT} or ${EGRESS_CONNECT_PORT}, or for OTLP ${OTLP_PORT} because another process in the pod uses the port; change that port and restart the workload`,
    },
    {
      status: 'Unknown',
      reason: 'TooManyServices',
      when: 'the namespace has too many Services to compare each label and port of them with each pod of the agent (more than five million comparisons)',
      holds: ({ pods, services }) => comparisons(services) * pods.length > MAX_COMPARISONS,
      message: ({ pods, services }) =>
        `${services.length} Services are too many to compare with ${pods.length} pods; remove Services or pods`,
    },
    {
      status: 'False',
      reason: 'ServiceBypassesSidecar',
      when: "a Service targets the agent's own port; the message names up to 20 of these Services",
      holds: (state) => routesOf(state).bypassing.length > 0,
      message: (state) =>
        `traffic bypasses the sidecar: ${firstOf(routesOf(state).bypassing)}; set targetPort to the name of the agent's port or to ${PROXY_PORT}`,
    },
    {
      status: 'Unknown',
      reason: 'SidecarDown',
      when: 'the sidecar of a live pod has failed and is not running, so the process on its ports is unknown',
      holds: ({ pods }) => pods.some(isSidecarDown),
      message: ({ pods }) =>
        `the sidecar of ${namesOf(pods.filter(isSidecarDown))} has failed and is not running; see its log`,
    },
    {
      status: 'True',
      reason: 'ThroughSidecar',
      when: 'Services target the port of the sidecar, and no Service bypasses it',
      holds: (state) => routesOf(state).through.length > 0,
      message: (state) => `through the sidecar: ${firstOf(routesOf(state).through)}`,
    },
    {
      status: 'Unknown',
      reason: 'NoService',
      when: 'no Service targets either port',
      holds: always,
      message: () => "no Service sends traffic to the agent's port",
    },
  ],
};

/** The first pod by name, and the number of others. */
function namesOf(pods: readonly Pod[]): string {
  return `pod ${firstOf(pods.map(({ metadata }) => metadata.name).sort(), 1)}`;
}

/** The first texts, and the number of others: the status of every agent of a namespace must not list all its objects. */
export function firstOf(texts: readonly string[], count = 20): string {
  const more = texts.length - count;
  return texts.slice(0, count).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** One result for all rows of the table. */
const known = new WeakMap<RoutingState, Routes>();

function routesOf(state: RoutingState): Routes {
  const routes = known.get(state) ?? computeRoutes(state);
  known.set(state, routes);
  return routes;
}

function computeRoutes({ pods, services }: RoutingState): Routes {
  const routes: Routes = { bypassing: [], through: [] };
  const targeted = pods.map((pod) => ({ pod, routeTo: routerOf(pod) }));
  for (const service of services) {
    const { ports = [] } = service.spec ?? {};
    const selected = targeted.filter(({ pod }) => selects(service, pod));
    const leads = (route: Route) => (port: ServicePort) =>
      selected.some(({ routeTo }) => routeTo(port) === route);
    const bypass = ports.find(leads('bypass'));
    const name = `Service ${service.metadata.name}`;
    if (bypass)
      routes.bypassing.push(`${name} port ${bypass.port} targets ${bypass.targetPort ?? bypass.port}`);
    else if (ports.some(leads('through'))) routes.through.push(name);
  }
  return { bypassing: routes.bypassing.sort(), through: routes.through.sort() };
}

/** An empty selector selects nothing: the endpoints of such a Service are managed separately. */
export function selects(service: Service, pod: Pod): boolean {
  // First, because a change of a Service is compared with the pods of all namespaces.
  if (service.metadata.namespace !== pod.metadata.namespace) return false;
  const { selector = {}, type } = service.spec ?? {};
  const keys = Object.keys(selector);
  if (keys.length === 0 || type === 'ExternalName') return false;
  return keys.every((key) => pod.metadata.labels?.[key] === selector[key]);
}

type Route = 'through' | 'bypass' | 'elsewhere';

/** Where the ports of Services lead in this pod. A port name may have another number in another pod of the same Service. */
function routerOf(pod: Pod): (port: ServicePort) => Route {
  const agentPort = parseInjected({ annotations: pod.metadata.annotations ?? {} })?.agent.port;
  const ports = containersOf(pod.spec).flatMap((container) => container.ports ?? []);
  const keyOf = (name: string | undefined, protocol = 'TCP') => `${protocol}/${name}`;
  // The first port of a name counts.
  const numbers = new Map(
    ports.reverse().map(({ name, protocol, containerPort }) => [keyOf(name, protocol), containerPort]),
  );
  const own = hasSidecar(pod.spec) ? 'through' : 'bypass';
  return ({ targetPort, port, protocol }) => {
    const target = targetPort ?? port;
    const number = typeof target === 'number' ? target : numbers.get(keyOf(target, protocol));
    if (number === PROXY_PORT) return own;
    return number === agentPort ? 'bypass' : 'elsewhere';
  };
}
