import type { AgentName } from './agent-name.ts';
import { ANNOTATIONS, type AnnotationValues } from './annotations.ts';
import type { InjectionPlan } from './build-sidecar.ts';
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
import { quoted } from '../untrusted/quoted.ts';
import type { InjectionSettings } from './settings.ts';

/** Every rejection code and its condition; the reference page is generated from this table. */
export const REJECTION_SUMMARIES = {
  'annotation-invalid': 'an annotation of the table above has an invalid value',
  'os-not-linux': 'the pod is not for Linux: `spec.os.name`, or the node selector `kubernetes.io/os`',
  'host-network': '`hostNetwork` is true: the sidecar would take its ports on the node',
  'name-reserved':
    'the pod has no record of an injection, but a container or volume has a reserved name, or a container mounts a volume with a reserved name',
  'agent-name-unknown':
    'the pod has no owner, no name yet (`generateName`) and no annotation `platform.io/agent-name`',
  'agent-name-invalid': "the workload's name is not a valid DNS label",
  'label-conflict':
    "the pod has the label `platform.io/agent` with a value that differs from the agent's name",
  'container-unknown': 'no container has the name in `platform.io/agent-container`',
  'port-reserved':
    'the agent or another container uses a port of the sidecar (4000, 4001) or of its policy engine (8181 and 8282 with `policy.engine: opa`)',
  'port-name-shared': "another container has a port with the same name as the agent's port",
  'mode-below-minimum': '`platform.io/policy-proxy-mode` is below the chart value `policy.minimumMode`',
  'grade-below-minimum':
    '`platform.io/compliant-grade` is below the chart value `policy.minimumCompliantGrade`',
  'evidence-below-minimum':
    '`platform.io/compliant-evidence` is below the chart value `policy.minimumCompliantEvidence`',
  'image-not-allowed': '`platform.io/sidecar-image` is not listed in the chart value `sidecar.allowedImages`',
  'request-over-limit':
    'a resource request of the sidecar is over its limit; the request is not reduced automatically',
} as const;

export type RejectionCode = keyof typeof REJECTION_SUMMARIES;

export interface Rejection {
  code: RejectionCode;
  message: string;
}

/** The input of the rules: the pod without an earlier injection, and the values that were parsed and derived from it. */
export interface Subject {
  pod: Pod;
  settings: InjectionSettings;
  values: AnnotationValues;
  agentName: AgentName;
  agent: Container | undefined;
  plan: InjectionPlan;
}

type Rule = (subject: Subject) => Rejection | null;

const MODE_RANK = { off: 0, track: 1, enforce: 2 } as const;

/** One rule per reason. */
export const RULES: readonly Rule[] = [
  ({ pod }) => {
    const named: [string, string | undefined][] = [
      ['spec.os.name', pod.spec.os?.name],
      ['the node selector kubernetes.io/os', pod.spec.nodeSelector?.['kubernetes.io/os']],
    ];
    const other = named.find(([, os]) => os !== undefined && os !== 'linux');
    return other
      ? rejection(
          'os-not-linux',
          `the sidecar runs only on Linux, but ${other[0]} is ${quoted(other[1] ?? '')}`,
        )
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
    const conflicts = reservedNames(pod);
    return conflicts.length > 0
      ? rejection(
          'name-reserved',
          `${conflicts.join(', ')}: this name is reserved for the injector; rename it`,
        )
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
          `${quoted(agentName.name)} is not a valid agent name (${ANNOTATIONS.agentName.allowed}): set annotation ${ANNOTATIONS.agentName.name}`,
        ),

  ({ pod, agentName }) => {
    const label = pod.metadata?.labels?.[AGENT_LABEL];
    return label === undefined || !agentName.ok || label === agentName.name
      ? null
      : rejection(
          'label-conflict',
          `label ${AGENT_LABEL}: ${quoted(label)} is not the agent's name "${agentName.name}": remove the label, or set annotation ${ANNOTATIONS.agentName.name} to it`,
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

  ({ pod, plan: { agentPort }, settings }) => {
    const reserved = reservedPorts(settings);
    if (reserved.includes(agentPort))
      return rejection(
        'port-reserved',
        `the agent's port ${agentPort} is reserved for the sidecar (${reserved.join(', ')}): use another port`,
      );
    const other = everyContainer(pod).find((container) =>
      container.ports?.some((port) => reserved.includes(port.containerPort)),
    );
    return other
      ? rejection(
          'port-reserved',
          `container ${cut(other.name)} uses a port that is reserved for the sidecar (${reserved.join(', ')}): use another port`,
        )
      : null;
  },

  ({ pod, agent, plan }) => {
    if (!agent) return null;
    // A Service uses the first container with the port name, so moving the name to the sidecar would change its target.
    const names = namesOfPort(agent, plan.agentPort);
    const other = pod.spec.containers.find(
      (container) => container !== agent && container.ports?.some((port) => names.includes(port.name ?? '')),
    );
    return other
      ? rejection(
          'port-name-shared',
          `containers ${cut(agent.name)} and ${cut(other.name)} both have a port named ${names.map((name) => quoted(name)).join(', ')}: give the agent's port a unique name`,
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

  // Grades are letters from A to F; a later letter is worse.
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

  ({ plan }) => requestOverLimit('cpu', plan.cpuRequest, plan.cpuLimit),
  ({ plan }) => requestOverLimit('memory', plan.memoryRequest, plan.memoryLimit),
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

/** Names are not yet validated by the API server, so they may contain control characters or a megabyte of text. */
const cut = (text: string): string => quoted(text).slice(1, -1);

function everyContainer(pod: Pod): readonly Container[] {
  const { containers, initContainers } = pod.spec;
  return initContainers === undefined ? containers : [...initContainers, ...containers];
}

function reservedNames(pod: Pod): string[] {
  const containers = everyContainer(pod);
  const conflicts: string[] = [];
  for (const { name } of containers) if (OWN_CONTAINERS.includes(name)) conflicts.push(`container ${name}`);
  for (const { name } of pod.spec.volumes ?? []) if (OWN_VOLUMES.has(name)) conflicts.push(`volume ${name}`);
  // Such a container could read the sidecar's token or write the rules of its policy engine.
  for (const { name, volumeMounts = [] } of containers)
    for (const mount of volumeMounts)
      if (OWN_VOLUMES.has(mount.name))
        conflicts.push(`volume ${mount.name} mounted by container ${cut(name)}`);
  return conflicts;
}
