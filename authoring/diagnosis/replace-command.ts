import { isDnsSubdomain } from '../../core/injection/names.ts';
import type { PodFacts } from './facts.ts';

const RESTARTED = ['Deployment', 'StatefulSet', 'DaemonSet'];

/** Whether `kubectl rollout restart` replaces the pods of this kind of workload. */
export const isReplacedByRestart = (kind: string): boolean => RESTARTED.includes(kind);

/** The command that replaces a pod, through the owner of the pod if there is one. */
export function replaceCommand({
  namespace,
  name,
  owner,
}: Pick<PodFacts, 'namespace' | 'name' | 'owner'>): string {
  // The owner's name comes from the pod's metadata and may be any text, but the user runs it as a part of a command.
  if (owner !== null && isReplacedByRestart(owner.kind) && isDnsSubdomain(owner.name))
    return `kubectl rollout restart ${owner.kind.toLowerCase()} ${owner.name} -n ${namespace}`;
  const own = `kubectl delete pod ${name} -n ${namespace}`;
  return owner === null ? `${own}, and create it again` : own;
}
