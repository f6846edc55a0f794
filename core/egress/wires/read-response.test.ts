import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { VENDORS, type CallWire, type VendorResponse } from '../../../testing/sidecar/vendor-streams.ts';
import type { Json, JudgeCall, ModelUsage, WireName } from '../model-wire.ts';
import { WIRE_OF } from './wire-of.ts';

const WIRES = Object.keys(VENDORS) as CallWire[];
const M = 'The policy removed a tool call.';
const SAMPLES = join(import.meta.dirname, '../../usage/samples');

const removing =
  (...names: string[]): JudgeCall =>
  ({ name }) =>
    names.includes(name) ? 'remove' : 'pass';
const call = (name: string, input = '{"id":"1"}'): VendorResponse['calls'][number] => ({ name, input });
const RESPONSE: VendorResponse = {
  text: 'Wait.',
  calls: [call('search'), call('delete_order', '{"id":"2"}')],
};

describe('a recorded response', () => {
  test.each<[WireName, string]>([
    ['chat', 'openai-chat.json'],
    ['responses', 'openai-responses.json'],
    ['anthropic', 'anthropic-messages.json'],
  ])('of %s has its facts', (wire, file) => {
    const body = JSON.parse(readFileSync(join(SAMPLES, file), 'utf8')) as Json;
    expect(WIRE_OF[wire].readResponse(body)).toMatchObject({
      toolCalls: [],
      usage: { promptTokens: 31, cachedTokens: 16, completionTokens: 5 },
      isComplete: true,
    });
    expect(WIRE_OF[wire].strip(body, () => 'remove', M)).toBeNull();
  });
});

describe.each(WIRES)('a response of %s', (wire) => {
  const { whole, receive } = VENDORS[wire];
  const { [wire]: read } = WIRE_OF;

  test('has its facts', () => {
    expect(read.readResponse(whole(RESPONSE))).toMatchObject({
      model: wire === 'cohere' ? null : 'model-1',
      toolCalls: RESPONSE.calls.map(({ name, input }) => ({ name, arguments: input })),
      usage: { promptTokens: 31, completionTokens: 5 },
      isComplete: true,
    });
  });

  test('is unchanged if no call is removed', () => {
    expect(read.strip(whole(RESPONSE), removing('other'), M)).toBeNull();
    expect(read.strip(whole({ text: 'a', calls: [] }), () => 'remove', M)).toBeNull();
  });

  test('loses one of two calls, by name and by arguments', () => {
    const byInput: JudgeCall = ({ arguments: input }) => (input === '{"id":"2"}' ? 'remove' : 'pass');
    for (const judge of [removing('delete_order'), byInput]) {
      const stripped = read.strip(whole(RESPONSE), judge, M);
      const before = receive([whole(RESPONSE)]);
      expect(receive([stripped!])).toMatchObject({
        ...{ calls: [RESPONSE.calls[0]], text: 'Wait.', reason: before.reason },
      });
    }
  });

  test.each(['', 'Wait.'])('has the message instead of its calls, after the text "%s"', (text) => {
    const stripped = read.strip(whole({ ...RESPONSE, text }), () => 'hold', M);
    const received = receive([stripped!]);
    expect(received.calls).toEqual([]);
    expect(received.text.replace(/\s/g, '')).toBe((text + M).replace(/\s/g, ''));
    expect(received.reason).toBe(receive([whole({ text: 'a', calls: [] })]).reason);
    expect(JSON.stringify(stripped!)).not.toMatch(/delete_order|"search"/);
  });

  test('that is malformed has no facts and is unchanged', () => {
    const wrong = [1, null, 'a', {}, [1, null, [], {}, { message: 1, content: 1, delta: [], type: 1 }]];
    for (const member of ['choices', 'output', 'content', 'candidates', 'message', 'usage'])
      for (const value of wrong) {
        expect(read.readResponse({ [member]: value }).toolCalls).toEqual([]);
        expect(read.strip({ [member]: value }, () => 'remove', M)).toBeNull();
      }
  });

  test('with members named as those of the prototype is read', () => {
    const body = JSON.parse(
      '{"__proto__":{"choices":[],"x":1},"constructor":1,"message":{"__proto__":[]}}',
    ) as Json;
    expect(read.readResponse(body).toolCalls).toEqual([]);
    expect(read.strip(body, () => 'remove', M)).toBeNull();
    expect(({} as Json)['x']).toBeUndefined();
  });
});

