import { expect, test } from '@jest/globals';
import { stopCounts, type StoppableAgent } from './stop-counts.ts';
import type { AgentStop } from '../organisation/stops.ts';

const agent = (
  name: string,
  status: 'True' | 'Unknown' | 'False' | null,
  namespace = 'shop',
): StoppableAgent => ({
  ...{ namespace, name },
  status:
    status === null
      ? undefined
      : {
          conditions: [
            { type: 'Stopped', status, reason: 'x', message: '', lastTransitionTime: '2026-11-29T12:00:00Z' },
          ],
        },
});
const AGENTS = [
  agent('a', 'True'),
  agent('b', 'Unknown'),
  agent('c', 'False'),
  agent('never-reported', null),
  agent('a', 'True', 'bank'),
];
const stop = (namespace: string, spec: Partial<AgentStop['spec']> = {}): AgentStop => ({
  ...{ namespace, name: 's', since: '2026-11-29T11:00:00Z', spec: { reason: 'leak', ...spec } },
});

test.each([
  ['every agent of its namespace', stop('shop'), { agents: 4, stopped: 1, pending: 3 }],
  ['named agents', stop('shop', { agents: ['a', 'never-*'] }), { agents: 2, stopped: 1, pending: 1 }],
  ['the fleet', stop('root'), { agents: 5, stopped: 2, pending: 3 }],
  ['namespaces of the fleet', stop('root', { namespaces: ['b*'] }), { agents: 1, stopped: 1, pending: 0 }],
  ['no agent', stop('empty'), { agents: 0, stopped: 0, pending: 0 }],
])('a stop of %s counts those that confirmed it', (_what, object, expected) => {
  expect(stopCounts(object, AGENTS, 'root')).toEqual(expected);
});
