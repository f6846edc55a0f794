import type { AgentRow } from '../../core/shapes/agent-row.ts';

/** Whether an agent needs attention: it is not compliant, is unhealthy or has stopped to report. */
export function isFailing({ compliant, phase }: AgentRow): boolean {
  return phase === 'Unhealthy' || phase === 'Unknown' || compliant.status === 'False';
}
