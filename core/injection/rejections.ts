import type { AgentName } from './agent-name.ts';
import { isOverLimit } from './annotation-kinds.ts';
import { ANNOTATIONS, type AnnotationValues } from './annotations.ts';
import type { InjectionPlan } from './build-sidecar.ts';
import { repeatedIn } from '../egress/lane-annotation.ts';
import { MAX_LANES } from '../egress/lane-variables.ts';
import { routeEgress, usesEgressPorts } from './egress.ts';
import {
  AGENT_LABEL,
  ENGINE_HEALTH_PORT,
  ENGINE_PORT,
  MAX_LABELS,
  NAME_LABEL,
  OWN_CONTAINERS,
  OWN_VOLUMES,
  SIDECAR_CONTAINER,
} from './names.ts';
import { CONTROL_PORT, EGRESS_CONNECT_PORT, EGRESS_PORT, OTLP_PORT, PROXY_PORT } from '../egress/ports.ts';
import type { Container, Pod } from './pod.ts';
import { namesOfPort } from './routing.ts';
import { isWeaker } from '../shapes/values.ts';
import { quoted } from '../untrusted/quoted.ts';
import type { InjectionSettings } from './settings.ts';

/** The input of the rules: the pod without an earlier injection, and the values that were parsed and derived from it. */
export interface Subject {
  pod: Pod;
  settings: InjectionSettings;
  values: AnnotationValues;
  agentName: AgentName;
  agent: Container | undefined;
  plan: InjectionPlan;
}

/** One reason to reject a pod. */
interface RejectionRule {
  /** When a pod is rejected, for the reference page. */
  summary: string;
  /** The messages for the pod's author; null: the pod is not rejected. */
  problems: (subject: Subject) => readonly string[] | string | null;
}

