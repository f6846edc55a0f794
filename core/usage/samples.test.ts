// Responses recorded from real clients and frameworks (testing/frameworks). In each of them the model used 31 + 5 tokens in the
// first call, 67 + 11 in the second and 131 + 23 in the third. Members without tokens were removed from the larger responses.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { requestUsageOf } from './response-usage.ts';
import { createUsageReader } from './create-usage-reader.ts';

const DIRECTORY = join(import.meta.dirname, 'samples');
const [ONE, THREE, UNKNOWN] = [[31, 5, 0], [229, 39, 0], 'no readable usage'] as const;

/** By file name: prompt tokens, completion tokens, and calls without usage. */
const EXPECTED: readonly [string, typeof ONE | typeof THREE | typeof UNKNOWN][] = [
  ['openai-chat.json', ONE],
  ['openai-chat-stream.sse', ONE],
  // The request did not ask for usage.
  ['openai-chat-stream-without-usage.sse', UNKNOWN],
  ['openai-responses.json', ONE],
  ['openai-responses-stream.sse', ONE],
  ['anthropic-messages.json', ONE],
  ['anthropic-messages-stream.sse', ONE],
  ['langgraph-python-state.json', THREE],
  ['langgraph-python-serialized-state.json', THREE],
  ['langgraph-python-state-of-anthropic.json', THREE],
  ['langgraph-python-updates-and-messages.sse', THREE],
  // The start of a stream, with one call.
  ['langgraph-python-events.sse', ONE],
  ['langgraph-python-messages-of-anthropic.sse', THREE],
  ['langgraph-python-messages-without-usage.sse', UNKNOWN],
  ['langgraph-javascript-state.json', THREE],
  ['langgraph-javascript-serialized-state.json', THREE],
  ['langgraph-javascript-values.sse', THREE],
  ['langgraph-javascript-messages.sse', THREE],
  ['langgraph-javascript-updates-and-messages.sse', THREE],
  ['langgraph-javascript-events.sse', ONE],
  ['openai-agents-python-output-with-usage.json', THREE],
  ['openai-agents-python-raw-responses.json', THREE],
  ['openai-agents-python-events.sse', THREE],
  // The request did not ask for usage either.
  ['openai-agents-python-events-of-chat-completions.sse', UNKNOWN],
  ['openai-agents-javascript-state.json', THREE],
  ['openai-agents-javascript-events.sse', THREE],
  ['pydantic-ai-python-messages.json', THREE],
  ['pydantic-ai-python-output-with-usage.json', THREE],
  ['pydantic-ai-python-ag-ui.sse', UNKNOWN],
  ['pydantic-ai-python-vercel-ui-stream.sse', UNKNOWN],
  ['crewai-python-output.json', THREE],
  ['autogen-python-result.json', THREE],
  ['autogen-python-messages.sse', THREE],
  ['smolagents-python-result.json', THREE],
  ['llamaindex-python-output.json', UNKNOWN],
  ['llamaindex-python-events.sse', UNKNOWN],
  ['llamaindex-python-events-with-raw.sse', THREE],
  ['ai-sdk-javascript-text-with-usage.json', THREE],
  ['ai-sdk-javascript-steps-of-anthropic.json', THREE],
  ['ai-sdk-javascript-full-stream.sse', THREE],
  ['ai-sdk-javascript-full-stream-of-anthropic.sse', THREE],
  ['ai-sdk-javascript-ui-message-stream.sse', UNKNOWN],
  ['ai-sdk-javascript-ui-message-stream-with-usage.sse', THREE],
  ['ai-sdk-javascript-text-stream.txt', UNKNOWN],
  ['mastra-javascript-result.json', THREE],
  ['mastra-javascript-full-output.json', THREE],
  ['mastra-javascript-full-stream.sse', THREE],
  ['a2a-javascript-message-with-usage.json', ONE],
  ['a2a-javascript-message.json', UNKNOWN],
  ['a2a-javascript-stream-with-usage.sse', ONE],
  ['a2a-python-stream-with-usage.sse', ONE],
  ['mcp-python-tool-with-usage.sse', ONE],
];

const TYPES: Readonly<Record<string, string>> = {
  json: 'application/json',
  sse: 'text/event-stream; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
};

describe('usage of a recorded response', () => {
  test.each(EXPECTED)('is read from %s', (file, expected) => {
    const reader = createUsageReader(
      {
        ...{ statusCode: 200, method: 'POST', path: '/v1/chat' },
        declared: { chatPath: '/v1/chat', isMcp: false },
        contentType: TYPES[file.split('.').at(-1) ?? ''] ?? '',
      },
      () => null,
    );
    const bytes = readFileSync(join(DIRECTORY, file));
    for (let at = 0; at < bytes.length; at += 7) reader.write(bytes.subarray(at, at + 7));
    const read = reader.end();
    const usage = read === null ? null : requestUsageOf(read);
    if (usage === null || 'unavailable' in usage) expect(usage && UNKNOWN).toBe(expected);
    else expect([usage.promptTokens, usage.completionTokens, usage.callsWithoutUsage ?? 0]).toEqual(expected);
  });

  test('has an expectation for every sample file', () => {
    expect(readdirSync(DIRECTORY).sort()).toEqual(EXPECTED.map(([file]) => file).sort());
  });
});
