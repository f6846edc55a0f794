import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/properties.ts';
import { createUsageCollector, requestUsageOf } from './answer-usage.ts';
import type { RequestUsage } from './usage.ts';

const call = (modelId: string, promptTokens: number, completionTokens: number, totalTokens: number) => ({
  modelId,
  promptTokens,
  completionTokens,
  totalTokens,
});

/** The usage of an answer that consists of these JSON values. */
function usageOf(...values: readonly unknown[]): RequestUsage | null {
  const collector = createUsageCollector();
  for (const value of values) collector.add(value);
  const read = collector.result();
  return read === null ? null : requestUsageOf(read);
}

describe('usage of a whole answer', () => {
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
      'a vendor that counts reasoning apart',
      { model: 'm', choices: [], usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 50 } },
      call('m', 9, 12, 50),
    ],
    [
      'a total that is less than its parts',
      { model: 'm', choices: [], usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 1 } },
      call('m', 9, 12, 21),
    ],
    [
      'an embedding, which completes nothing',
      { object: 'list', model: 'embed', usage: { prompt_tokens: 8, total_tokens: 8 } },
      call('embed', 8, 0, 8),
    ],
    [
      'a response of the Responses API',
      { object: 'response', model: 'gpt-4o', usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
      call('gpt-4o', 3, 4, 7),
    ],
    [
      'an Anthropic message, cached prompt tokens included',
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
      { unavailable: 'the answer has no usage' },
    ],
    [
      'a completion with usage null',
      { choices: [{ message: {} }], usage: null },
      { unavailable: 'the answer has no usage' },
    ],
    [
      'usage that is no numbers',
      { choices: [], usage: { prompt_tokens: '9', completion_tokens: -1 } },
      { unavailable: 'the answer has a usage that cannot be read' },
    ],
    [
      'more tokens than there can be',
      { choices: [], usage: { prompt_tokens: 1e12 } },
      { unavailable: 'the answer has a usage that cannot be read' },
    ],
    ...Object.entries<object>({
      'a negative part beside a good one': { prompt_tokens: 9, completion_tokens: -1 },
      'a good part beside a negative one': { input_tokens: -9, output_tokens: 1 },
      'an absurd part beside a good one': { prompt_tokens: 9, completion_tokens: 1e15 },
      'an absurd total': { prompt_tokens: 9, completion_tokens: 1, total_tokens: 1e12 },
      'a negative total': { prompt_tokens: 9, completion_tokens: 1, total_tokens: -1 },
      'half a token': { prompt_tokens: 9.5, completion_tokens: 1 },
      'negative cached tokens': { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: -5 },
    }).map(([name, usage]): [string, unknown, unknown] => [
      name,
      { choices: [], usage },
      { unavailable: 'the answer has a usage that cannot be read' },
    ]),
    [
      'a negative count outside of the shape of a model',
      { usage: { prompt_tokens: -1 } },
      { unavailable: 'the answer has a usage that cannot be read' },
    ],
    [
      'parts that are null beside a good one',
      { choices: [], usage: { prompt_tokens: 9, completion_tokens: null, total_tokens: 9 } },
      call('unknown', 9, 0, 9),
    ],
    ['an ordinary answer', { status: 'ok' }, null],
    ['a cluster usage of something else', { usage: { cpu: 3 } }, null],
    ['an error', { error: { message: 'rate limited' } }, null],
    ['choices of something else', { choices: ['3', '4'] }, null],
    ['choices of something else that has a model', { model: 'T', choices: [{ price: 3 }] }, null],
    ['a list', [{ price: 3 }], null],
    ['text', 'choices', null],
    ['nothing', null, null],
  ])('%s', (_name, value, expected) => {
    expect(usageOf(value)).toEqual(expected);
  });

  test('never throws and never counts less than nothing', () => {
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
