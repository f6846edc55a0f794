// A response of an agent can contain several model calls. Each call counts once in every protocol.
import { describe, expect, test } from '@jest/globals';
import { requestUsageOf, UsageCollector } from './response-usage.ts';
import { CallMemory } from './call-memory.ts';
import type { ParsedUsage } from './usage.ts';

function read(...values: readonly unknown[]): ParsedUsage {
  const collector = new UsageCollector();
  for (const value of values) collector.add(value);
  return collector.result() ?? { calls: [], unknown: [], reason: '' };
}
/** Prompt tokens, completion tokens, number of calls with usage, and number of calls without usage. */
function summaryOf(...values: readonly unknown[]): unknown {
  const usage = requestUsageOf(read(...values));
  if (usage === null || 'unavailable' in usage) return usage;
  const { promptTokens, completionTokens, calls = [usage], callsWithoutUsage = 0 } = usage;
  return [promptTokens, completionTokens, calls.length, callsWithoutUsage];
}

const chunk = (id: string | undefined, rest: object) => ({
  ...(id === undefined ? {} : { id }),
  object: 'chat.completion.chunk',
  model: 'gpt',
  ...rest,
});
const text = { choices: [{ delta: { content: 'a' }, finish_reason: null }] };
const stop = { choices: [{ delta: {}, finish_reason: 'stop' }] };
const used = (prompt: number, completion: number) => ({
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion },
});
const completion = (id: string, prompt: number, completion: number) => ({
  ...{ id, object: 'chat.completion', model: 'gpt', choices: [{ message: {} }] },
  usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
});
const response = (id: string, status: string, usage: object | null) => ({
  ...{ id, object: 'response', model: 'gpt', status, usage },
});
const completed = (id: string, input: number, output: number) => ({
  type: 'response.completed',
  response: response(id, 'completed', { input_tokens: input, output_tokens: output }),
});
const messageStart = (id: string, input: number) => ({
  type: 'message_start',
  message: {
    ...{ id, type: 'message', role: 'assistant' },
    usage: { input_tokens: input, output_tokens: 1 },
  },
});
const aiMessage = (id: string, input: number, output: number, type = 'ai') => ({
  ...{ type, id, content: 'a', response_metadata: { model_name: 'gpt' } },
  usage_metadata: { input_tokens: input, output_tokens: output, total_tokens: input + output },
});

const messagePiece = (id: string) => ({ type: 'AIMessageChunk', id, content: 'a', response_metadata: {} });
const modelEvent = (kind: string, run: string, data: object) => ({
  ...{ event: `on_chat_model_${kind}`, run_id: run, data },
});
const step = (id: string, input: number, output: number) => ({
  usage: { inputTokens: input, outputTokens: output },
  response: { id },
});

