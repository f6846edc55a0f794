import type { AgentName } from './agent-name.ts';
import { ANNOTATIONS, type AnnotationValues } from './annotations.ts';
import { AGENT_LABEL, CONTROL_PORT, PROXY_PORT, SIDECAR_CONTAINER, VOLUMES } from './names.ts';
import type { Container, Pod } from './pod.ts';
import { parseQuantity } from './quantity.ts';
import { namesOfPort } from './routing.ts';
import type { InjectionSettings, SidecarResources } from './settings.ts';

export type RefusalCode =
  | 'annotation-invalid'
  | 'os-not-linux'
  | 'host-network'
  | 'name-reserved'
  | 'agent-name-unknown'
  | 'agent-name-invalid'
  | 'label-conflict'
  | 'container-unknown'
  | 'port-reserved'
  | 'port-name-shared'
  | 'mode-below-minimum'
  | 'image-not-allowed'
  | 'request-over-limit';

export interface Refusal {
  code: RefusalCode;
  message: string;
}

/** What the rules look at: the pod without an earlier injection, and what was read and derived from it. */
export interface Subject {
  pod: Pod;
  settings: InjectionSettings;
  values: AnnotationValues;
  agentName: AgentName;
  agent: Container | undefined;
  agentPort: number;
  resources: SidecarResources;
}

type Rule = (subject: Subject) => Refusal | null;

const RESERVED_PORTS: readonly number[] = [PROXY_PORT, CONTROL_PORT];
const MODE_RANK = { off: 0, track: 1, enforce: 2 } as const;

/** One row a reason. */
export const RULES: readonly Rule[] = [
  ({ pod }) =>
    pod.spec.os?.name === undefined || pod.spec.os.name === 'linux'
      ? null
      : refusal('os-not-linux', `the sidecar is a Linux image, and spec.os.name is "${pod.spec.os.name}"`),

  ({ pod }) =>
    pod.spec.hostNetwork === true
      ? refusal(
          'host-network',
          `a pod with hostNetwork cannot be injected: ports ${PROXY_PORT} and ${CONTROL_PORT} would be taken on the node`,
        )
      : null,

  ({ pod }) => {
    const taken = reservedNames(pod);
    return taken.length > 0
      ? refusal('name-reserved', `${taken.join(', ')}: this name belongs to the injector; rename it`)
      : null;
  },

  ({ agentName }) =>
    agentName.ok || agentName.reason !== 'unknown'
      ? null
      : refusal(
          'agent-name-unknown',
          `the pod has no owner and no name yet: set annotation ${ANNOTATIONS.agentName.name}`,
        ),

  ({ agentName }) =>
    agentName.ok || agentName.reason !== 'invalid'
      ? null
      : refusal(
          'agent-name-invalid',
          `"${agentName.name}" is no agent name (${ANNOTATIONS.agentName.allowed}): set annotation ${ANNOTATIONS.agentName.name}`,
        ),

  ({ pod, agentName }) => {
    const label = pod.metadata?.labels?.[AGENT_LABEL];
    return label === undefined || !agentName.ok || label === agentName.name
      ? null
      : refusal(
          'label-conflict',
          `label ${AGENT_LABEL}: "${label}" is not the agent's name "${agentName.name}": remove the label, or set annotation ${ANNOTATIONS.agentName.name} to it`,
        );
  },

  ({ pod, values, agent }) =>
    agent
      ? null
      : refusal(
          'container-unknown',
          `annotation ${ANNOTATIONS.agentContainer.name}: "${values.agentContainer ?? ''}" is not one of the pod's containers (${pod.spec.containers.map((container) => container.name).join(', ')})`,
        ),

  ({ pod, agentPort }) => {
    if (RESERVED_PORTS.includes(agentPort))
      return refusal(
        'port-reserved',
        `the agent's port ${agentPort} is one of the sidecar's (${RESERVED_PORTS.join(', ')}): let it listen elsewhere`,
      );
    const other = everyContainer(pod).find((container) =>
      container.ports?.some((port) => RESERVED_PORTS.includes(port.containerPort)),
    );
    return other
      ? refusal(
          'port-reserved',
          `container ${other.name} has a port of the sidecar's (${RESERVED_PORTS.join(', ')}): let it listen elsewhere`,
        )
      : null;
  },

  ({ pod, agent, agentPort }) => {
    if (!agent) return null;
    // A Service takes the first container that has the name, so the name could not move without a change of meaning.
    const names = namesOfPort(agent, agentPort);
    const other = pod.spec.containers.find(
      (container) => container !== agent && container.ports?.some((port) => names.includes(port.name ?? '')),
    );
    return other
      ? refusal(
          'port-name-shared',
          `containers ${agent.name} and ${other.name} both name a port ${names.map((name) => `"${name}"`).join(', ')}: give the agent's port a name of its own`,
        )
      : null;
  },

  ({ values, settings }) =>
    values.mode !== undefined && MODE_RANK[values.mode] < MODE_RANK[settings.minimumMode]
      ? refusal(
          'mode-below-minimum',
          `annotation ${ANNOTATIONS.mode.name}: "${values.mode}" is below this cluster's minimum "${settings.minimumMode}"`,
        )
      : null,

  ({ values, settings }) => {
    const allowed = [settings.image, ...settings.allowedImages];
    return values.image === undefined || allowed.includes(values.image)
      ? null
      : refusal(
          'image-not-allowed',
          `annotation ${ANNOTATIONS.image.name}: "${values.image}" is not one of the images that this cluster allows (${allowed.join(', ')})`,
        );
  },

  ({ resources }) => requestOverLimit('cpu', resources.cpuRequest, resources.cpuLimit),
  ({ resources }) => requestOverLimit('memory', resources.memoryRequest, resources.memoryLimit),
];

function refusal(code: RefusalCode, message: string): Refusal {
  return { code, message };
}

function requestOverLimit(resource: 'cpu' | 'memory', request: string, limit: string): Refusal | null {
  return (parseQuantity(request) ?? 0) > (parseQuantity(limit) ?? 0)
    ? refusal(
        'request-over-limit',
        `the sidecar's ${resource} request ${request} is over its limit ${limit}: set both platform.io/sidecar-${resource}-request and platform.io/sidecar-${resource}-limit`,
      )
    : null;
}

function everyContainer(pod: Pod): Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}

function reservedNames(pod: Pod): string[] {
  const volumes: readonly string[] = Object.values(VOLUMES);
  return [
    ...everyContainer(pod)
      .filter((container) => container.name === SIDECAR_CONTAINER)
      .map((container) => `container ${container.name}`),
    ...(pod.spec.volumes ?? [])
      .filter((volume) => volumes.includes(volume.name))
      .map((volume) => `volume ${volume.name}`),
  ];
}
