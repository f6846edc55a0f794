import { GRADES } from '../../core/gap/gap.ts';
import { PHASES, type AgentObservation } from '../../core/observation/observation.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/**
 * Gauges over the observations that `list` returns. Every phase and grade has a sample, also with value 0, so that alert
 * rules can compare it. Each replica counts all observations: aggregate with max, not sum.
 */
export function addFleetMetrics(metrics: Metrics, list: () => readonly AgentObservation[]): void {
  metrics.gauge('platform_operator_agents', 'AgentObservations by phase.', () =>
    countBy(PHASES, list(), ({ status }) => status?.phase ?? 'Pending').map(([phase, value]) => ({
      labels: { phase },
      value,
    })),
  );
  metrics.gauge(
    'platform_operator_agent_grades',
    'AgentObservations by grade, without those that have no grade.',
    () =>
      countBy(GRADES, list(), ({ status }) => status?.grade).map(([grade, value]) => ({
        labels: { grade },
        value,
      })),
  );
}

function countBy<T extends string>(
  values: readonly T[],
  observations: readonly AgentObservation[],
  valueOf: (observation: AgentObservation) => T | undefined,
): [value: T, count: number][] {
  const byValue = Map.groupBy(observations, valueOf);
  return values.map((value) => [value, byValue.get(value)?.length ?? 0]);
}
