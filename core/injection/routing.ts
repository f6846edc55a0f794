import type { Restore } from './injected.ts';
import { PROXY_PORT_NAME } from './names.ts';
import { PROXY_PORT } from '../egress/ports.ts';
import type { Container, ContainerPort, Handler } from './pod.ts';

const isTcp = (port: ContainerPort): boolean => (port.protocol ?? 'TCP') === 'TCP';

/** The names by which a Service can target the agent's TCP port. */
export function namesOfPort(container: Container, number: number): string[] {
  const ports = (container.ports ?? []).filter((port) => port.containerPort === number && isTcp(port));
  return ports.flatMap((port) => (port.name === undefined || port.name === '' ? [] : [port.name]));
}

/** The container's first TCP port, else 8000. */
export function defaultAgentPort(container: Container): number {
  return container.ports?.find(isTcp)?.containerPort ?? 8000;
}

/**
 * Removes the names of the agent's port from its container. The sidecar gets these names, so every Service that targets
 * the port by name is routed through the proxy. The kubelet resolves a probe's port name within the probe's container.
 * Therefore the agent's probes and lifecycle handlers that use the name get the port number and still reach the agent.
 * The returned container shares all unchanged parts with the given container.
 */
export function removePortNames(
  container: Container,
  number: number,
): { container: Container; names: string[]; restore: Restore[] } {
  const names = namesOfPort(container, number);
  if (names.length === 0) return { container, names, restore: [] };
  const restore: Restore[] = [];
  const changed: Container = { ...container };
  changed.ports = (container.ports ?? []).map((port, index) => {
    const { name, ...unnamed } = port;
    if (name === undefined || port.containerPort !== number || !isTcp(port)) return port;
    const place = Object.keys(port).indexOf('name');
    restore.push(place > 0 ? [`ports/${index}/name`, name, place] : [`ports/${index}/name`, name]);
    return unnamed;
  });
  for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    const handler = container[probe];
    if (handler !== undefined) changed[probe] = byNumber(handler, { path: probe, names, number, restore });
  }
  if (container.lifecycle === undefined) return { container: changed, names, restore };
  changed.lifecycle = { ...container.lifecycle };
  for (const hook of ['postStart', 'preStop'] as const) {
    const handler = container.lifecycle[hook];
    if (handler !== undefined)
      changed.lifecycle[hook] = byNumber(handler, { path: `lifecycle/${hook}`, names, number, restore });
  }
  return { container: changed, names, restore };
}

/** The handler with the port number instead of one of the names; the same object if the handler uses none of the names. */
function byNumber(
  handler: Handler,
  { path, names, number, restore }: { path: string; names: string[]; number: number; restore: Restore[] },
): Handler {
  let changed = handler;
  for (const kind of ['httpGet', 'tcpSocket'] as const) {
    const target = handler[kind];
    if (typeof target?.port !== 'string' || !names.includes(target.port)) continue;
    restore.push([`${path}/${kind}/port`, target.port]);
    changed = { ...changed, [kind]: { ...target, port: number } };
  }
  return changed;
}

/** The sidecar's proxy port, once for each name of the agent's port; with a default name if the agent's port has no name. */
export function proxyPorts(names: readonly string[]): ContainerPort[] {
  return (names.length > 0 ? names : [PROXY_PORT_NAME]).map((name) => ({
    name,
    containerPort: PROXY_PORT,
    protocol: 'TCP',
  }));
}
