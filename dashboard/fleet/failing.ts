import type { AgentItem } from '../api/agent-item.ts';

/** Whether an agent needs attention: it is not compliant, is unhealthy or has stopped to report. */
export function isFailing({ compliant, grade, phase }: AgentItem): boolean {
  if (phase === 'Unhealthy' || phase === 'Unknown') return true;
  // A control plane that does not evaluate the condition yet: the default of the condition is grade A or B.
  if (compliant === null) return grade !== null && grade !== 'A' && grade !== 'B';
  return compliant.status === 'False';
}
