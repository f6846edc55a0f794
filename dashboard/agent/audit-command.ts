import { sidecarCommand } from './sidecar-command.ts';
import type { AgentDetail } from '../../core/shapes/agent-detail.ts';

const READ = `curl -s localhost:4001/audit | jq '.[] | select(.outcome == "deny")'`;

/** The command that prints the refused requests of an instance. Its sidecar has them; the control plane has their number. */
export function auditCommand({
  source,
  namespace,
  status,
}: Pick<AgentDetail, 'source' | 'namespace' | 'status'>): string {
  const { reportedBy, instances = [] } = status;
  const denied = instances.find(({ deniedInWindow }) => deniedInWindow > 0)?.name;
  return sidecarCommand({ source, namespace, pod: denied ?? reportedBy }, READ);
}
