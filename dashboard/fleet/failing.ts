import type { AgentItem } from '../api/agent-item.ts';

/** Whether an agent needs attention: it is not compliant, is unhealthy or has stopped to report. */
export function isFailing({ compliant, phase }: AgentItem): boolean {
  return phase === 'Unhealthy' || phase === 'Unknown' || compliant.status === 'False';
}