describe('the calls of one response', () => {
  test.each<[string, readonly unknown[], unknown]>([
    [
      'two streamed completions',
      [chunk('a', text), chunk('a', stop), chunk('a', used(3, 4)), chunk('b', stop), chunk('b', used(5, 6))],
      [8, 10, 2, 0],
    ],
    [
      'two streamed completions, the first without usage',
      [chunk('a', text), chunk('a', stop), chunk('b', text), chunk('b', stop), chunk('b', used(5, 6))],
      [5, 6, 1, 1],
    ],
    [
      'two completions streamed at the same time',
      [
        ...[chunk('a', text), chunk('b', text), chunk('a', stop), chunk('b', stop)],
        ...[chunk('a', used(3, 4)), chunk('b', used(5, 6))],
      ],
      [8, 10, 2, 0],
    ],
    [
      'two completions of which only the last chunks are forwarded',
      [{ raw: chunk('a', used(3, 4)) }, { raw: chunk('b', used(5, 6)) }],
      [8, 10, 2, 0],
    ],
    [
      'a completion whose last chunk has no id',
      [chunk('a', stop), chunk(undefined, used(3, 4))],
      [3, 4, 1, 0],
    ],
    [
      'a completion with a different id in each chunk',
      [chunk('a', text), chunk('b', text), chunk('c', stop), chunk('d', used(3, 4))],
      [3, 4, 1, 0],
    ],
    [
      'two Responses',
      [
        { type: 'response.created', response: response('r1', 'in_progress', null) },
        completed('r1', 3, 4),
        completed('r2', 5, 6),
      ],
      [8, 10, 2, 0],
    ],
    [
      'two Anthropic messages',
      [
        messageStart('m1', 3),
        { type: 'message_delta', usage: { output_tokens: 4 } },
        messageStart('m2', 5),
        { type: 'message_delta', usage: { output_tokens: 6 } },
      ],
      [8, 10, 2, 0],
    ],
    [
      'Responses inside the events of a framework',
      [
        { type: 'raw_response_event', data: completed('r1', 3, 4) },
        { type: 'raw_response_event', data: completed('r2', 5, 6) },
      ],
      [8, 10, 2, 0],
    ],
    ['the messages of a state', [{ messages: [aiMessage('x', 3, 4), aiMessage('y', 5, 6)] }], [8, 10, 2, 0]],
    [
      'a state that is repeated after each step',
      [{ messages: [aiMessage('x', 3, 4)] }, { messages: [aiMessage('x', 3, 4), aiMessage('y', 5, 6)] }],
      [8, 10, 2, 0],
    ],
    [
      'pieces of a message, followed by the message',
      [
        [aiMessage('x', 3, 0, 'AIMessageChunk'), {}],
        [aiMessage('x', 0, 4, 'AIMessageChunk'), {}],
        { messages: [aiMessage('x', 3, 4)] },
      ],
      [3, 4, 1, 0],
    ],
    [
      'pieces that each add to the previous counts',
      [
        aiMessage('x', 3, 4, 'AIMessageChunk'),
        aiMessage('x', 0, 5, 'AIMessageChunk'),
        aiMessage('x', 0, 6, 'AIMessageChunk'),
      ],
      [3, 15, 1, 0],
    ],
    [
      'pieces of which the last has a different id, followed by the message',
      [
        messagePiece('chatcmpl-1'),
        aiMessage('run-1', 3, 4, 'AIMessageChunk'),
        aiMessage('chatcmpl-1', 3, 4, 'AIMessageChunk'),
        { messages: [aiMessage('chatcmpl-1', 3, 4)] },
        messagePiece('chatcmpl-2'),
        aiMessage('run-2', 5, 6, 'AIMessageChunk'),
        { messages: [aiMessage('chatcmpl-1', 3, 4), aiMessage('chatcmpl-2', 5, 6)] },
      ],
      [8, 10, 2, 0],
    ],
    [
      'events of two parallel runs whose pieces and messages have different ids',
      [
        modelEvent('stream', '1', { chunk: messagePiece('chatcmpl-1') }),
        modelEvent('stream', '2', { chunk: messagePiece('chatcmpl-2') }),
        modelEvent('stream', '1', { chunk: aiMessage('run-1', 3, 4, 'AIMessageChunk') }),
        modelEvent('stream', '2', { chunk: aiMessage('run-2', 5, 6, 'AIMessageChunk') }),
        modelEvent('end', '2', {
          output: aiMessage('chatcmpl-2', 5, 6),
          input: aiMessage('chatcmpl-1', 3, 4),
        }),
        modelEvent('end', '1', { output: aiMessage('chatcmpl-1', 3, 4) }),
      ],
      [8, 10, 2, 0],
    ],
    [
      'a step whose call has a different id, followed by all steps',
      [
        { messageId: 'm', output: { usage: { inputTokens: 3, outputTokens: 4 }, steps: [step('c1', 3, 4)] } },
        {
          messageId: 'm',
          output: {
            usage: { inputTokens: 8, outputTokens: 10 },
            steps: [step('c1', 3, 4), step('c2', 5, 6)],
          },
        },
      ],
      [8, 10, 2, 0],
    ],
    [
      'a response and its message, which has no token counts',
      [
        { type: 'response.created', response: response('r', 'in_progress', null) },
        {
          type: 'response.output_item.done',
          item: { type: 'message', id: 'msg', role: 'assistant', status: 'completed', content: [] },
        },
        completed('r', 3, 4),
      ],
      [3, 4, 1, 0],
    ],
    [
      'steps, followed by their sum',
      [
        { type: 'finish-step', usage: { inputTokens: 3, outputTokens: 4 } },
        { type: 'finish-step', usage: { inputTokens: 5, outputTokens: 6 } },
        { type: 'finish', totalUsage: { inputTokens: 8, outputTokens: 10 } },
      ],
      [8, 10, 2, 0],
    ],
    [
      'a sum that is larger than its nested calls',
      [{ usage: { input_tokens: 9, output_tokens: 9 }, raw: [completion('a', 3, 4)] }],
      [9, 9, 1, 0],
    ],
    [
      'a sum that is equal to its nested calls',
      [
        {
          usage: { input_tokens: 8, output_tokens: 10 },
          raw: [completion('a', 3, 4), completion('b', 5, 6)],
        },
      ],
      [8, 10, 2, 0],
    ],
    [
      'a sum in a separate event that is larger than the calls',
      [completion('a', 3, 4), { type: 'result', usage: { input_tokens: 8, output_tokens: 10 } }],
      [8, 10, 2, 0],
    ],
    [
      'token counts by model',
      [
        {
          modelUsage: {
            big: { inputTokens: 3, outputTokens: 4 },
            small: { inputTokens: 5, outputTokens: 6 },
          },
        },
      ],
      [8, 10, 1, 0],
    ],
  ])('are counted once: %s', (_what, values, expected) => {
    expect(summaryOf(...values)).toEqual(expected);
  });

  test('keep their model ids, and the sum has the model id "(several)"', () => {
    const usage = requestUsageOf(read([completion('a', 3, 4), { ...completion('b', 5, 6), model: 'other' }]));
    expect(usage).toMatchObject({ modelId: '(several)', calls: [{ modelId: 'gpt' }, { modelId: 'other' }] });
  });
});