describe('a call in a response', () => {
  const stripped = (wire: WireName, body: Json, judge: JudgeCall = () => 'remove'): Json | undefined =>
    WIRE_OF[wire].strip(body, judge, M) ?? undefined;

  test.each<[string, WireName, Json, Json]>([
    [
      'of a legacy function',
      'chat',
      {
        choices: [
          {
            message: { content: null, function_call: { name: 'a', arguments: '{}' } },
            finish_reason: 'function_call',
          },
        ],
      },
      { choices: [{ message: { content: M }, finish_reason: 'stop' }] },
    ],
    [
      'of a custom tool',
      'chat',
      {
        choices: [
          {
            message: {
              content: 'Wait.',
              tool_calls: [{ type: 'custom', custom: { name: 'a', input: 'ls' } }],
            },
            finish_reason: 'tool_calls',
          },
        ],
      },
      { choices: [{ message: { content: `Wait.\n\n${M}` }, finish_reason: 'stop' }] },
    ],
    [
      'next to parts of text',
      'chat',
      {
        choices: [
          {
            message: { content: [{ type: 'text', text: 'a' }], tool_calls: [{ function: { name: 'a' } }] },
            finish_reason: 'length',
          },
        ],
      },
      {
        choices: [
          {
            message: {
              content: [
                { type: 'text', text: 'a' },
                { type: 'text', text: M },
              ],
            },
            finish_reason: 'length',
          },
        ],
      },
    ],
    [
      'of a custom tool',
      'responses',
      { id: 'resp_1', output: [{ type: 'custom_tool_call', call_id: 'c', name: 'a', input: 'ls' }] },
      {
        id: 'resp_1',
        output: [
          {
            ...{ id: 'msg_policy_1', type: 'message', status: 'completed', role: 'assistant' },
            content: [{ type: 'output_text', text: M, annotations: [], logprobs: [] }],
          },
        ],
      },
    ],
  ])('%s of %s is replaced', (_name, wire, body, expected) => {
    expect(stripped(wire, body)).toEqual(expected);
  });

  test('is removed only from its own choice', () => {
    const choice = (name: string): Json => ({
      message: { role: 'assistant', content: null, tool_calls: [{ function: { name, arguments: '{}' } }] },
      finish_reason: 'tool_calls',
    });
    const body = { choices: [choice('search'), choice('delete_order')] };
    expect(stripped('chat', body, removing('delete_order'))).toEqual({
      choices: [choice('search'), { message: { role: 'assistant', content: M }, finish_reason: 'stop' }],
    });
  });

  test('of the vendor is not judged', () => {
    const content = [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'mcp_tool_use', id: 'm', name: 'read', server_name: 'files', input: {} },
    ];
    expect(stripped('anthropic', { content })).toBeUndefined();
    const output = ['web_search_call', 'mcp_call', 'code_interpreter_call'].map((type) => ({
      type,
      name: 'a',
    }));
    expect(stripped('responses', { output })).toBeUndefined();
    expect(
      stripped('gemini', { candidates: [{ content: { parts: [{ executableCode: {} }] } }] }),
    ).toBeUndefined();
  });

  test('of a tool with a type instead of a name has one', () => {
    const output = ['computer_call', 'local_shell_call', 'shell_call', 'apply_patch_call'].map((type) => ({
      ...{ type, call_id: type, action: { command: 'ls' } },
    }));
    expect(WIRE_OF.responses.readResponse({ output }).toolCalls.map(({ name }) => name)).toEqual([
      ...['computer', 'local_shell', 'shell', 'apply_patch'],
    ]);
  });

  test('leaves its signature to the next call of Gemini', () => {
    const part = (name: string, members: Json = {}): Json => ({
      functionCall: { name, args: {} },
      ...members,
    });
    const parts = [part('delete_order', { thoughtSignature: 's' }), part('search'), part('find')];
    const body = { candidates: [{ content: { role: 'model', parts } }] };
    expect(stripped('gemini', body, removing('delete_order'))).toEqual({
      candidates: [
        { content: { role: 'model', parts: [part('search', { thoughtSignature: 's' }), part('find')] } },
      ],
    });
  });

  test('with arguments that are nested too deeply is removed, if the arguments decide', () => {
    const deep = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`) as unknown;
    const content = [
      { type: 'tool_use', id: 'a', name: 'a', input: deep },
      { type: 'tool_use', id: 'b', name: 'b', input: {} },
    ];
    const judge: JudgeCall = ({ arguments: input }) => (input === null ? 'hold' : 'pass');
    expect(stripped('anthropic', { content }, judge)).toEqual({ content: [content[1]] });
  });
});

describe('usage', () => {
  const NONE: ModelUsage = {
    ...{ promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0, reasoningTokens: 0 },
  };
  test.each<[WireName, Json, Partial<ModelUsage> | null]>([
    ['chat', { usage: { prompt_tokens: 3, completion_tokens: 2 } }, { promptTokens: 3, completionTokens: 2 }],
    [
      'chat',
      { usage: { prompt_tokens: 3, prompt_cache_hit_tokens: 2 } },
      { promptTokens: 3, cachedTokens: 2 },
    ],
    [
      'chat',
      { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 2 } } },
      { promptTokens: 3, completionTokens: 2 },
    ],
    ['chat', { usage: { prompt_tokens: -3, completion_tokens: 2 } }, null],
    ['chat', { usage: { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 'a' } } }, null],
    [
      'chat',
      { usage: { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 5 } } },
      { promptTokens: 3, cachedTokens: 3 },
    ],
    ['chat', { usage: null }, null],
    ['embeddings', { usage: { prompt_tokens: 3, total_tokens: 3 } }, { promptTokens: 3 }],
    ['responses', { usage: { input_tokens: 3, output_tokens: 2 } }, { promptTokens: 3, completionTokens: 2 }],
    [
      'anthropic',
      {
        usage: {
          input_tokens: 1,
          cache_creation_input_tokens: 2,
          cache_read_input_tokens: 4,
          output_tokens: 8,
        },
      },
      { promptTokens: 7, cacheWriteTokens: 2, cachedTokens: 4, completionTokens: 8 },
    ],
    [
      'gemini',
      { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, thoughtsTokenCount: 4 } },
      { promptTokens: 3, completionTokens: 6, reasoningTokens: 4 },
    ],
    [
      'cohere',
      { usage: { billed_units: {}, tokens: { input_tokens: 3, output_tokens: 2 } } },
      { promptTokens: 3, completionTokens: 2 },
    ],
    ['ollama', { prompt_eval_count: 3, eval_count: 2 }, { promptTokens: 3, completionTokens: 2 }],
  ])('of %s in %j', (wire, body, expected) => {
    expect(WIRE_OF[wire].readResponse(body).usage).toEqual(
      expected === null ? null : { ...NONE, ...expected },
    );
  });
});
