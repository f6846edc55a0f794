import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { requestUsageOf, UsageCollector } from './response-usage.ts';
import type { RequestUsage } from '../shapes/request-usage.ts';

const call = (modelId: string, promptTokens: number, completionTokens: number, totalTokens: number) => ({
  modelId,
  promptTokens,
  completionTokens,
  totalTokens,
});

/** The usage of a response that consists of these JSON values. */
function usageOf(...values: readonly unknown[]): RequestUsage | null {
  const collector = new UsageCollector();
  for (const value of values) collector.add(value);
  const read = collector.result();
  return read === null ? null : requestUsageOf(read);
}

describe('usage of a complete response', () => {
  test.each<[string, unknown, unknown]>([
    [
      'an OpenAI chat completion',
      {
        object: 'chat.completion',
        model: 'gpt-4o',
        choices: [],
        usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 },
      },
      call('gpt-4o', 9, 12, 21),
    ],
    [
      'a vendor that counts reasoning tokens only in the total',
      { model: 'm', choices: [], usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 50 } },
      call('m', 9, 12, 50),
    ],
    [
      'a total that is less than its parts',
      { model: 'm', choices: [], usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 1 } },
      call('m', 9, 12, 21),
    ],
    [
      'an embedding, which has no completion tokens',
      { object: 'list', model: 'embed', usage: { prompt_tokens: 8, total_tokens: 8 } },
      call('embed', 8, 0, 8),
    ],
    [
      'a response of the Responses API',
      { object: 'response', model: 'gpt-4o', usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
      call('gpt-4o', 3, 4, 7),
    ],
    [
      'an Anthropic message, including cached prompt tokens',
      {
        type: 'message',
        role: 'assistant',
        model: 'claude',
        usage: {
          input_tokens: 3,
          cache_creation_input_tokens: 10,
          cache_read_input_tokens: 100,
          output_tokens: 4,
        },
      },
      call('claude', 113, 4, 117),
    ],
    [
      'an unnamed model',
      { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } },
      call('unknown', 1, 1, 2),
    ],
    [
      'a name of 10,000 characters',
      { model: 'x'.repeat(10_000), choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } },
      call('x'.repeat(200), 1, 1, 2),
    ],
    [
      'a completion without usage',
      { object: 'chat.completion', choices: [] },
      { unavailable: 'the response has no usage' },
    ],
    [
      'a completion with usage null',
      { choices: [{ message: {} }], usage: null },
      { unavailable: 'the response has no usage' },
    ],
    [
      'usage with invalid counts',
      { choices: [], usage: { prompt_tokens: '9', completion_tokens: -1 } },
      { unavailable: 'the response has invalid usage' },
    ],
    [
      'a token count above the limit',
      { choices: [], usage: { prompt_tokens: 1e12 } },
      { unavailable: 'the response has invalid usage' },
    ],
    ...Object.entries<object>({
      'a valid prompt count and a negative completion count': { prompt_tokens: 9, completion_tokens: -1 },
      'a negative prompt count and a valid completion count': { input_tokens: -9, output_tokens: 1 },
      'a valid prompt count and a completion count above the limit': {
        prompt_tokens: 9,
        completion_tokens: 1e15,
      },
      'a total above the limit': { prompt_tokens: 9, completion_tokens: 1, total_tokens: 1e12 },
      'a negative total': { prompt_tokens: 9, completion_tokens: 1, total_tokens: -1 },
      'a fractional count': { prompt_tokens: 9.5, completion_tokens: 1 },
      'a negative count of cached tokens': { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: -5 },
    }).map(([name, usage]): [string, unknown, unknown] => [
      name,
      { choices: [], usage },
      { unavailable: 'the response has invalid usage' },
    ]),
    [
      'a negative count in JSON of another shape',
      { usage: { prompt_tokens: -1 } },
      { unavailable: 'the response has invalid usage' },
    ],
    [
      'a valid count next to null counts',
      { choices: [], usage: { prompt_tokens: 9, completion_tokens: null, total_tokens: 9 } },
      call('unknown', 9, 0, 9),
    ],
    ['an ordinary response', { status: 'ok' }, null],
    ['usage of another resource', { usage: { cpu: 3 } }, null],
    ['an error', { error: { message: 'rate limited' } }, null],
    ['choices that are not of a model', { choices: ['3', '4'] }, null],
    [
      'choices that are not of a model, next to a model member',
      { model: 'T', choices: [{ price: 3 }] },
      null,
    ],
    ['a list', [{ price: 3 }], null],
    ['a string', 'choices', null],
    ['null', null, null],
  ])('is read from %s', (_name, value, expected) => {
    expect(usageOf(value)).toEqual(expected);
  });

  test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'is read from an event with a member %s',
    (name) => {
      const event = `{"type":"x","${name}":{},"usage":{"prompt_tokens":3,"completion_tokens":4}}`;
      expect(usageOf(JSON.parse(event))).toMatchObject({ promptTokens: 3, completionTokens: 4 });
    },
  );

  test('is never negative, and reading never throws', () => {
    const odd = fc.oneof(
      fc.anything(),
      fc.record({ choices: fc.anything(), model: fc.anything(), usage: fc.anything() }),
      fc.record({
        usage: fc.record({
          prompt_tokens: fc.anything(),
          completion_tokens: fc.double(),
          total_tokens: fc.anything(),
        }),
      }),
    );
    fc.assert(
      fc.property(odd, (value) => {
        const usage = usageOf(value);
        if (usage === null || 'unavailable' in usage) return;
        expect(Math.min(usage.promptTokens, usage.completionTokens)).toBeGreaterThanOrEqual(0);
        expect(usage.totalTokens).toBeGreaterThanOrEqual(usage.promptTokens + usage.completionTokens);
      }),
    );
  });
});
