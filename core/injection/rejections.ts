import type { AgentName } from './agent-name.ts';
import { ANNOTATIONS, type AnnotationValues } from './annotations.ts';
import {
  AGENT_LABEL,
  CONTROL_PORT,
  ENGINE_HEALTH_PORT,
  ENGINE_PORT,
  OWN_CONTAINERS,
  OWN_VOLUMES,
  PROXY_PORT,
} from './names.ts';
import type { Container, Pod } from './pod.ts';
import { parseQuantity } from './quantity.ts';
import { namesOfPort } from './routing.ts';
import { shown } from './shown.ts';
import type { InjectionSettings, SidecarResources } from './settings.ts';

/** Every code of a rejection and when it is said; the reference page is generated from this table. */
export const REJECTION_SUMMARIES = {
  'annotation-invalid': 'an annotation above has a value that it does not allow',
  'os-not-linux': 'the pod is not for Linux: `spec.os.name`, or the node selector `kubernetes.io/os`',
  'host-network': '`hostNetwork` is true: the ports of the sidecar would be taken on the node',
  'name-reserved':
    'a container or a volume has a name of the injector, or a container mounts such a volume, and the pod has no record of an injection',
  'agent-name-unknown':
    'no owner, a name that is still to be generated, and no annotation `platform.io/agent-name`',
  'agent-name-invalid': "the workload's name is no DNS label",
  'label-conflict': "the pod brings the label `platform.io/agent` with another value than the agent's name",
  'container-unknown': 'no container has the name that `platform.io/agent-container` says',
  'port-reserved':
    'the agent, or any container, is on a port of the sidecar (4000, 4001) or of the policy engine beside it (8181, 8282 with `policy.engine: opa`)',
  'port-name-shared': "another container has the port name of the agent's port",
  'mode-below-minimum': '`platform.io/policy-proxy-mode` is under the chart value `policy.minimumMode`',
  'grade-below-minimum':
    '`platform.io/compliant-grade` is below the chart value `policy.minimumCompliantGrade`',
  'evidence-below-minimum':
    '`platform.io/compliant-evidence` is below the chart value `policy.minimumCompliantEvidence`',
  'image-not-allowed': '`platform.io/sidecar-image` is not one of the chart value `sidecar.allowedImages`',
  'request-over-limit': 'a request of the sidecar is over its limit: it is never cut in silence',
} as const;

export type RejectionCode = keyof typeof REJECTION_SUMMARIES;