/** The rejections by code. The reference page is generated from this table. */
const REJECTIONS = {
  'annotation-invalid': {
    summary: 'an annotation of the table above has an invalid value',
    // `decide` rejects these pods before it evaluates the rules, which need the values.
    problems: () => null,
  },
  'os-not-linux': {
    summary: 'the pod is not for Linux: `spec.os.name`, or the node selector `kubernetes.io/os`',
    problems: ({ pod }) => {
      const named: [string, string | undefined][] = [
        ['spec.os.name', pod.spec.os?.name],
        ['the node selector kubernetes.io/os', pod.spec.nodeSelector?.['kubernetes.io/os']],
      ];
      const other = named.find(([, os]) => os !== undefined && os !== 'linux');
      return other ? `the sidecar runs only on Linux, but ${other[0]} is ${quoted(other[1] ?? '')}` : null;
    },
  },
  'host-network': {
    summary: '`hostNetwork` is true: the sidecar would take its ports on the node',
    problems: ({ pod }) =>
      pod.spec.hostNetwork === true
        ? `a pod with hostNetwork cannot be injected: ports ${PROXY_PORT} and ${CONTROL_PORT} would be taken on the node`
        : null,
  },
  'name-reserved': {
    summary:
      'the pod has no record of an injection, but a container or volume has a reserved name, or a container mounts a volume with a reserved name',
    problems: ({ pod }) => {
      if (hasSidecar(pod))
        return `the pod already has its sidecar, for example from "platform generate --deploy": apply it without injection, or remove the container ${SIDECAR_CONTAINER} and its volumes`;
      const conflicts = reservedNames(pod).join(', ');
      return conflicts === '' ? null : `${conflicts}: this name is reserved for the injector; rename it`;
    },
  },
  'agent-name-unknown': {
    summary: 'the pod has no owner, no name yet (`generateName`) and no annotation `platform.io/agent-name`',
    problems: ({ agentName }) =>
      agentName.ok || agentName.reason !== 'unknown'
        ? null
        : `the pod has no owner and no name yet: set annotation ${ANNOTATIONS.agentName.name}`,
  },
  'agent-name-invalid': {
    summary: "the workload's name is not a valid DNS label",
    problems: ({ agentName }) =>
      agentName.ok || agentName.reason !== 'invalid'
        ? null
        : `${quoted(agentName.name)} is not a valid agent name (${ANNOTATIONS.agentName.allowed}): set annotation ${ANNOTATIONS.agentName.name}`,
  },
  'label-conflict': {
    summary:
      "the pod has the label `platform.io/agent` or `platform.io/agent-name` with a value that differs from the agent's name",
    problems: ({ pod, agentName }) => {
      const labels = pod.metadata?.labels ?? {};
      const found = [AGENT_LABEL, NAME_LABEL].find(
        (name) => Object.hasOwn(labels, name) && agentName.ok && labels[name] !== agentName.name,
      );
      return found === undefined
        ? null
        : `label ${found}: ${quoted(labels[found] ?? '')} is not the agent's name "${agentName.name}": remove the label, or set annotation ${ANNOTATIONS.agentName.name} to it`;
    },
  },
  'too-many-labels': {
    summary: `the pod has more than ${MAX_LABELS} labels, with those that injection adds`,
    problems: ({ pod }) => {
      const count = new Set([...Object.keys(pod.metadata?.labels ?? {}), AGENT_LABEL, NAME_LABEL]).size;
      return count > MAX_LABELS
        ? `the pod of an agent may have at most ${MAX_LABELS} labels, and this pod would have ${count}: remove labels`
        : null;
    },
  },
  'container-unknown': {
    summary: 'no container has the name in `platform.io/agent-container`',
    problems: ({ pod, values, agent }) => {
      if (agent) return null;
      const names = pod.spec.containers.map((container) => container.name).join(', ');
      return values.agentContainer === undefined
        ? 'the pod has no container'
        : `annotation ${ANNOTATIONS.agentContainer.name}: "${values.agentContainer}" is not one of the pod's containers (${cut(names)})`;
    },
  },
  'port-reserved': {
    summary:
      'the agent or another container uses a port of the sidecar (4000, 4001) or of its policy engine (8181 and 8282 with `policy.engine: opa`)',
    problems: ({ pod, plan: { agentPort }, settings }) => {
      const reserved = reservedPorts(settings);
      if (reserved.includes(agentPort))
        return `the agent's port ${agentPort} is reserved for the sidecar (${reserved.join(', ')}): use another port`;
      const other = containerOnPort(pod, reserved);
      return other
        ? `container ${cut(other.name)} uses a port that is reserved for the sidecar (${reserved.join(', ')}): use another port`
        : null;
    },
  },
  'otlp-port-taken': {
    summary:
      '`platform.io/otlp` is `"true"`, and the agent or another container uses port 4318, on which the sidecar receives OTLP',
    problems: ({ pod, plan: { otlp, agentPort } }) => {
      if (!otlp) return null;
      const way = `on which the sidecar receives OTLP (annotation ${ANNOTATIONS.otlp.name}): use another port, or remove the annotation`;
      if (agentPort === OTLP_PORT) return `the agent uses port ${OTLP_PORT}, ${way}`;
      const other = containerOnPort(pod, [OTLP_PORT]);
      return other ? `container ${cut(other.name)} uses port ${OTLP_PORT}, ${way}` : null;
    },
  },
  'egress-port-taken': {
    summary:
      'the pod has lanes (`platform.io/egress-lanes` or `platform.io/egress-connect`), and the agent or another container uses port 4002 or 4003',
    problems: ({ pod, plan: { egress, agentPort } }) => {
      if (!usesEgressPorts(egress)) return null;
      const way = `on which the sidecar has its lanes (annotations ${ANNOTATIONS.egressLanes.name} and ${ANNOTATIONS.egressConnect.name}): use another port, or remove the annotations`;
      if (EGRESS_PORTS.includes(agentPort)) return `the agent uses port ${agentPort}, ${way}`;
      const other = containerOnPort(pod, EGRESS_PORTS);
      return other ? `container ${cut(other.name)} uses port ${EGRESS_PORTS.join(' or ')}, ${way}` : null;
    },
  },
  'egress-lanes-invalid': {
    summary:
      '`platform.io/egress-lanes` names a lane or a variable twice or more than 32 lanes, or the value of a variable is not an http(s) URL without credentials, query and fragment that a lane can call',
    problems: ({ agent, plan: { egress } }) => [
      ...(egress.lanes.length > MAX_LANES
        ? [`annotation ${ANNOTATIONS.egressLanes.name} has more than ${MAX_LANES} lanes`]
        : []),
      ...repeatedIn(egress.lanes).map(
        (repeated) => `annotation ${ANNOTATIONS.egressLanes.name} has ${repeated} twice`,
      ),
      ...(agent ? routeEgress(agent, egress).problems : []).map(
        (problem) => `annotation ${ANNOTATIONS.egressLanes.name}: ${problem}`,
      ),
    ],
  },
  'port-name-shared': {
    summary: "another container has a port with the same name as the agent's port",
    problems: ({ pod, agent, plan }) => {
      if (!agent) return null;
      // A Service uses the first container with the port name, so moving the name to the sidecar would change its target.
      const names = namesOfPort(agent, plan.agentPort);
      const other = pod.spec.containers.find(
        (each) => each !== agent && each.ports?.some((port) => names.includes(port.name ?? '')),
      );
      return other
        ? `containers ${cut(agent.name)} and ${cut(other.name)} both have a port named ${names.map((name) => quoted(name)).join(', ')}: give the agent's port a unique name`
        : null;
    },
  },
  'mode-below-minimum': {
    summary:
      '`platform.io/policy-proxy-mode` or `platform.io/egress-mode` is below the chart value `policy.minimumMode`',
    problems: ({ values, settings: { minimumMode } }) =>
      (['mode', 'egressMode'] as const).flatMap((key) => {
        const mode = values[key];
        return mode !== undefined && isWeaker(mode, minimumMode)
          ? [belowMinimum(key, mode, minimumMode)]
          : [];
      }),
  },
  'grade-below-minimum': {
    summary: '`platform.io/compliant-grade` is below the chart value `policy.minimumCompliantGrade`',
    // Grades are letters from A to F; a later letter is worse.
    problems: ({ values: { compliantGrade: grade }, settings: { minimumCompliantGrade: minimum } }) =>
      grade !== undefined && grade > minimum ? belowMinimum('compliantGrade', grade, minimum) : null,
  },
  'evidence-below-minimum': {
    summary: '`platform.io/compliant-evidence` is below the chart value `policy.minimumCompliantEvidence`',
    problems: ({ values: { compliantEvidence: share }, settings: { minimumCompliantEvidence: minimum } }) =>
      share !== undefined && share < minimum ? belowMinimum('compliantEvidence', share, minimum) : null,
  },
  'image-not-allowed': {
    summary: '`platform.io/sidecar-image` is not listed in the chart value `sidecar.allowedImages`',
    problems: ({ values: { image }, settings }) => {
      const allowed = [settings.image, ...settings.allowedImages];
      return image === undefined || allowed.includes(image)
        ? null
        : `annotation ${ANNOTATIONS.image.name}: "${image}" is not one of the images that this cluster allows (${allowed.join(', ')})`;
    },
  },
  'identity-incomplete': {
    summary: 'only one of `platform.io/identity-header` and `platform.io/identity-proxies` is set',
    problems: ({ values: { identityHeader, identityProxies } }) =>
      (identityHeader === undefined) === (identityProxies === undefined)
        ? null
        : `annotations ${ANNOTATIONS.identityHeader.name} and ${ANNOTATIONS.identityProxies.name} are used together: set both`,
  },
  'request-over-limit': {
    summary: 'a resource request of the sidecar is over its limit; the request is not reduced automatically',
    problems: ({ plan }) => [
      ...requestOverLimit('cpu', plan.cpuRequest, plan.cpuLimit),
      ...requestOverLimit('memory', plan.memoryRequest, plan.memoryLimit),
    ],
  },
} as const satisfies Readonly<Record<string, RejectionRule>>;

