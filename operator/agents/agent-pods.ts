import { optsIn } from '../../core/injection/drift.ts';
import { SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import { present } from '../../core/untrusted/present.ts';
import { keepPodMetadata } from '../../kube/kept-metadata.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import type { Container, Pod, PodContainers } from '../../kube/types.ts';
import { keepSidecarStatuses } from './sidecar-state.ts';

export function hasSidecar(containers: PodContainers | undefined): boolean {
  return containersOf(containers).some((container) => container.name === SIDECAR_CONTAINER);
}

/** The containers that run concurrently: containers and native sidecars, without other init containers. */
export function containersOf(containers: PodContainers | undefined): Container[] {
  const sidecars = containers?.initContainers?.filter((container) => container.restartPolicy === 'Always');
  return [...(sidecars ?? []), ...(containers?.containers ?? [])];
}

/** Reduces a pod without the agent label to the cached metadata; null if the pod does not opt in. */
export function keepOptedIn({ metadata }: Pod): Pod | null {
  return optsIn(metadata.annotations ?? {}) ? { metadata: keepPodMetadata(metadata) } : null;
}

/** Reduces a pod with the agent label to the cached fields. */
export function keepPod(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  return {
    metadata: keepPodMetadata(metadata),
    spec: keepContainers(spec),
    status: present({ phase: status?.phase, initContainerStatuses: keepSidecarStatuses(pod) }),
  };
}

/** Reduces the containers to the sidecar and the ports that a Service can target by name. */
export function keepContainers(spec: PodContainers | undefined): PodContainers {
  const keep = ({ name, restartPolicy, ports = [] }: Container): Container[] => {
    const named = ports.filter((port) => port.name !== undefined);
    if (named.length === 0)
      return name === SIDECAR_CONTAINER ? [{ name, ...present({ restartPolicy }) }] : [];
    return [{ name, ...present({ restartPolicy }), ports: named }];
  };
  return {
    containers: (spec?.containers ?? []).flatMap(keep),
    initContainers: (spec?.initContainers ?? []).flatMap(keep),
  };
}

/** Ignores the resourceVersion: most updates of a pod come from its kubelet and do not concern this process. */
export function isSamePod(a: Pod, b: Pod): boolean {
  const plain = (pod: Pod) => ({ ...pod, metadata: { ...pod.metadata, resourceVersion: '' } });
  return sameJson(plain(a), plain(b));
}
