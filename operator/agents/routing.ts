import { parseInjected } from '../../core/injection/injected.ts';
import { PROXY_PORT } from '../../core/injection/names.ts';
import type { Condition } from '../../core/observation/observation.ts';
import type { Pod, Service, ServicePort } from '../../kube/types.ts';
import { containersOf } from './agent-pods.ts';

export type Verdict = Pick<Condition, 'status' | 'reason' | 'message'>;

/** Do the Services that select the agent's pods send their traffic through the sidecar? */
export function routed(pods: readonly Pod[], services: readonly Service[]): Verdict {
  const bypassing: string[] = [];
  const through: string[] = [];
  for (const service of services) {
    const selected = pods.filter((pod) => selects(service, pod));
    const targets = selected.flatMap((pod) => targetsOf(service, pod));
    const past = targets.find((target) => target.goes === 'past');
    if (past) bypassing.push(`Service ${service.metadata.name} port ${past.port} targets ${past.target}`);
    else if (targets.some((target) => target.goes === 'through')) through.push(service.metadata.name);
  }
  if (bypassing.length > 0)
    return {
      status: 'False',
      reason: 'ServiceBypassesSidecar',
      message: `${bypassing.sort().join('; ')}: past the sidecar; target the agent's port by its name, or ${PROXY_PORT}`,
    };
  if (through.length > 0) {
    const message = `through the sidecar: ${through
      .sort()
      .map((name) => `Service ${name}`)
      .join(', ')}`;
    return { status: 'True', reason: 'ThroughSidecar', message };
  }
  return { status: 'Unknown', reason: 'NoService', message: "no Service sends traffic to the agent's port" };
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
    const goes = number === PROXY_PORT ? 'through' : number === agentPort ? 'past' : 'elsewhere';
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
