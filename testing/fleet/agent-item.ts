import type { AgentRow } from '../../core/shapes/agent-row.ts';

/** A healthy agent of the list, with the given members. */
export const agentItem = (given: Partial<AgentRow> = {}): AgentRow => ({
  agentId: 'agt_1',
  agentName: 'support',
  namespace: 'default',
  runtime: 'k8s',
  source: 'sidecar',
  phase: 'Healthy',
  grade: 'A',
  score: 95,
  tokens: 1_000,
  costUsd: 0.5,
  evidence: { percent: 80, shown: 8, declared: 10 },
  compliant: { status: 'True', reason: 'Compliant', message: 'grade A' },
  proved: 70,
  violations: 0,
  failOpen: 0,
  policyMode: 'track',
  instances: 1,
  lastSeen: '2026-11-23T12:00:00.000Z',
  stop: null,
  stale: false,
  ...given,
});
