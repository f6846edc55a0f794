import { expect, test } from '@jest/globals';
import { usageDetailsOf } from './usage-details.ts';

test.each<[string, string, [number, number, number]]>([
  ['names of Langfuse', '{"input":100,"output":20,"total":120}', [100, 20, 120]],
  [
    'counts that Langfuse took out of others',
    '{"input":28,"output":3,"total":36,"input_cached_tokens":3,"output_reasoning_tokens":2}',
    [31, 5, 36],
  ],
  [
    'a usage of OpenAI',
    '{"completion_tokens": 5, "prompt_tokens": 31, "total_tokens": 36, "completion_tokens_details": {"reasoning_tokens": 2}, ' +
      '"prompt_tokens_details": {"cached_tokens": 3, "input_tokens": 9}}',
    [31, 5, 36],
  ],
  [
    'a usage of the Responses API',
    '{"input_tokens": 31, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 5, "total_tokens": 36}',
    [31, 5, 36],
  ],
  [
    'a usage of Anthropic',
    '{"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 1, "output_tokens": 5}',
    [31, 5, 0],
  ],
  [
    'a usage of MLflow, which has the cached tokens twice',
    '{"input_tokens": 31, "output_tokens": 5, "total_tokens": 36, "cache_read_input_tokens": 3}',
    [31, 5, 36],
  ],
  ['a priority tier', '{"input":28,"input_cache_read":3,"input_priority":31,"output":5}', [31, 5, 0]],
  ['an embedding', '{"input":9}', [9, 0, 0]],
  [
    'a text that was cut',
    '{"prompt_tokens": 31, "prompt_tokens_details": {"cached_tokens": 3, "inp',
    [31, 0, 0],
  ],
  ['a number that was cut', '{"input": 31, "output": 5', [31, 0, 0]],
  ['numbers that are no counts', '{"input": -1, "output": 1.5, "total": 1e3}', [0, 0, 0]],
  ['no object', 'null', [0, 0, 0]],
])('%s', (_name, json, [promptTokens, completionTokens, totalTokens]) => {
  expect(usageDetailsOf(json)).toEqual({ promptTokens, completionTokens, totalTokens });
});
