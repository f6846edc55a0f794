import { parseInjected } from '../../core/injection/injected.ts';
import { CONTROL_PORT, PROXY_PORT } from '../../core/injection/names.ts';
import { always, type ConditionTable } from '../../core/observation/verdict.ts';
import type { Pod, Service, ServicePort } from '../../kube/types.ts';
import { containersOf, hasSidecar } from './agent-pods.ts';
import { isPortTaken, isSidecarDown } from './sidecar-state.ts';

/** Where a Service sends what it gets for the agent's pods. */
interface Ways {
  /** One sentence a Service, sorted. */
  past: string[];
  through: string[];
}

interface Seen {
  pods: readonly Pod[];
  services: readonly Service[];
}

/** The reason that has an Event of its own. */
export const PORT_TAKEN = 'PortTaken';

/** Do the Services that select the agent's pods send their traffic through the sidecar? */
export const ROUTED: ConditionTable<Seen> = {
  type: 'Routed',
  meaning: 'the Services that lead to the agent go through the sidecar',
  rows: [
    {
      status: 'False',
      reason: PORT_TAKEN,
      when: 'the sidecar of a live pod ended because another process of the pod had one of its ports; until the pod is replaced',
      holds: ({ pods }) => pods.some(isPortTaken),
      message: ({ pods }) =>
        `the sidecar of ${namesOf(pods.filter(isPortTaken))} could not listen on port ${PROXY_PORT} or ${CONTROL_PORT}: another process of the pod has the port; let it listen elsewhere, and restart the workload`,
    },
    {
      status: 'False',
      reason: 'ServiceBypassesSidecar',
      when: "a Service targets the agent's own port; the message names each",
      holds: (seen) => waysOf(seen).past.length > 0,
      message: (seen) =>
        `${waysOf(seen).past.join('; ')}: past the sidecar; target the agent's port by its name, or ${PROXY_PORT}`,
    },
    {
      status: 'Unknown',
      reason: 'SidecarDown',
      when: 'the sidecar of a live pod has failed and does not run: what answers on its ports now is not known',
      holds: ({ pods }) => pods.some(isSidecarDown),
      message: ({ pods }) =>
        `the sidecar of ${namesOf(pods.filter(isSidecarDown))} has failed and does not run; see its log`,
    },
    {
      status: 'True',
      reason: 'ThroughSidecar',
      when: 'Services lead to the port of the sidecar, and none past it',
      holds: (seen) => waysOf(seen).through.length > 0,
      message: (seen) => `through the sidecar: ${waysOf(seen).through.join(', ')}`,
    },
    {
      status: 'Unknown',
      reason: 'NoService',
      when: 'no Service leads to either port',
      holds: always,
      message: () => "no Service sends traffic to the agent's port",
    },
  ],
};

/** The first by name, and how many others there are. */
function namesOf(pods: readonly Pod[]): string {
  const [first = '', ...others] = pods.map(({ metadata }) => metadata.name).sort();
  return others.length === 0 ? `pod ${first}` : `pod ${first} and ${others.length} more`;
}

function waysOf({ pods, services }: Seen): Ways {
  const ways: Ways = { past: [], through: [] };
  for (const service of services) {
    const selected = pods.filter((pod) => selects(service, pod));
    const targets = selected.flatMap((pod) => targetsOf(service, pod));
    const past = targets.find((target) => target.goes === 'past');
    const name = `Service ${service.metadata.name}`;
    if (past) ways.past.push(`${name} port ${past.port} targets ${past.target}`);
    else if (targets.some((target) => target.goes === 'through')) ways.through.push(name);
  }
  return { past: ways.past.sort(), through: ways.through.sort() };
}

/** An empty selector selects nothing: such a Service has endpoints of its own. */
export function selects(service: Service, pod: Pod): boolean {
  const selector = Object.entries(service.spec?.selector ?? {});
  if (selector.length === 0 || service.spec?.type === 'ExternalName') return false;
  if (service.metadata.namespace !== pod.metadata.namespace) return false;
  return selector.every(([key, value]) => pod.metadata.labels?.[key] === value);
}

interface Target {
  goes: 'through' | 'past' | 'elsewhere';
  port: number;
  target: number | string;
}

function targetsOf(service: Service, pod: Pod): Target[] {
  const agentPort = parseInjected({ annotations: pod.metadata.annotations ?? {} })?.agent.port;
  return (service.spec?.ports ?? []).map((port) => {
    const number = numberOf(port, pod);
    const goes =
      number === PROXY_PORT
        ? hasSidecar(pod.spec)
          ? 'through'
          : 'past'
        : number === agentPort
          ? 'past'
          : 'elsewhere';
    return { goes, port: port.port, target: port.targetPort ?? port.port };
  });
}

/** A name is looked up in this pod: another pod of the Service may have another number behind it. */
function numberOf(port: ServicePort, pod: Pod): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === 'number') return target;
  const protocol = port.protocol ?? 'TCP';
  const ports = containersOf(pod.spec).flatMap((container) => container.ports ?? []);
  return ports.find((each) => each.name === target && (each.protocol ?? 'TCP') === protocol)?.containerPort;
}
