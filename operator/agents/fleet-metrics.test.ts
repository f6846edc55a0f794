import { expect, test } from '@jest/globals';
import type { AgentObservation, ObservationStatus } from '../../core/observation/observation.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { addFleetMetrics } from './fleet-metrics.ts';

const observation = (status?: Partial<ObservationStatus>): AgentObservation => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'a', namespace: 'team' },
  spec: { source: 'sidecar' },
  ...(status && { status: status as ObservationStatus }),
});

test('counts observations by phase and grade, with zero samples, and counts observations without status as Pending', () => {
  const metrics = createMetrics();
  const fleet = [
    observation({ phase: 'Healthy', grade: 'A' }),
    observation({ phase: 'Unknown', grade: 'A' }),
    observation({ phase: 'Healthy', grade: 'F' }),
    observation({}),
    observation(),
  ];
  addFleetMetrics(metrics, () => fleet);
  const samples = metrics
    .render()
    .split('\n')
    .filter((line) => !line.startsWith('#') && line !== '');
  expect(samples).toEqual([
    'platform_operator_agents{phase="Pending"} 2',
    'platform_operator_agents{phase="Healthy"} 2',
    'platform_operator_agents{phase="Degraded"} 0',
    'platform_operator_agents{phase="Unhealthy"} 0',
    'platform_operator_agents{phase="Unknown"} 1',
    'platform_operator_agent_grades{grade="A"} 2',
    'platform_operator_agent_grades{grade="B"} 0',
    'platform_operator_agent_grades{grade="C"} 0',
    'platform_operator_agent_grades{grade="D"} 0',
    'platform_operator_agent_grades{grade="F"} 1',
  ]);
});
