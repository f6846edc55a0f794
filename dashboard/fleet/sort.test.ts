import { describe, expect, test } from '@jest/globals';
import { agentItem } from '../../testing/fleet/agent-item.ts';
import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { sortAgents, SORT_KEYS, type SortKey } from './sort.ts';

const sorted = (given: Partial<AgentRow>[], key: SortKey, isDescending = false): string[] =>
  sortAgents(given.map(agentItem), key, isDescending).map(({ agentName }) => agentName);
const condition = (status: AgentRow['compliant']['status']) => ({ status, reason: 'r', message: 'm' });

describe('agents are sorted', () => {
  test.each<[SortKey, Partial<AgentRow>[]]>([
    ['grade', [{ grade: 'A' }, { grade: 'C' }, { grade: 'F' }]],
    ['name', [{}, {}, {}]],
    ['namespace', [{ namespace: 'a' }, { namespace: 'b' }, { namespace: 'c' }]],
    ['score', [{ score: 9 }, { score: 10 }, { score: 100 }]],
    ['phase', [{ phase: 'Unhealthy' }, { phase: 'Unknown' }, { phase: 'Healthy' }]],
    ['tokens', [{ tokens: 0 }, { tokens: 9 }, { tokens: 10 }]],
    ['cost', [{ costUsd: 0 }, { costUsd: 0.1 }, { costUsd: 2 }]],
    ['violations', [{ violations: 0 }, { violations: 2 }, { violations: 10 }]],
    ['failOpen', [{ failOpen: 0 }, { failOpen: 0.1 }, { failOpen: 1 }]],
    [
      'evidence',
      [
        { evidence: { percent: 5, shown: 1, declared: 20 } },
        {},
        { evidence: { percent: 100, shown: 1, declared: 1 } },
      ],
    ],
    [
      'compliant',
      [
        { compliant: condition('False') },
        { compliant: condition('Unknown') },
        { compliant: condition('True') },
      ],
    ],
    ['lastSeen', [{ lastSeen: '2026-01-01T00:00:00Z' }, { lastSeen: '2026-01-02T00:00:00Z' }, {}]],
  ])('by %s', (key, values) => {
    const named = values.map((each, index) => ({ ...each, agentName: `agent-${index}` }));
    const names = named.map(({ agentName }) => agentName);
    expect(sorted([...named].reverse(), key)).toEqual(names);
    expect(sorted(named, key, true)).toEqual([...names].reverse());
  });

  test('by every key that an address may have', () => {
    for (const key of SORT_KEYS)
      expect(sorted([{ agentName: 'a' }, { agentName: 'b' }], key)).toEqual(['a', 'b']);
  });

  test.each([false, true])('with agents without a value last; descending: %s', (isDescending) => {
    const agents = [{ agentName: 'none', score: null }, { agentName: 'some' }];
    expect(sorted(agents, 'score', isDescending)).toEqual(['some', 'none']);
  });

  test('with equal agents by namespace and name, in both directions', () => {
    const agents = [{ agentName: 'b' }, { agentName: 'c', namespace: 'a' }, { agentName: 'a' }];
    expect(sorted(agents, 'score')).toEqual(['c', 'a', 'b']);
    expect(sorted(agents, 'score', true)).toEqual(['c', 'a', 'b']);
  });
});
