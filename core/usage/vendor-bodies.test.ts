// The same body through the reader of the proxy and through that of the lane. The stated total decides; all that is not prompt is
// completion.
import { describe, expect, test } from '@jest/globals';
import type { WireName } from '../egress/model-wire.ts';
import { createLineFrames, createSseFrames } from '../egress/sse-frames.ts';
import { WIRE_OF } from '../egress/wires/wire-of.ts';
import { requestUsageOf } from './response-usage.ts';
import { createUsageReader } from './create-usage-reader.ts';
import type { RequestUsage } from '../shapes/request-usage.ts';

/** A JSON document, or the events or lines of a stream. */
type Body = object | readonly object[];

const declared = { chatPath: '/ask', isMcp: false };

function proxied(body: Body, form: 'sse' | 'lines' | 'json'): RequestUsage | null {
  const contentType = {
    sse: 'text/event-stream',
    lines: 'application/x-ndjson',
    json: 'application/json',
  }[form];
  // A GET, so that a response without a reading is null.
  const head = { statusCode: 200, method: 'GET', path: '/ask', contentType, declared };
  const reader = createUsageReader(head, () => null);
  reader.write(Buffer.from(textOf(body, form)));
  const usage = reader.end();
  return usage === null ? null : requestUsageOf(usage);
}

function textOf(body: Body, form: 'sse' | 'lines' | 'json'): string {
  const events = Array.isArray(body) ? (body as object[]) : [body];
  if (form === 'json') return JSON.stringify(body);
  return events
    .map((each) => (form === 'sse' ? `data: ${JSON.stringify(each)}\n\n` : `${JSON.stringify(each)}\n`))
    .join('');
}

/** Prompt tokens, the other tokens, and all tokens. */
type Counts = readonly [prompt: number, completion: number, total: number];

function countsOf(usage: RequestUsage | null): Counts | null {
  if (usage === null || 'unavailable' in usage) return null;
  return [usage.promptTokens, usage.totalTokens - usage.promptTokens, usage.totalTokens];
}

function onLane(wire: WireName, body: Body): Counts | null {
  const modelWire = WIRE_OF[wire];
  let { usage } = Array.isArray(body)
    ? { usage: null }
    : modelWire.readResponse(body as Record<string, unknown>);
  if (Array.isArray(body)) {
    const filter = modelWire.createFilter({ judge: () => 'pass', message: '', removeUsage: false });
    const frames = wire === 'ollama' ? createLineFrames() : createSseFrames();
    const bytes = Buffer.from(textOf(body, wire === 'ollama' ? 'lines' : 'sse'));
    for (const frame of [...frames.push(bytes), ...frames.end()]) filter.push(frame);
    filter.end();
    usage = filter.response.usage;
  }
  if (usage === null) return null;
  const { promptTokens, completionTokens } = usage;
  return [promptTokens, completionTokens, promptTokens + completionTokens];
}

const CHAT = { id: 'chatcmpl-1', object: 'chat.completion', model: 'm', choices: [{ message: {} }] };
const CHUNK = { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm' };
const TEXT = { choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] };
const STOP = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const USED = { prompt_tokens: 31, completion_tokens: 5, total_tokens: 36 };
const RESPONSE = { id: 'resp_1', object: 'response', model: 'm', status: 'completed', output: [] };
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [],
  stop_reason: 'end_turn',
};
const GEMINI = {
  responseId: 'r',
  modelVersion: 'gemini-3',
  candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }],
};
const OLLAMA = {
  model: 'm',
  created_at: '2026-03-01T12:00:00Z',
  message: { role: 'assistant', content: 'a' },
};

