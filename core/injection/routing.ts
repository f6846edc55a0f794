import type { Restore } from './injected.ts';
import { PROXY_PORT, PROXY_PORT_NAME } from './names.ts';
import type { Container, ContainerPort, Handler } from './pod.ts';

const isTcp = (port: ContainerPort): boolean => (port.protocol ?? 'TCP') === 'TCP';

/** The names under which a Service finds the agent's TCP port. */
export function namesOfPort(container: Container, number: number): string[] {
  const ports = (container.ports ?? []).filter((port) => port.containerPort === number && isTcp(port));
  return ports.flatMap((port) => (port.name === undefined || port.name === '' ? [] : [port.name]));
}

/** The container's first TCP port, else 8000. */
export function defaultAgentPort(container: Container): number {
  return container.ports?.find(isTcp)?.containerPort ?? 8000;
}

/**
 * Takes the names of the agent's port away from its container, so that the sidecar can carry them and every Service
 * that targets the port by name goes through the proxy. Kubelet resolves a probe's port name inside its own
 * container: the agent's probes and lifecycle handlers that used the name get the number, and still ask the agent.
 */
export function takePortNames(
  container: Container,
  number: number,
): { container: Container; restore: Restore[] } {
  const names = new Set(namesOfPort(container, number));
  if (names.size === 0) return { container, restore: [] };
  const taken = structuredClone(container);
  const restore: Restore[] = [];
  taken.ports?.forEach((port, index) => {
    if (port.name === undefined || port.containerPort !== number || !isTcp(port)) return;
    const place = Object.keys(port).indexOf('name');
    restore.push([`ports/${index}/name`, port.name, ...(place > 0 ? ([place] as [number]) : ([] as []))]);
    delete port.name;
  });
  const handlers: [string, Handler | undefined][] = [
    ['livenessProbe', taken.livenessProbe],
    ['readinessProbe', taken.readinessProbe],
    ['startupProbe', taken.startupProbe],
    ['lifecycle/postStart', taken.lifecycle?.postStart],
    ['lifecycle/preStop', taken.lifecycle?.preStop],
  ];
  for (const [path, handler] of handlers) {
    for (const kind of ['httpGet', 'tcpSocket'] as const) {
      const target = handler?.[kind];
      if (typeof target?.port !== 'string' || !names.has(target.port)) continue;
      restore.push([`${path}/${kind}/port`, target.port]);
      target.port = number;
    }
  }
  return { container: taken, restore };
}

/** The sidecar's proxy port once for each name that it took over; under a name of its own when there was none. */
export function proxyPorts(names: readonly string[]): ContainerPort[] {
  return (names.length > 0 ? names : [PROXY_PORT_NAME]).map((name) => ({
    name,
    containerPort: PROXY_PORT,
    protocol: 'TCP',
  }));
}
