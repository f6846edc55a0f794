import { buildEngine, buildEngineVolumes } from './build-engine.ts';
import { buildSidecar, buildVolumes, type InjectionPlan } from './build-sidecar.ts';
import { parseInjected, restoreContainer, type Injected } from './injected.ts';
import { AGENT_LABEL, CA_ANNOTATION, INJECTED_ANNOTATION, OWN_CONTAINERS, OWN_VOLUMES } from './names.ts';
import type { Container, Pod, PodMetadata, PodSpec, Quantities } from './pod.ts';
import { namesOfPort, removePortNames } from './routing.ts';
import type { InjectionSettings } from './settings.ts';

/**
 * The pod with the sidecar. An earlier injection is removed first. Therefore `inject(inject(p)) = inject(p)`, and a pod
 * with an older configuration gets the current configuration.
 */
export function inject(pod: Pod, plan: InjectionPlan, settings: InjectionSettings): Pod {
  const plain = uninject(pod);
  const agent = plain.spec.containers.find((container) => container.name === plan.agentContainer);
  if (!agent) throw new Error(`the plan names container ${plan.agentContainer}, which the pod does not have`);
  const unnamed = removePortNames(agent, plan.agentPort);
  const sidecar = buildSidecar(plan, agent, namesOfPort(agent, plan.agentPort), settings);
  const own = [...buildEngine(plan, settings), sidecar];
  const injected: Injected = {
    version: settings.version,
    config: settings.configHash,
    agent: { container: agent.name, port: plan.agentPort },
    restore: unnamed.restore,
    ownLabel: plain.metadata?.labels?.[AGENT_LABEL] !== undefined,
  };
  return {
    ...plain,
    metadata: {
      ...plain.metadata,
      labels: { ...plain.metadata?.labels, [AGENT_LABEL]: plan.agentName },
      annotations: {
        ...plain.metadata?.annotations,
        [INJECTED_ANNOTATION]: JSON.stringify(injected),
        ...(settings.ca !== null && { [CA_ANNOTATION]: settings.ca }),
      },
    },
    spec: {
      ...plain.spec,
      containers: plain.spec.containers.map((container) =>
        container === agent ? unnamed.container : container,
      ),
      // First in the list: the sidecar then starts before every other init container and ends after all of them.
      initContainers: [
        ...own.map((container) => keepOtherResources(container, pod)),
        ...(plain.spec.initContainers ?? []),
      ],
      volumes: [
        ...(plain.spec.volumes ?? []),
        ...buildVolumes(plan, settings),
        ...buildEngineVolumes(settings),
      ],
    },
  };
}

/**
 * Between two calls of the webhook, the API server adds the defaults of a LimitRange to the injected containers. CPU and
 * memory keep the injector's values. `ephemeral-storage` is kept, because the LimitRange may require it.
 */
function keepOtherResources(container: Container, before: Pod): Container {
  const resources = before.spec.initContainers?.find(({ name }) => name === container.name)?.resources;
  if (!resources || !parseInjected(before.metadata)) return container;
  const keep = (given: Quantities | undefined, own: Quantities | undefined): Quantities => ({
    ...Object.fromEntries(Object.entries(given ?? {}).filter(([name]) => name === 'ephemeral-storage')),
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
  if (!injected) return pod;
  const { metadata, ...rest } = pod;
  const plain = plainMetadata(metadata ?? {}, injected);
  const spec = plainSpec(pod.spec, injected);
  return Object.keys(plain).length > 0 ? { ...pod, metadata: plain, spec } : { ...rest, spec };
}

function plainMetadata(metadata: PodMetadata, injected: Injected): PodMetadata {
  const { labels = {}, annotations = {}, ...rest } = metadata;
  const plainLabels = injected.ownLabel ? labels : without(labels, [AGENT_LABEL]);
  const plainAnnotations = without(annotations, [INJECTED_ANNOTATION, CA_ANNOTATION]);
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
  const restored = (container: Container): Container =>
    container.name === injected.agent.container && injected.restore.length > 0
      ? restoreContainer(container, injected)
      : container;
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