describe('a call that is part of several responses', () => {
  const long = 'resp_0123456789abcdef';
  const record = (memory: CallMemory, method: string, value: unknown) =>
    requestUsageOf(memory.record(read(value), { method, seq: 1 }).usage);

  test('counts once for a repeated GET and for messages of earlier turns', () => {
    const memory = new CallMemory();
    const done = response(long, 'completed', { input_tokens: 3, output_tokens: 4 });
    expect(record(memory, 'GET', done)).toMatchObject({ totalTokens: 7 });
    expect(record(memory, 'GET', done)).toBeNull();
    const turns = { messages: [aiMessage(`lc_run--${long}`, 3, 4)] };
    expect(record(memory, 'POST', turns)).toMatchObject({ totalTokens: 7 });
    const longer = { messages: [...turns.messages, aiMessage(`lc_run--${long}-2`, 5, 6)] };
    expect(record(memory, 'POST', longer)).toMatchObject({ totalTokens: 11 });
  });

  test('counts as a new call if the request created it, even with a known id', () => {
    const memory = new CallMemory();
    const same = completion('chatcmpl-0123456789abcdef', 3, 4);
    for (let n = 0; n < 2; n += 1) expect(record(memory, 'POST', same)).toMatchObject({ totalTokens: 7 });
  });

  test('counts as a new call if its id is too short to be unique', () => {
    const memory = new CallMemory();
    for (let n = 0; n < 2; n += 1)
      expect(record(memory, 'GET', completion('chatcmpl-7', 3, 4))).toMatchObject({ totalTokens: 7 });
  });

  test('is forgotten after 5,000 others', () => {
    const memory = new CallMemory();
    const done = (id: string) => response(id, 'completed', { input_tokens: 3, output_tokens: 4 });
    record(memory, 'GET', done(long));
    for (let n = 0; n < 5000; n += 1) record(memory, 'GET', done(`${long}-${n}`));
    expect(record(memory, 'GET', done(long))).toMatchObject({ totalTokens: 7 });
  });

  test.each([
    ['for every request that creates the call', ['POST', 'POST'], [1, 1]],
    ['for the request that created the call, not for those that read it', ['POST', 'GET', 'GET'], [1, 0, 0]],
    ['for the first request that reads a call created through another sidecar', ['GET', 'GET'], [1, 0]],
  ])('counts as a call without usage %s', (_what, methods, expected) => {
    const memory = new CallMemory();
    const pending = read(response(long, 'in_progress', null));
    const recorded = methods.map((method, seq) => memory.record(pending, { method, seq }));
    expect(recorded.map(({ usage }) => usage.unknown.length)).toEqual(expected);
    expect(recorded.flatMap(({ completed }) => completed)).toEqual([]);
    const last = expected.lastIndexOf(1);
    const done = read(response(long, 'completed', { input_tokens: 3, output_tokens: 4 }));
    expect(memory.record(done, { method: 'GET', seq: 9 })).toMatchObject({
      usage: { calls: [{ totalTokens: 7 }] },
      completed: [last],
    });
    expect(memory.record(done, { method: 'GET', seq: 9 })).toMatchObject({
      usage: { calls: [] },
      completed: [],
    });
    expect(memory.record(pending, { method: 'GET', seq: 9 })).toMatchObject({ usage: { unknown: [] } });
  });
});
