import { expect, test } from '@jest/globals';
import { agentItem } from '../../testing/fleet/agent-item.ts';
import { groupByNamespace, isGroup, rowKey } from './rows.ts';

const AGENTS = [
  agentItem({ agentName: 'a', namespace: 'shop', phase: 'Unhealthy' }),
  agentItem({ agentName: 'b', namespace: 'lab' }),
  agentItem({ agentName: 'c', namespace: 'shop' }),
];

test('groups are ordered by namespace and keep the order of their agents', () => {
  const rows = groupByNamespace(AGENTS, new Set());
  expect(rows.map(rowKey)).toEqual(['lab/', 'lab/b', 'shop/', 'shop/a', 'shop/c']);
  expect(rows.filter(isGroup)).toMatchObject([
    { namespace: 'lab', agents: 1, failing: 0 },
    { namespace: 'shop', agents: 2, failing: 1 },
  ]);
});

test('a collapsed group shows only its heading', () => {
  const rows = groupByNamespace(AGENTS, new Set(['shop']));
  expect(rows.map(rowKey)).toEqual(['lab/', 'lab/b', 'shop/']);
  expect(rows[2]).toMatchObject({ isCollapsed: true, agents: 2 });
});
