import { expect, test } from '@jest/globals';
import type { EgressSummary } from '../../core/shapes/egress.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import type { ObservationStatus, ObservedEvidence } from '../../core/shapes/observation.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { addFleetMetrics, MAX_AGENTS } from './fleet-metrics.ts';

const observation = (status?: Partial<ObservationStatus>): AgentObservation => ({
  apiVersion: 'platform.io/v1',
  kind: 'AgentObservation',
  metadata: { name: 'a', namespace: 'team' },
  spec: { source: 'sidecar' },
  ...(status && { status: status as ObservationStatus }),
});

const samplesOf = (fleet: readonly AgentObservation[]): string[] => {
  const metrics = createMetrics();
  addFleetMetrics(metrics, () => fleet);
  return metrics
    .render()
    .split('\n')
    .filter((line) => !line.startsWith('#') && line !== '');
};

test('counts observations by phase and grade, with zero samples, and counts observations without status as Pending', () => {
  const fleet = [
    observation({ phase: 'Healthy', grade: 'A' }),
    observation({ phase: 'Unknown', grade: 'A' }),
    observation({ phase: 'Healthy', grade: 'F' }),
    observation({}),
    observation(),
  ];
  expect(samplesOf(fleet).filter((line) => line.startsWith('platform_operator_'))).toEqual([
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
    'platform_operator_agents_without_metrics 0',
  ]);
});

const ofAgents = (fleet: readonly AgentObservation[]) =>
  samplesOf(fleet).filter((line) => line.startsWith('platform_agent_'));

const condition = (type: Condition['type'], status: Condition['status'], reason: string): Condition => ({
  ...{ type, status, reason, message: 'the text of a condition is not a label' },
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

test('has the verdict, the numbers and the conditions of alerts of each agent, with its namespace and name', () => {
  const agent = observation({
    phase: 'Unhealthy',
    score: 55,
    violations: 2,
    evidence: { shown: 1, declared: 3, percent: 33, items: [] } as unknown as ObservedEvidence,
    egress: { undeclared: 4 } as EgressSummary,
    outcomes: { deny: 1, allow: 2, failOpen: 3, notEvaluated: 4 },
    conditions: [
      condition('Compliant', 'False', 'GradeTooLow'),
      condition('Ready', 'False', 'Unhealthy'),
      condition('PolicyLoaded', 'Unknown', 'EngineUnreachable'),
      condition('ModelReachable', 'True', 'ModelReachable'),
    ],
  });
  const labels = 'namespace="team",agent="a"';
  expect(ofAgents([agent])).toEqual([
    `platform_agent_compliant{${labels},status="False",reason="GradeTooLow"} 1`,
    `platform_agent_condition{${labels},condition="Ready",status="False",reason="Unhealthy"} 1`,
    `platform_agent_condition{${labels},condition="PolicyLoaded",status="Unknown",reason="EngineUnreachable"} 1`,
    `platform_agent_score{${labels}} 55`,
    `platform_agent_evidence_ratio{${labels}} 0.33`,
    `platform_agent_violations{${labels}} 2`,
    `platform_agent_denied_requests{${labels}} 1`,
    `platform_agent_undeclared_items{${labels}} 4`,
    `platform_agent_failed_open_requests{${labels}} 3`,
  ]);
});

test('an agent without status is Unknown, and has no numbers', () => {
  expect(ofAgents([observation()])).toEqual([
    'platform_agent_compliant{namespace="team",agent="a",status="Unknown",reason="NotReporting"} 1',
  ]);
});

test('has no samples of an agent that was deleted, and of agents above the limit, which it counts', () => {
  const fleet = Array.from({ length: MAX_AGENTS + 2 }, (_, index) => ({
    ...observation({ score: 90 }),
    metadata: { name: `a-${index}`, namespace: 'team' },
  }));
  expect(ofAgents(fleet)).toHaveLength(2 * MAX_AGENTS);
  expect(samplesOf(fleet)).toContain('platform_operator_agents_without_metrics 2');
  const metrics = createMetrics();
  addFleetMetrics(metrics, () => fleet);
  expect(metrics.render()).toContain('agent="a-7"');
  fleet.splice(7, 1);
  expect(metrics.render()).not.toContain('agent="a-7"');
});

test('ranks the agents once per scrape', () => {
  const fleet = [observation({ score: 90, violations: 1 })];
  const metrics = createMetrics();
  let lists = 0;
  addFleetMetrics(metrics, () => {
    lists += 1;
    return fleet;
  });
  metrics.render();
  expect(lists).toBe(1);
  metrics.render();
  expect(lists).toBe(2);
});

test('a namespace with very many agents does not take the series of the agents of other namespaces', () => {
  const of = (namespace: string, name: string) => ({
    ...observation({ phase: 'Unhealthy', score: 0 }),
    metadata: { namespace, name },
  });
  const many = Array.from({ length: MAX_AGENTS }, (_, index) => of('a-tenant', `x-${index}`));
  const scores = ofAgents([...many, of('team', 'shop')]).filter((line) =>
    line.startsWith('platform_agent_score{'),
  );
  expect(scores).toHaveLength(MAX_AGENTS);
  expect(scores).toContain('platform_agent_score{namespace="team",agent="shop"} 0');
});
