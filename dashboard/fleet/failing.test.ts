import { expect, test } from '@jest/globals';
import { agentItem } from '../../testing/fleet/agent-item.ts';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { isFailing } from './failing.ts';

const compliant = (status: AgentRow['compliant']['status']) => ({
  compliant: { status, reason: 'r', message: 'm' },
});

test.each<[string, Partial<AgentRow>, boolean]>([
  ['a compliant, healthy agent', {}, false],
  ['an agent that is not compliant', compliant('False'), true],
  ['an agent with too little evidence', compliant('Unknown'), false],
  ['an unhealthy agent', { phase: 'Unhealthy' }, true],
  ['an agent that stopped to report', { phase: 'Unknown' }, true],
  ['a degraded agent', { phase: 'Degraded' }, false],
  ['an agent without heartbeats', { phase: 'Pending', ...compliant('Unknown') }, false],
])('%s: %j is failing: %s', (_title, given, isExpected) => {
  expect(isFailing(agentItem(given))).toBe(isExpected);
});
