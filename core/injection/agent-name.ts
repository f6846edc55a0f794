import { isDnsLabel } from './names.ts';

/** What the name is derived from. */
interface NamedPod {
  name?: string;
  /** Not the name yet. */
  generateName?: string;
  labels?: Readonly<Record<string, string>>;
  ownerReferences?: readonly PodOwner[];
}

interface PodOwner {
  kind: string;
  name: string;
  controller?: boolean;
}

export type AgentName =
  | { ok: true; name: string }
  | { ok: false; reason: 'unknown' | 'invalid'; name: string };

/**
 * The agent's name from what the pod says of itself, without a question to the API server.
 *
 * | Owner | Name |
 * |---|---|
 * | annotation `platform.io/agent-name` | that |
 * | ReplicaSet, pod-template-hash in its name | the ReplicaSet's name without `-<hash>`: the Deployment |
 * | Job whose name ends in `-` and eight or more digits | without them: the CronJob, which numbers its Jobs by the minute |
 * | any other controller | its name |
 * | none | the pod's own name; unknown while a generateName is still open |
 */
export function agentNameOf(metadata: NamedPod, annotated: string | undefined): AgentName {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller === true);
  const name =
    annotated ?? (owner ? workloadName(owner, metadata.labels?.['pod-template-hash']) : metadata.name);
  if (name === undefined || name === '') return { ok: false, reason: 'unknown', name: '' };
  return isDnsLabel(name) ? { ok: true, name } : { ok: false, reason: 'invalid', name };
}

function workloadName(owner: PodOwner, templateHash: string | undefined): string {
  if (owner.kind === 'ReplicaSet' && templateHash && owner.name.endsWith(`-${templateHash}`))
    return owner.name.slice(0, -templateHash.length - 1);
  if (owner.kind === 'Job') return owner.name.replace(/-\d{8,}$/, '');
  return owner.name;
}
