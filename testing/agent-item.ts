import type { AgentItem } from '../dashboard/api/agent-item.ts';

/** A healthy agent of the list, with the given members. */
export const agentItem = (given: Partial<AgentItem> = {}): AgentItem => ({
  agentId: 'agt_1',
  agentName: 'support',
  namespace: 'default',
  phase: 'Healthy',
  grade: 'A',
  score: 95,
  tokens: 1_000,
  costUsd: 0.5,
  evidence: { percent: 80, shown: 8, declared: 10 },
  compliant: { status: 'True', reason: 'Compliant', message: 'grade A' },
  violations: 0,
  failOpen: 0,
  lastSeen: '2026-11-23T12:00:00.000Z',
  stale: false,
  ...given,
});