const VENDORS: readonly [name: string, wire: WireName, body: Body, expected: Counts][] = [
  ['OpenAI chat', 'chat', { ...CHAT, usage: USED }, [31, 5, 36]],
  [
    'OpenAI chat with cached, audio and reasoning tokens',
    'chat',
    {
      ...CHAT,
      usage: {
        ...USED,
        prompt_tokens_details: { cached_tokens: 20, audio_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 4, audio_tokens: 1 },
      },
    },
    [31, 5, 36],
  ],
  [
    'OpenAI chat, streamed',
    'chat',
    [
      { ...CHUNK, ...TEXT },
      { ...CHUNK, ...STOP },
      { ...CHUNK, choices: [], usage: USED },
    ],
    [31, 5, 36],
  ],
  [
    'vLLM with usage in each chunk',
    'chat',
    [
      { ...CHUNK, ...TEXT, usage: { prompt_tokens: 31, completion_tokens: 1, total_tokens: 32 } },
      { ...CHUNK, ...STOP, usage: { prompt_tokens: 31, completion_tokens: 4, total_tokens: 35 } },
      { ...CHUNK, choices: [], usage: USED },
    ],
    [31, 5, 36],
  ],
  [
    'Groq, streamed, whose usage is in two chunks under two ids',
    'chat',
    [
      { ...CHUNK, ...TEXT, x_groq: { id: 'req_1' } },
      { ...CHUNK, ...STOP, x_groq: { id: 'req_1', usage: { queue_time: 0.1, ...USED } } },
      { ...CHUNK, choices: [], usage: USED },
    ],
    [31, 5, 36],
  ],
  [
    'Groq, streamed',
    'chat',
    [
      { ...CHUNK, ...TEXT },
      { ...CHUNK, ...STOP, x_groq: { id: 'req_1', usage: USED } },
    ],
    [31, 5, 36],
  ],
  [
    'xAI, whose completion does not include its reasoning',
    'chat',
    {
      ...CHAT,
      usage: {
        prompt_tokens: 31,
        completion_tokens: 5,
        total_tokens: 136,
        completion_tokens_details: { reasoning_tokens: 100 },
      },
    },
    [31, 105, 136],
  ],
  [
    'DeepSeek, whose prompt includes its cache',
    'chat',
    { ...CHAT, usage: { ...USED, prompt_cache_hit_tokens: 20, prompt_cache_miss_tokens: 11 } },
    [31, 5, 36],
  ],
  [
    'OpenRouter',
    'chat',
    { ...CHAT, usage: { ...USED, cost: 0.01, cost_details: { upstream_inference_cost: 1 } } },
    [31, 5, 36],
  ],
  [
    'Mistral with tokens of a connector',
    'chat',
    { ...CHAT, usage: { ...USED, connector_tokens: 100, total_tokens: 136 } },
    [31, 105, 136],
  ],
  [
    'a vendor that states the total only',
    'embeddings',
    { object: 'list', data: [], model: 'voyage', usage: { total_tokens: 8 } },
    [8, 0, 8],
  ],
  [
    'OpenAI embeddings',
    'embeddings',
    { object: 'list', data: [], model: 'm', usage: { prompt_tokens: 8, total_tokens: 8 } },
    [8, 0, 8],
  ],
  [
    'OpenAI Responses',
    'responses',
    {
      ...RESPONSE,
      usage: {
        ...{ input_tokens: 31, output_tokens: 5, total_tokens: 36 },
        ...{ input_tokens_details: { cached_tokens: 20 }, output_tokens_details: { reasoning_tokens: 4 } },
      },
    },
    [31, 5, 36],
  ],
  [
    'OpenAI Responses, streamed',
    'responses',
    [
      { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', usage: null } },
      {
        type: 'response.completed',
        response: { ...RESPONSE, usage: { input_tokens: 31, output_tokens: 5, total_tokens: 36 } },
      },
    ],
    [31, 5, 36],
  ],
  [
    'Anthropic with caches and server tools',
    'anthropic',
    {
      ...MESSAGE,
      usage: {
        ...{ input_tokens: 3, cache_creation_input_tokens: 8, cache_read_input_tokens: 20, output_tokens: 5 },
        ...{ cache_creation: { ephemeral_5m_input_tokens: 8 }, server_tool_use: { web_search_requests: 2 } },
      },
    },
    [31, 5, 36],
  ],
  [
    'Anthropic, streamed, whose last event has the sums',
    'anthropic',
    [
      {
        type: 'message_start',
        message: { ...MESSAGE, stop_reason: null, usage: { input_tokens: 11, output_tokens: 1 } },
      },
      {
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { input_tokens: 31, output_tokens: 5 },
      },
    ],
    [31, 5, 36],
  ],
  [
    'Anthropic with a compaction',
    'anthropic',
    {
      ...MESSAGE,
      usage: {
        ...{ input_tokens: 23, output_tokens: 1 },
        iterations: [
          { type: 'compaction', input_tokens: 180, output_tokens: 35 },
          { type: 'message', input_tokens: 23, output_tokens: 1 },
        ],
      },
    },
    [203, 36, 239],
  ],
  [
    'Gemini with tools, thoughts and a cache',
    'gemini',
    {
      ...GEMINI,
      usageMetadata: {
        ...{ promptTokenCount: 12, toolUsePromptTokenCount: 237, cachedContentTokenCount: 4 },
        ...{ candidatesTokenCount: 71, thoughtsTokenCount: 230, totalTokenCount: 550 },
      },
    },
    [249, 301, 550],
  ],
  [
    'Gemini, streamed, with thoughts before candidates',
    'gemini',
    [
      {
        ...GEMINI,
        candidates: [{ content: {} }],
        usageMetadata: { promptTokenCount: 12, thoughtsTokenCount: 30, totalTokenCount: 42 },
      },
      {
        ...GEMINI,
        usageMetadata: {
          promptTokenCount: 12,
          candidatesTokenCount: 7,
          thoughtsTokenCount: 30,
          totalTokenCount: 49,
        },
      },
    ],
    [12, 37, 49],
  ],
  [
    'Cohere, which bills fewer tokens',
    'cohere',
    {
      ...{ id: 'c', message: { role: 'assistant', content: [] }, finish_reason: 'COMPLETE' },
      usage: {
        billed_units: { input_tokens: 3, output_tokens: 5 },
        tokens: { input_tokens: 31, output_tokens: 5 },
      },
    },
    [31, 5, 36],
  ],
  [
    'Cohere with billed units only',
    'cohere',
    {
      ...{ id: 'c', message: { role: 'assistant', content: [] }, finish_reason: 'COMPLETE' },
      usage: { billed_units: { input_tokens: 31, output_tokens: 5 } },
    },
    [31, 5, 36],
  ],
  ['Ollama', 'ollama', { ...OLLAMA, done: true, prompt_eval_count: 31, eval_count: 5 }, [31, 5, 36]],
  [
    'Ollama, streamed',
    'ollama',
    [
      { ...OLLAMA, done: false },
      { ...OLLAMA, done: true, prompt_eval_count: 31, eval_count: 5 },
    ],
    [31, 5, 36],
  ],
  ['Ollama embeddings', 'ollama', { model: 'm', embeddings: [[0.1]], prompt_eval_count: 8 }, [8, 0, 8]],
];

describe('proxy and lane read the same tokens in a response of', () => {
  test.each(VENDORS)('%s', (_name, wire, body, expected) => {
    const form = !Array.isArray(body) ? 'json' : wire === 'ollama' ? 'lines' : 'sse';
    expect(countsOf(proxied(body, form))).toEqual(expected);
    expect(onLane(wire, body)).toEqual(expected);
  });
});

const adk = (id: string, partial: boolean | null, [prompt, candidates]: readonly [number, number]) => ({
  ...{ id, author: 'agent', invocationId: 'e-1', content: { role: 'model', parts: [{ text: 'a' }] } },
  ...{ partial, modelVersion: 'gemini-3' },
  usageMetadata: {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + candidates,
  },
});
const converse = (inputTokens: number, outputTokens: number) => ({
  event: {
    metadata: {
      usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
      metrics: { latencyMs: 9 },
    },
  },
});

describe('the proxy reads the tokens in a response of', () => {
  test.each<[string, 'json' | 'sse' | 'lines', Body, Counts]>([
    [
      'Agent Development Kit, streamed, whose partial events repeat the sum',
      'sse',
      [
        adk('1', true, [1000, 5]),
        adk('2', true, [1000, 12]),
        adk('3', true, [1000, 20]),
        adk('4', null, [1000, 20]),
      ],
      [1000, 20, 1020],
    ],
    [
      'Agent Development Kit with two streamed calls',
      'sse',
      [adk('1', true, [31, 2]), adk('2', false, [31, 5]), adk('3', true, [67, 3]), adk('4', false, [67, 11])],
      [98, 16, 114],
    ],
    [
      'Agent Development Kit, cut before the last event',
      'sse',
      [adk('1', true, [31, 2]), adk('2', true, [31, 4])],
      [31, 4, 35],
    ],
    [
      'Agent Development Kit, not streamed',
      'json',
      [adk('1', null, [31, 5]), adk('2', null, [67, 11])],
      [98, 16, 114],
    ],
    [
      'Strands, streamed, with two calls without ids',
      'sse',
      [converse(31, 5), converse(67, 11)],
      [98, 16, 114],
    ],
    [
      'Strands with its sum',
      'lines',
      [
        converse(31, 5),
        { result: { metrics: { accumulated_usage: { inputTokens: 31, outputTokens: 5, totalTokens: 36 } } } },
      ],
      [31, 5, 36],
    ],
    [
      'Bedrock Converse with caches',
      'json',
      {
        ...{ output: { message: {} }, stopReason: 'end_turn', metrics: { latencyMs: 9 } },
        usage: {
          inputTokens: 3,
          cacheReadInputTokens: 20,
          cacheWriteInputTokens: 8,
          outputTokens: 5,
          totalTokens: 36,
        },
      },
      [31, 5, 36],
    ],
    [
      'a framework whose prompt includes its cache',
      'json',
      { usage: { inputTokens: 31, cacheReadInputTokens: 20, outputTokens: 5, totalTokens: 36 } },
      [31, 5, 36],
    ],
    [
      'AI SDK 6 with counts by kind',
      'json',
      {
        usage: {
          inputTokens: { total: 31, cacheRead: 20 },
          outputTokens: { total: 5, text: 1, reasoning: 4 },
        },
      },
      [31, 5, 36],
    ],
    [
      'Gemini Interactions',
      'json',
      {
        ...{ id: 'v1', model: 'gemini-3', outputs: [] },
        usage: {
          ...{
            total_input_tokens: 20,
            total_tool_use_tokens: 11,
            total_output_tokens: 3,
            total_thought_tokens: 2,
          },
          ...{ total_tokens: 36 },
        },
      },
      [31, 5, 36],
    ],
    [
      'Microsoft.Extensions.AI',
      'json',
      { messages: [], usage: { inputTokenCount: 31, outputTokenCount: 5, totalTokenCount: 36 } },
      [31, 5, 36],
    ],
    [
      'Microsoft Agent Framework',
      'json',
      { usage_details: { input_token_count: 31, output_token_count: 5, total_token_count: 36 } },
      [31, 5, 36],
    ],
    [
      'Semantic Kernel',
      'json',
      { Metadata: { Usage: { InputTokenCount: 31, OutputTokenCount: 5, TotalTokenCount: 36 } } },
      [31, 5, 36],
    ],
    ['Haystack', 'json', { replies: [{ meta: { model: 'm', usage: USED } }] }, [31, 5, 36]],
    [
      'OpenAI transcriptions',
      'json',
      { text: 'a', usage: { type: 'tokens', input_tokens: 31, output_tokens: 5, total_tokens: 36 } },
      [31, 5, 36],
    ],
    [
      'llama.cpp without OpenAI',
      'sse',
      [
        { content: 'a', stop: false, tokens_predicted: 1, tokens_evaluated: 31 },
        { content: '', stop: true, model: 'm', tokens_predicted: 5, tokens_evaluated: 31 },
      ],
      [31, 5, 36],
    ],
  ])('%s', (_name, form, body, expected) => {
    expect(countsOf(proxied(body, form))).toEqual(expected);
  });
});

describe('a stream without usage is a call without usage:', () => {
  test.each<[string, 'sse' | 'lines', readonly object[]]>([
    [
      'OpenAI chat',
      'sse',
      [
        { ...CHUNK, ...TEXT },
        { ...CHUNK, ...STOP },
      ],
    ],
    ['Anthropic', 'sse', [{ type: 'message_start', message: MESSAGE }, { type: 'message_stop' }]],
    ['OpenAI Responses', 'sse', [{ type: 'response.completed', response: RESPONSE }]],
    ['Gemini', 'sse', [GEMINI, GEMINI]],
    [
      'Ollama',
      'lines',
      [
        { ...OLLAMA, done: false },
        { ...OLLAMA, done: true },
      ],
    ],
    ['Ollama generate', 'lines', [{ model: 'm', created_at: '2026', response: 'a', done: true }]],
  ])('%s', (_name, form, body) => {
    expect(proxied(body, form)).toEqual({ unavailable: 'the response has no usage' });
  });
});

describe('an event', () => {
  const large = (units: number) => [
    { type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } },
    {
      type: 'response.completed',
      response: {
        ...RESPONSE,
        output: [{ text: 'x'.repeat(units) }],
        usage: { input_tokens: 31, output_tokens: 5, total_tokens: 36 },
      },
    },
  ];
  const tooLong = { unavailable: 'an event of the response is larger than 1 MiB' };

  test.each<['sse' | 'lines']>([['sse'], ['lines']])('of less than 1 MiB is read (%s)', (form) => {
    expect(countsOf(proxied(large(1_000_000), form))).toEqual([31, 5, 36]);
  });

  test.each<['sse' | 'lines']>([['sse'], ['lines']])(
    'of more than 1 MiB makes its call one without usage (%s)',
    (form) => {
      expect(proxied(large(1_100_000), form)).toEqual(tooLong);
      expect(proxied(large(1_100_000).slice(1), form)).toEqual(tooLong);
      const [, second] = large(1_100_000);
      expect(
        proxied(
          [
            ...large(9),
            { ...second, response: { ...(second as { response: object }).response, id: 'resp_2' } },
          ],
          form,
        ),
      ).toMatchObject({ totalTokens: 36, callsWithoutUsage: 1 });
    },
  );

  test('of another kind does not make the response one without usage', () => {
    const image = {
      type: 'response.image_generation_call.partial_image',
      partial_image_b64: 'x'.repeat(1_100_000),
    };
    const [created, completed] = large(9);
    const counted = { modelId: 'm', promptTokens: 31, completionTokens: 5, totalTokens: 36 };
    expect(proxied([created!, image, completed!], 'sse')).toEqual(counted);
    const start = {
      type: 'response.created',
      response: { ...RESPONSE, status: 'in_progress', instructions: 'x'.repeat(1_100_000) },
    };
    expect(proxied([start, completed!], 'sse')).toEqual(counted);
  });
});
