import { describe, expect, test } from '@jest/globals';
import { policyInputOf, type MemoryWriteSelection, type InputFacts } from './policy-input.ts';

const MEMORY: MemoryWriteSelection = { ttlSeconds: 60, otherBackends: ['postgres'] };

const inputOf = (facts: Partial<InputFacts> = {}) =>
  policyInputOf({ agentName: 'travel', memory: MEMORY, ...facts });

const score = (value: number, guardrailType = 'toxicity-filter') =>
  ({ type: 'guardrail', guardrailType, invoked: true, score: value }) as const;
const write = (ttlSeconds: number, backend?: string) =>
  ({ type: 'memory', ttlSeconds, ...(backend === undefined ? {} : { backend }) }) as const;

describe('policy input', () => {
  test('has every fact under its contract name', () => {
    const input = inputOf({
      totals: { tokensToday: 12, costTodayUsd: 0.5 },
      entry: {
        guardrailsInvoked: ['pii-detector'],
        toolsCalled: ['drop'],
        userConfirmed: false,
        events: [score(0.4), write(60)],
      },
    });
    expect(input).toEqual({
      agent_name: 'travel',
      request_type: 'llm_call',
      guardrails_invoked: ['pii-detector'],
      tools_called: ['drop'],
      user_confirmed: false,
      toxicity_score: 0.4,
      cost_today_usd: 0.5,
      tokens_today: 12,
      memory_write: { ttl_seconds: 60 },
    });
  });

  test('omits unknown facts', () => {
    expect(Object.keys(inputOf({ entry: {} }))).toEqual(['agent_name', 'request_type']);
  });

  test('keeps empty lists and zeros, which are known facts', () => {
    const entry = { guardrailsInvoked: [], toolsCalled: [] };
    expect(inputOf({ totals: { tokensToday: 0, costTodayUsd: 0 }, entry })).toEqual({
      agent_name: 'travel',
      request_type: 'llm_call',
      guardrails_invoked: [],
      tools_called: [],
      tokens_today: 0,
      cost_today_usd: 0,
    });
  });

  test('without a request has type report and only the totals', () => {
    expect(inputOf({ totals: { tokensToday: 3 } })).toEqual({
      agent_name: 'travel',
      request_type: 'report',
      tokens_today: 3,
    });
  });

  test.each([
    ['is the highest of several scores', [score(0.2), score(0.9), score(0.3)], 0.9],
    ['keeps a score of zero', [score(0)], 0],
    ['ignores the scores of other guardrails', [score(0.9, 'hallucination-detector')], undefined],
    [
      'is absent when no score was reported',
      [{ type: 'guardrail', guardrailType: 'toxicity-filter', invoked: true } as const],
      undefined,
    ],
  ])('toxicity_score %s', (_title, events, expected) => {
    expect(inputOf({ entry: { events } }).toxicity_score).toBe(expected);
  });

  test.each([
    ['has the TTL of a write', [write(60)], 60],
    ['has a differing TTL when it is first', [write(61), write(60)], 61],
    ['has a differing TTL when it is last', [write(60), write(59)], 59],
    ['ignores writes to the backend of another declared memory', [write(90, 'postgres')], undefined],
    ['has the TTL of a write to an undeclared backend', [write(90, 'disk')], 90],
    ['ignores writes without a TTL', [{ type: 'memory', backend: 'redis' } as const], undefined],
  ])('memory_write %s', (_title, events, expected) => {
    expect(inputOf({ entry: { events } }).memory_write?.ttl_seconds).toBe(expected);
  });

  test('survives a JSON round trip for any reported values', () => {
    const input = inputOf({
      totals: { tokensToday: Infinity, costTodayUsd: Infinity },
      entry: { toolsCalled: ['a\ud800b', '\udc00'], guardrailsInvoked: ['\ud83d'] },
    });
    expect(input).toEqual({
      agent_name: 'travel',
      request_type: 'llm_call',
      tools_called: ['a\ufffdb', '\ufffd'],
      guardrails_invoked: ['\ufffd'],
      tokens_today: Number.MAX_VALUE,
      cost_today_usd: Number.MAX_VALUE,
    });
    expect(JSON.parse(Buffer.from(JSON.stringify(input)).toString())).toEqual(input);
  });
});
