import { expect, test } from '@jest/globals';
import { agentItem } from '../../testing/fleet/agent-item.ts';
import { applyChanges, type AgentMap } from './merge.ts';

test('changes replace, add and remove agents, and keep the trend', () => {
  const agents: AgentMap = new Map([
    ['default/a', agentItem({ agentName: 'a', trend: [80, 90] })],
    ['default/b', agentItem({ agentName: 'b' })],
  ]);
  applyChanges(agents, {
    changed: [agentItem({ agentName: 'a', score: 50 }), agentItem({ agentName: 'c' })],
    removed: [{ namespace: 'default', agentName: 'b' }],
  });
  expect([...agents.values()]).toMatchObject([
    { agentName: 'a', score: 50, trend: [80, 90] },
    { agentName: 'c' },
  ]);
  expect(agents.get('default/c')).not.toHaveProperty('trend');
});

test('a trend of the event replaces the earlier one', () => {
  const agents: AgentMap = new Map([['default/support', agentItem({ trend: [1] })]]);
  applyChanges(agents, { changed: [agentItem({ trend: [2] })], removed: [] });
  expect(agents.get('default/support')?.trend).toEqual([2]);
});

test('an agent that was removed and created again in one event exists', () => {
  const agents: AgentMap = new Map();
  applyChanges(agents, { changed: [agentItem()], removed: [{ namespace: 'default', agentName: 'support' }] });
  expect(agents.size).toBe(1);
});
