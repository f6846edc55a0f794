import type { AgentDetail } from '../../core/shapes/agent-detail.ts';

/** Which agent and which of its instances a command is for. */
export interface CommandTarget extends Pick<AgentDetail, 'source' | 'namespace'> {
  /** Name of the instance; undefined: not known yet. */
  pod: string | undefined;
}

/** A command that reads the sidecar of a pod through a port-forward. A registered agent is on the machine of the reader. */
export function sidecarCommand({ source, namespace, pod }: CommandTarget, read: string): string {
  return source === 'remote'
    ? read
    : `kubectl -n ${namespace} port-forward pod/${pod ?? '<pod>'} 4001 > /dev/null &\n${read}`;
}
