import { isRecord } from '../untrusted/fields.ts';
import type { Pod } from './pod.ts';

/** The identity of an object, for reports. */
export interface Identity {
  kind: string;
  /** Empty: no name yet. */
  name: string;
  namespace: string;
}

/** A pod or a pod template inside a Kubernetes object. */
export interface PodPlace extends Identity {
  /** Path in the document. */
  path: readonly (string | number)[];
  /** The pod, not validated beyond that it is an object. */
  pod: Record<string, unknown>;
}

/** The path of the pod by kind and API group. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  'Pod.': [],
  'Deployment.apps': ['spec', 'template'],
  'StatefulSet.apps': ['spec', 'template'],
  'DaemonSet.apps': ['spec', 'template'],
  'ReplicaSet.apps': ['spec', 'template'],
  'Job.batch': ['spec', 'template'],
  'CronJob.batch': ['spec', 'jobTemplate', 'spec', 'template'],
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

export function identityOf(object: unknown): Identity {
  const { kind, metadata } = isRecord(object) ? object : {};
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  return { kind: text(kind), name: text(name), namespace: text(namespace) };
}

/** The pods of a document: one for a workload, all pods of a List, none for other kinds. */
export function podPlacesOf(object: unknown, path: readonly (string | number)[] = []): PodPlace[] {
  if (!isRecord(object)) return [];
  const identity = identityOf(object);
  const { kind } = identity;
  const apiVersion = text(object['apiVersion']);
  if (kind === 'List' && apiVersion === 'v1' && Array.isArray(object['items']))
    return object['items'].flatMap((item, index) => podPlacesOf(item, [...path, 'items', index]));
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
  const place = PLACES[`${kind}.${group}`];
  if (!place) return [];
  const pod = place.reduce<unknown>((inner, key) => (isRecord(inner) ? inner[key] : undefined), object);
  return [{ ...identity, path: [...path, ...place], pod: isRecord(pod) ? pod : {} }];
}

/** The pod as the webhook would receive it: created by its workload and opted in. */
export function podOfPlace({ kind, name }: PodPlace, pod: Pod, annotations: Record<string, string>): Pod {
  const owner = { apiVersion: '', kind, name, uid: '', controller: true };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(kind !== 'Pod' && name !== '' && { ownerReferences: [owner] }),
      annotations: { ...pod.metadata?.annotations, ...annotations },
    },
  };
}
