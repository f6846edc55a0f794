import type { Grade } from '../../core/gap/gap.ts';
import type { AgentObservation, Phase } from '../../core/observation/observation.ts';
import type { Metrics, Sample } from '../../runtime/metrics.ts';

const PHASES: readonly Phase[] = ['Pending', 'Healthy', 'Degraded', 'Unhealthy', 'Unknown'];
const GRADES: readonly Grade[] = ['A', 'B', 'C', 'D', 'F'];

/**
 * Gauges of how the fleet is, over the observations that `list` returns. Every phase and grade has a sample, 0 too, so
 * that a rule can compare it. Each replica follows the cluster and counts all of them: take the maximum, not the sum.
 */
export function addFleetMetrics(metrics: Metrics, list: () => readonly AgentObservation[]): void {
  metrics.gauge('platform_operator_agents', 'AgentObservations by phase.', () =>
    countBy('phase', PHASES, list(), ({ status }) => status?.phase ?? 'Pending'),
  );
  metrics.gauge(
    'platform_operator_agent_grades',
    'AgentObservations by grade; those without one are not counted.',
    () => countBy('grade', GRADES, list(), ({ status }) => status?.grade),
  );
}

function countBy<T extends string>(
  label: string,
  values: readonly T[],
  observations: readonly AgentObservation[],
  valueOf: (observation: AgentObservation) => T | null | undefined,
): Sample[] {
  const counts = new Map(values.map((value) => [value, 0]));
  for (const observation of observations) {
    const value = valueOf(observation);
    if (value !== null && value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].map(([value, count]) => ({ labels: { [label]: value }, value: count }));
}
