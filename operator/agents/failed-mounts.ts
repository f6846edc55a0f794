import { VOLUMES } from '../../core/injection/names.ts';
import { onOneLine } from '../../core/untrusted/on-one-line.ts';
import { present } from '../../core/untrusted/present.ts';
import type { ClusterParts } from '../../kube/cluster-parts.ts';
import { EVENTS, type StoredEvent } from '../../kube/events.ts';
import { Informer } from '../../kube/informer.ts';
import { createIndex } from '../../kube/object-index.ts';
import { keyText, type ObjectKey } from '../../kube/resources.ts';
import type { Pod } from '../../kube/types.ts';

const CAUSE = `volume "${VOLUMES.manifest}" : `;

/**
 * The pods whose kubelet cannot mount the manifest, by its FailedMount Events: the status of such a pod says only that it waits.
 * `onChange` gets the key of the pod.
 */
export function createFailedMounts({ client, clock, logger }: ClusterParts, onChange: (pod: string) => void) {
  const index = createIndex<StoredEvent>(({ metadata, regarding }) => podKey(metadata, regarding?.uid));
  const informer = new Informer<StoredEvent>({
    ...{ client, clock, logger },
    resource: EVENTS,
    selection: { fieldSelector: 'reason=FailedMount' },
    keep: keepFailedMount,
    onChange: (change) => {
      index.changed(change);
      const { metadata, regarding } = change.object;
      onChange(keyText({ ...metadata, name: regarding?.name ?? '' }));
    },
  });
  /** Why the manifest of this pod cannot be mounted; null: unknown, or it can. */
  const failedMountOf = ({ metadata }: Pod): string | null =>
    index.at(podKey(metadata, metadata.uid)).at(-1)?.note ?? null;
  return { informer, failedMountOf };
}

/** With the namespace of the Event, because its author chooses the UID. */
const podKey = ({ namespace = '' }: ObjectKey, uid = ''): string => `${namespace}/${uid}`;

/**
 * Reduces an Event to the cached fields; null for another volume or cause.
 *
 * `MountVolume.SetUp failed for volume "platform-manifest" : configmap "shop-manifest" not found`
 */
export function keepFailedMount({ metadata, regarding, note = '' }: StoredEvent): StoredEvent | null {
  const begin = note.indexOf(CAUSE);
  // At the start of a pod, the kubelet may also not have read the ConfigMap yet.
  if (begin < 0 || regarding?.kind !== 'Pod' || !note.endsWith(' not found')) return null;
  const { name, namespace, uid, resourceVersion } = metadata;
  const { apiVersion, kind, name: pod, uid: podUid } = regarding;
  return {
    metadata: { name, ...present({ namespace, uid, resourceVersion }) },
    regarding: { apiVersion, kind, name: pod, ...present({ uid: podUid }) },
    note: onOneLine(note.slice(begin + CAUSE.length)),
  };
}
