import { optsIn } from '../../core/injection/drift.ts';
import { CA_ANNOTATION, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import { present } from '../../core/untrusted/present.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import { MIRROR_ANNOTATION } from '../../kube/pods.ts';
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
  return optsIn(metadata.annotations ?? {}) ? { metadata: keepMetadata(metadata) } : null;
}

function keepMetadata(metadata: Pod['metadata']): Pod['metadata'] {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, labels, ownerReferences } = metadata;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => (key.startsWith('platform.io/') && key !== CA_ANNOTATION) || key === MIRROR_ANNOTATION,
  );
  return {
    name,
    ...present({ namespace, uid, resourceVersion, deletionTimestamp, labels, ownerReferences }),
    annotations: Object.fromEntries(annotations),
  };
}

/** Reduces a pod with the agent label to the cached fields. */
export function keepPod(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  return {
    metadata: keepMetadata(metadata),
    spec: {
      containers: (spec?.containers ?? []).map(keepContainer),
      initContainers: (spec?.initContainers ?? []).map(keepContainer),
    },
    status: present({ phase: status?.phase, initContainerStatuses: keepSidecarStatuses(pod) }),
  };
}

function keepContainer({ name, restartPolicy, ports }: Container): Container {
  return { name, ...present({ restartPolicy, ports }) };
}

/** Ignores the resourceVersion: most updates of a pod come from its kubelet and do not concern this process. */
export function isSamePod(a: Pod, b: Pod): boolean {
  const plain = (pod: Pod) => ({ ...pod, metadata: { ...pod.metadata, resourceVersion: '' } });
  return sameJson(plain(a), plain(b));
}