export interface Rejection {
  code: RejectionCode;
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

type Rule = (subject: Subject) => Rejection | null;

const MODE_RANK = { off: 0, track: 1, enforce: 2 } as const;

/** One row a reason. */
export const RULES: readonly Rule[] = [
  ({ pod }) => {
    const named: [string, string | undefined][] = [
      ['spec.os.name', pod.spec.os?.name],
      ['the node selector kubernetes.io/os', pod.spec.nodeSelector?.['kubernetes.io/os']],
    ];
    const other = named.find(([, os]) => os !== undefined && os !== 'linux');
    return other
      ? rejection('os-not-linux', `the sidecar is a Linux image, and ${other[0]} is ${shown(other[1] ?? '')}`)
      : null;
  },

  ({ pod }) =>
    pod.spec.hostNetwork === true
      ? rejection(
          'host-network',
          `a pod with hostNetwork cannot be injected: ports ${PROXY_PORT} and ${CONTROL_PORT} would be taken on the node`,
        )
      : null,

  ({ pod }) => {
    const taken = reservedNames(pod);
    return taken.length > 0
      ? rejection('name-reserved', `${taken.join(', ')}: this name belongs to the injector; rename it`)
      : null;
  },

  ({ agentName }) =>
    agentName.ok || agentName.reason !== 'unknown'
      ? null
      : rejection(
          'agent-name-unknown',
          `the pod has no owner and no name yet: set annotation ${ANNOTATIONS.agentName.name}`,
        ),

  ({ agentName }) =>
    agentName.ok || agentName.reason !== 'invalid'
      ? null
      : rejection(
          'agent-name-invalid',
          `${shown(agentName.name)} is no agent name (${ANNOTATIONS.agentName.allowed}): set annotation ${ANNOTATIONS.agentName.name}`,
        ),

  ({ pod, agentName }) => {
    const label = pod.metadata?.labels?.[AGENT_LABEL];
    return label === undefined || !agentName.ok || label === agentName.name
      ? null
      : rejection(
          'label-conflict',
          `label ${AGENT_LABEL}: ${shown(label)} is not the agent's name "${agentName.name}": remove the label, or set annotation ${ANNOTATIONS.agentName.name} to it`,
        );
  },

  ({ pod, values, agent }) => {
    if (agent) return null;
    const names = pod.spec.containers.map((container) => container.name).join(', ');
    return values.agentContainer === undefined
      ? rejection('container-unknown', 'the pod has no container')
      : rejection(
          'container-unknown',
          `annotation ${ANNOTATIONS.agentContainer.name}: "${values.agentContainer}" is not one of the pod's containers (${cut(names)})`,
        );
  },

  ({ pod, agentPort, settings }) => {
    const reserved = reservedPorts(settings);
    if (reserved.includes(agentPort))
      return rejection(
        'port-reserved',
        `the agent's port ${agentPort} is one of the sidecar's (${reserved.join(', ')}): let it listen elsewhere`,
      );
    const other = everyContainer(pod).find((container) =>
      container.ports?.some((port) => reserved.includes(port.containerPort)),
    );
    return other
      ? rejection(
          'port-reserved',
          `container ${cut(other.name)} has a port of the sidecar's (${reserved.join(', ')}): let it listen elsewhere`,
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
      ? rejection(
          'port-name-shared',
          `containers ${cut(agent.name)} and ${cut(other.name)} both name a port ${names.map(shown).join(', ')}: give the agent's port a name of its own`,
        )
      : null;
  },

  ({ values, settings }) =>
    values.mode !== undefined && MODE_RANK[values.mode] < MODE_RANK[settings.minimumMode]
      ? rejection(
          'mode-below-minimum',
          `annotation ${ANNOTATIONS.mode.name}: "${values.mode}" is below this cluster's minimum "${settings.minimumMode}"`,
        )
      : null,

  // Grades are letters from A to F: a later one is worse.
  ({ values, settings }) =>
    values.compliantGrade !== undefined && values.compliantGrade > settings.minimumCompliantGrade
      ? rejection(
          'grade-below-minimum',
          `annotation ${ANNOTATIONS.compliantGrade.name}: "${values.compliantGrade}" is below this cluster's minimum "${settings.minimumCompliantGrade}"`,
        )
      : null,

  ({ values, settings }) =>
    values.compliantEvidence !== undefined && values.compliantEvidence < settings.minimumCompliantEvidence
      ? rejection(
          'evidence-below-minimum',
          `annotation ${ANNOTATIONS.compliantEvidence.name}: "${values.compliantEvidence}" is below this cluster's minimum "${settings.minimumCompliantEvidence}"`,
        )
      : null,

  ({ values, settings }) => {
    const allowed = [settings.image, ...settings.allowedImages];
    return values.image === undefined || allowed.includes(values.image)
      ? null
      : rejection(
          'image-not-allowed',
          `annotation ${ANNOTATIONS.image.name}: "${values.image}" is not one of the images that this cluster allows (${allowed.join(', ')})`,
        );
  },

  ({ resources }) => requestOverLimit('cpu', resources.cpuRequest, resources.cpuLimit),
  ({ resources }) => requestOverLimit('memory', resources.memoryRequest, resources.memoryLimit),
];

function rejection(code: RejectionCode, message: string): Rejection {
  return { code, message };
}

function requestOverLimit(resource: 'cpu' | 'memory', request: string, limit: string): Rejection | null {
  return (parseQuantity(request) ?? 0) > (parseQuantity(limit) ?? 0)
    ? rejection(
        'request-over-limit',
        `the sidecar's ${resource} request ${request} is over its limit ${limit}: set both platform.io/sidecar-${resource}-request and platform.io/sidecar-${resource}-limit`,
      )
    : null;
}

const SIDECAR_PORTS: readonly number[] = [PROXY_PORT, CONTROL_PORT];
const SIDECAR_AND_ENGINE_PORTS: readonly number[] = [...SIDECAR_PORTS, ENGINE_PORT, ENGINE_HEALTH_PORT];

function reservedPorts({ engine }: InjectionSettings): readonly number[] {
  return typeof engine === 'string' ? SIDECAR_PORTS : SIDECAR_AND_ENGINE_PORTS;
}

/** Names come before the API server has looked at them: a control character or a megabyte must not go on. */
const cut = (text: string): string => shown(text).slice(1, -1);

function everyContainer(pod: Pod): readonly Container[] {
  const { containers, initContainers } = pod.spec;
  return initContainers === undefined ? containers : [...initContainers, ...containers];
}

function reservedNames(pod: Pod): string[] {
  const containers = everyContainer(pod);
  const taken: string[] = [];
  for (const { name } of containers) if (OWN_CONTAINERS.includes(name)) taken.push(`container ${name}`);
  for (const { name } of pod.spec.volumes ?? []) if (OWN_VOLUMES.has(name)) taken.push(`volume ${name}`);
  // It would mount what is injected: the sidecar's token, or the rules that its engine reads.
  for (const { name, volumeMounts = [] } of containers)
    for (const mount of volumeMounts)
      if (OWN_VOLUMES.has(mount.name)) taken.push(`volume ${mount.name} that container ${cut(name)} mounts`);
  return taken;
}
