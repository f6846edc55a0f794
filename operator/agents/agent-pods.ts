import { optsIn } from '../../core/injection/drift.ts';
import { CA_ANNOTATION, SIDECAR_CONTAINER } from '../../core/injection/names.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import type { Container, Pod, PodContainers } from '../../kube/types.ts';
import { keepSidecarStatuses } from './sidecar-state.ts';

/** On pods that are static pods of a node, as the kubelet shows them. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

export function hasSidecar(containers: PodContainers | undefined): boolean {
  return containersOf(containers).some((container) => container.name === SIDECAR_CONTAINER);
}

/** The containers that run side by side: native sidecars too, other init containers not. */
export function containersOf(containers: PodContainers | undefined): Container[] {
  const sidecars = containers?.initContainers?.filter((container) => container.restartPolicy === 'Always');
  return [...(sidecars ?? []), ...(containers?.containers ?? [])];
}

/** All of its containers have ended; the object stays until somebody removes it. */
export function hasEnded(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** Runs, or is about to: neither ended nor on its way out. */
export function isLive(pod: Pod): boolean {
  return !hasEnded(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** What the cache keeps of a pod without the agent label, of which only metadata is read: nothing unless it opts in. */
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
    ...given({ namespace, uid, resourceVersion, deletionTimestamp, labels, ownerReferences }),
    annotations: Object.fromEntries(annotations),
  };
}

/** What the cache keeps of a pod with the agent label. */
export function keepPod(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  return {
    metadata: keepMetadata(metadata),
    spec: {
      containers: (spec?.containers ?? []).map(keepContainer),
      initContainers: (spec?.initContainers ?? []).map(keepContainer),
    },
    status: given({ phase: status?.phase, initContainerStatuses: keepSidecarStatuses(pod) }),
  };
}

function keepContainer({ name, restartPolicy, ports }: Container): Container {
  return { name, ...given({ restartPolicy, ports }) };
}

/** Most changes of a pod are heartbeats of its kubelet, which say nothing to this process. */
export function isSamePod(a: Pod, b: Pod): boolean {
  const plain = (pod: Pod) => ({ ...pod, metadata: { ...pod.metadata, resourceVersion: '' } });
  return sameJson(plain(a), plain(b));
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Without the members that are undefined. */
function given<T extends object>(members: T): Given<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Given<T>;
}
