import { isDnsLabel } from './names.ts';
import type { OwnerReference, PodMetadata } from './pod.ts';

/** The pod metadata from which the agent's name is derived. */
interface NamedPod extends Pick<PodMetadata, 'name' | 'generateName' | 'labels'> {
  ownerReferences?: readonly PodOwner[];
}

type PodOwner = Pick<OwnerReference, 'kind' | 'name' | 'controller'>;

export type AgentName =
  | { ok: true; name: string }
  | { ok: false; reason: 'unknown' | 'invalid'; name: string };

/**
 * The agent's name, derived from the pod's own metadata, without a request to the API server.
 *
 * | Owner | Name |
 * |---|---|
 * | annotation `platform.io/agent-name` | the annotation's value |
 * | ReplicaSet, pod-template-hash in its name | the ReplicaSet's name without `-<hash>`: the Deployment |
 * | Job whose name ends in `-` and eight or more digits | the Job's name without this suffix, which is the name of the CronJob |
 * | any other controller | the controller's name |
 * | none | the pod's own name; unknown while the pod has only a generateName |
 */
export function agentNameOf(metadata: NamedPod, annotated: string | undefined): AgentName {
  const name = annotated ?? (workloadOf(metadata) ?? metadata).name;
  if (name === undefined || name === '') return { ok: false, reason: 'unknown', name: '' };
  return isDnsLabel(name) ? { ok: true, name } : { ok: false, reason: 'invalid', name };
}

/** The workload that the pod's controller belongs to; null: the pod has no controller. */
export function workloadOf({ ownerReferences, labels }: NamedPod): PodOwner | null {
  const owner = ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return null;
  const { kind, name } = owner;
  const templateHash = labels?.['pod-template-hash'];
  if (kind === 'ReplicaSet' && templateHash && name.endsWith(`-${templateHash}`))
    return { kind: 'Deployment', name: name.slice(0, -templateHash.length - 1) };
  const schedule = kind === 'Job' ? name.replace(/-\d{8,}$/, '') : name;
  return schedule === name ? owner : { kind: 'CronJob', name: schedule };
}
