import { buildEngine, buildEngineVolumes } from './build-engine.ts';
import { buildSidecar, buildVolumes, type InjectionPlan } from './build-sidecar.ts';
import { isEgressVariable, routeEgress } from './egress.ts';
import { parseInjected, restoreContainer, type Injected } from './injected.ts';
import {
  AGENT_LABEL,
  CA_ANNOTATION,
  INJECTED_ANNOTATION,
  NAME_LABEL,
  OWN_CONTAINERS,
  OWN_VOLUMES,
} from './names.ts';
import { excludePorts, restorePorts } from './mesh-ports.ts';
import { addOtlpVariables, removeOtlpVariables } from './otlp.ts';
import type { Container, Pod, PodMetadata, PodSpec, Quantities } from './pod.ts';
import { restoreVariables, writeVariables } from './rewrite-variables.ts';
import { removePortNames } from './routing.ts';
import type { InjectionSettings } from './settings.ts';

/** What `decide` found in a pod that is injected. */
export interface Target {
  plan: InjectionPlan;
  /** The record of an earlier injection. */
  record: Injected | null;
  /** The pod's spec without the earlier injection, and the agent's container in it. */
  spec: PodSpec;
  agent: Container;
}

/**
 * The pod with the sidecar. An earlier injection is removed first. Therefore `inject(inject(p)) = inject(p)`, and a pod
 * with an older configuration gets the current configuration.
 */
export function inject(pod: Pod, { plan, record, spec, agent }: Target, settings: InjectionSettings): Pod {
  const metadata = record ? plainMetadata(pod.metadata ?? {}, record) : pod.metadata;
  const unnamed = removePortNames(agent, plan.agentPort);
  const traced = plan.otlp ? addOtlpVariables(unnamed.container) : unnamed.container;
  const { container, record: env } = writeVariables(traced, routeEgress(traced, plan.egress).written);
  const isSameCall = record?.config === settings.configHash;
  const own = [...buildEngine(plan, settings), buildSidecar(plan, traced, unnamed.names, settings)];
  const { annotations, before } = excludePorts(metadata?.annotations ?? {}, plan, settings);
  const injected: Injected = {
    version: settings.version,
    config: settings.configHash,
    agent: { container: agent.name, port: plan.agentPort },
    restore: unnamed.restore,
    ...(traced !== unnamed.container && { otlp: true }),
    ...(env.length > 0 && { env }),
    ...(Object.keys(before).length > 0 && { excludedPorts: before }),
    ownLabel: metadata?.labels?.[AGENT_LABEL] !== undefined,
    ...(metadata?.labels?.[NAME_LABEL] !== undefined && { ownNameLabel: true }),
  };
  return {
    ...pod,
    metadata: {
      ...metadata,
      labels: { ...metadata?.labels, [AGENT_LABEL]: plan.agentName, [NAME_LABEL]: plan.agentName },
      annotations: {
        ...annotations,
        [INJECTED_ANNOTATION]: JSON.stringify(injected),
        ...(settings.ca !== null && { [CA_ANNOTATION]: settings.ca }),
      },
    },
    spec: {
      ...spec,
      containers: spec.containers.map((each) => (each === agent ? container : each)),
      // First in the list: the sidecar then starts before every other init container and ends after all of them.
      initContainers: [
        ...(record ? own.map((container) => keepOtherResources(container, pod, isSameCall)) : own),
        ...(spec.initContainers ?? []),
      ],
      volumes: [...(spec.volumes ?? []), ...buildVolumes(plan, settings), ...buildEngineVolumes(settings)],
    },
  };
}

/**
 * Between two calls of the webhook, the API server adds the defaults of a LimitRange to the injected containers. What the
 * injector sets keeps its value. `ephemeral-storage` is kept, because the LimitRange may require it, and so is the CPU limit, unless
 * the earlier injection had other settings and may have set it itself.
 */
function keepOtherResources(container: Container, before: Pod, isSameCall: boolean): Container {
  const kept = ['ephemeral-storage', ...(isSameCall ? ['cpu'] : [])];
  const resources = before.spec.initContainers?.find(({ name }) => name === container.name)?.resources;
  if (!resources) return container;
  const keep = (given: Quantities | undefined, own: Quantities | undefined): Quantities => ({
    ...Object.fromEntries(Object.entries(given ?? {}).filter(([name]) => kept.includes(name))),
    ...own,
  });
  return {
    ...container,
    resources: {
      requests: keep(resources.requests, container.resources?.requests),
      limits: keep(resources.limits, container.resources?.limits),
    },
  };
}

/** The pod as it was before injection, without empty lists and maps. A pod that is not injected is returned unchanged. */
export function uninject(pod: Pod): Pod {
  const injected = parseInjected(pod.metadata);
  return injected ? withoutInjection(pod, injected) : pod;
}

/** Undoes the injection with this record. */
export function withoutInjection(pod: Pod, injected: Injected): Pod {
  const { metadata, ...rest } = pod;
  const plain = plainMetadata(metadata ?? {}, injected);
  const spec = plainSpec(pod.spec, injected);
  return Object.keys(plain).length > 0 ? { ...pod, metadata: plain, spec } : { ...rest, spec };
}

function plainMetadata(metadata: PodMetadata, injected: Injected): PodMetadata {
  const { labels = {}, annotations = {}, ...rest } = metadata;
  const plainLabels = without(labels, [
    ...(injected.ownLabel ? [] : [AGENT_LABEL]),
    ...(injected.ownNameLabel === true ? [] : [NAME_LABEL]),
  ]);
  const plainAnnotations = restorePorts(
    without(annotations, [INJECTED_ANNOTATION, CA_ANNOTATION]),
    injected.excludedPorts ?? {},
  );
  return {
    ...rest,
    ...(Object.keys(plainLabels).length > 0 && { labels: plainLabels }),
    ...(Object.keys(plainAnnotations).length > 0 && { annotations: plainAnnotations }),
  };
}

function plainSpec(spec: PodSpec, injected: Injected): PodSpec {
  const { initContainers = [], volumes = [], ...rest } = spec;
  const others = initContainers.filter((container) => !OWN_CONTAINERS.includes(container.name));
  const otherVolumes = volumes.filter((volume) => !OWN_VOLUMES.has(volume.name));
  const restored = (container: Container): Container => {
    if (container.name !== injected.agent.container) return container;
    const direct = restoreVariables(container, injected.env ?? [], isEgressVariable);
    const plain = injected.otlp === true ? removeOtlpVariables(direct) : direct;
    return injected.restore.length > 0 ? restoreContainer(plain, injected) : plain;
  };
  return {
    ...rest,
    containers: spec.containers.map(restored),
    ...(others.length > 0 && { initContainers: others }),
    ...(otherVolumes.length > 0 && { volumes: otherVolumes }),
  };
}

function without(map: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
}
