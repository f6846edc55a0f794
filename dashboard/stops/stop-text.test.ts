import { describe, expect, test } from '@jest/globals';
import { ANNOTATION_STOP as OF_THE_API, type StopEntry } from '../../core/shapes/agent-stop.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import { agentStopOf, ANNOTATION_STOP, scopeOf, stateOf } from './stop-text.ts';

const stop = {
  id: 'shop/stop-1',
  reason: 'r',
  since: '2026-03-02T14:00:00.000Z',
  instances: 5,
  confirmed: 3,
};
const stopped = (status: Condition['status'], reason: string): Condition[] => [
  { type: 'Stopped', status, reason, message: '', lastTransitionTime: stop.since },
];

describe('the state of a stop', () => {
  test.each<[string, Parameters<typeof stateOf>[0], string | null]>([
    ['no stop', { conditions: stopped('False', 'Running') }, null],
    ['some instances', { stop, conditions: stopped('Unknown', 'Stopping') }, 'Stopping (3 of 5 instances)'],
    [
      'a stop whose condition is older',
      { stop, conditions: stopped('False', 'Running') },
      'Stopping (3 of 5 instances)',
    ],
    ['no condition', { stop }, 'Stopping (3 of 5 instances)'],
    [
      'no instance',
      { stop: { ...stop, instances: 0, confirmed: 0 }, conditions: stopped('Unknown', 'Stopping') },
      'Stopping (no instance reports)',
    ],
    ['no lanes', { stop, conditions: stopped('True', 'IngressOnly') }, 'Only requests are rejected'],
    ['every instance', { stop, conditions: stopped('True', 'Stopped') }, 'Stopped'],
  ])('%s', (_title, status, text) => expect(stateOf(status)).toBe(text));
});

test.each<[Partial<StopEntry>, string]>([
  [{ namespace: 'shop', agents: ['chat'] }, 'chat of namespace shop'],
  [{ namespace: 'shop', agents: ['chat', 'bot-*'] }, 'chat, bot-* of namespace shop'],
  [{ namespace: 'shop' }, 'all agents of namespace shop'],
  [{ namespace: 'platform-system', namespaces: ['*'] }, 'all agents of every namespace'],
  [
    { namespace: 'platform-system', namespaces: ['shop', 'lab-*'], agents: ['*'] },
    'all agents of shop, lab-*',
  ],
])('the stop %j is about %s', (entry, text) => expect(scopeOf(entry)).toBe(text));

test('only a stop with an AgentStop can be ended here', () => {
  expect(agentStopOf('shop/stop-1')).toEqual({ namespace: 'shop', name: 'stop-1' });
  expect(agentStopOf(ANNOTATION_STOP)).toBeNull();
  expect(ANNOTATION_STOP).toBe(OF_THE_API);
});