export type RejectionCode = keyof typeof REJECTIONS;

export interface Rejection {
  code: RejectionCode;
  message: string;
}

const RULES = Object.entries<RejectionRule>(REJECTIONS) as [RejectionCode, RejectionRule][];

/** Every rejection code and its condition. */
export const REJECTION_SUMMARIES = Object.fromEntries(
  RULES.map(([code, { summary }]) => [code, summary]),
) as Record<RejectionCode, string>;

/** All reasons to reject a pod; empty: the pod can be injected. */
export function rejectionsOf(subject: Subject): Rejection[] {
  return RULES.flatMap(([code, { problems }]) =>
    [problems(subject) ?? []].flat().map((message) => ({ code, message })),
  );
}

function belowMinimum(key: keyof AnnotationValues, value: string | number, minimum: string | number): string {
  return `annotation ${ANNOTATIONS[key].name}: "${value}" is below this cluster's minimum "${minimum}"`;
}

function requestOverLimit(resource: 'cpu' | 'memory', request: string, limit: string): string[] {
  return isOverLimit(request, limit)
    ? [
        `the sidecar's ${resource} request ${request} is over its limit ${limit}: set both platform.io/sidecar-${resource}-request and platform.io/sidecar-${resource}-limit`,
      ]
    : [];
}

const EGRESS_PORTS: readonly number[] = [EGRESS_PORT, EGRESS_CONNECT_PORT];
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

/** The ports of a sidecar that was not injected are a part of `name-reserved`. */
const containerOnPort = (pod: Pod, numbers: readonly number[]): Container | undefined =>
  everyContainer(pod).find(
    ({ name, ports }) =>
      !OWN_CONTAINERS.includes(name) && ports?.some((port) => numbers.includes(port.containerPort)),
  );

/** Whether the pod has a whole sidecar, not only a container with its name. */
const hasSidecar = (pod: Pod): boolean =>
  everyContainer(pod).some(
    ({ name, volumeMounts = [] }) =>
      name === SIDECAR_CONTAINER && volumeMounts.some((mount) => OWN_VOLUMES.has(mount.name)),
  );

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
