import { expect, test } from '@jest/globals';
import { agentItem } from '../../testing/fleet/agent-item.ts';
import { summaryOf } from './summary.ts';

test('the summary adds up what is known', () => {
  const agents = [
    agentItem({ tokens: 10, costUsd: 0.25 }),
    agentItem({
      tokens: null,
      costUsd: null,
      compliant: { status: 'Unknown', reason: '', message: '' },
      phase: 'Unhealthy',
    }),
    agentItem({ tokens: 5, costUsd: 1 }),
  ];
  expect(summaryOf(agents)).toEqual({ agents: 3, compliant: 2, failing: 1, tokens: 15, costUsd: 1.25 });
});

test('without prices the cost is unknown, not zero', () => {
  expect(summaryOf([agentItem({ costUsd: null })]).costUsd).toBeNull();
  expect(summaryOf([])).toEqual({ agents: 0, compliant: 0, failing: 0, tokens: 0, costUsd: null });
});
