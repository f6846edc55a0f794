import { parseInjected } from '../../core/injection/injected.ts';
import {
  CONTROL_PORT,
  EGRESS_CONNECT_PORT,
  EGRESS_PORT,
  OTLP_PORT,
  PROXY_PORT,
} from '../../core/injection/names.ts';
import { always, type ConditionTable } from '../../core/observation/verdict.ts';
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
      status: 'False',
      reason: 'ServiceBypassesSidecar',
      when: "a Service targets the agent's own port; the message names each of these Services",
      holds: (state) => routesOf(state).bypassing.length > 0,
      message: (state) =>
        `traffic bypasses the sidecar: ${routesOf(state).bypassing.join(', ')}; set targetPort to the name of the agent's port or to ${PROXY_PORT}`,
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
      message: (state) => `through the sidecar: ${routesOf(state).through.join(', ')}`,
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
  const [first = '', ...others] = pods.map(({ metadata }) => metadata.name).sort();
  return others.length === 0 ? `pod ${first}` : `pod ${first} and ${others.length} more`;
}

function routesOf({ pods, services }: RoutingState): Routes {
  const routes: Routes = { bypassing: [], through: [] };
  for (const service of services) {
    const selected = pods.filter((pod) => selects(service, pod));
    const targets = selected.flatMap((pod) => targetsOf(service, pod));
    const bypass = targets.find((target) => target.route === 'bypass');
    const name = `Service ${service.metadata.name}`;
    if (bypass) routes.bypassing.push(`${name} port ${bypass.port} targets ${bypass.target}`);
    else if (targets.some((target) => target.route === 'through')) routes.through.push(name);
  }
  return { bypassing: routes.bypassing.sort(), through: routes.through.sort() };
}

/** An empty selector selects nothing: the endpoints of such a Service are managed separately. */
export function selects(service: Service, pod: Pod): boolean {
  const selector = Object.entries(service.spec?.selector ?? {});
  if (selector.length === 0 || service.spec?.type === 'ExternalName') return false;
  if (service.metadata.namespace !== pod.metadata.namespace) return false;
  return selector.every(([key, value]) => pod.metadata.labels?.[key] === value);
}

interface Target {
  route: 'through' | 'bypass' | 'elsewhere';
  port: number;
  target: number | string;
}

function targetsOf(service: Service, pod: Pod): Target[] {
  const agentPort = parseInjected({ annotations: pod.metadata.annotations ?? {} })?.agent.port;
  return (service.spec?.ports ?? []).map((port) => {
    const number = numberOf(port, pod);
    const route =
      number === PROXY_PORT
        ? hasSidecar(pod.spec)
          ? 'through'
          : 'bypass'
        : number === agentPort
          ? 'bypass'
          : 'elsewhere';
    return { route, port: port.port, target: port.targetPort ?? port.port };
  });
}

/** A port name is resolved in this pod, because it may have another number in another pod of the Service. */
function numberOf(port: ServicePort, pod: Pod): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === 'number') return target;
  const protocol = port.protocol ?? 'TCP';
  const ports = containersOf(pod.spec).flatMap((container) => container.ports ?? []);
  return ports.find((each) => each.name === target && (each.protocol ?? 'TCP') === protocol)?.containerPort;
}
