// Forms of streams that only one vendor, or only some servers, send.
import { describe, expect, test } from '@jest/globals';
import { event } from '../../../testing/sidecar/vendor-streams.ts';
import { isRecord, jsonOf } from '../../untrusted/fields.ts';
import type { FilterOptions, Frame, Json, JudgeCall, StreamFilter, WireName } from '../model-wire.ts';
import { createLineFrames, createSseFrames } from '../sse-frames.ts';
import { filterList } from './filter-list.ts';
import { MAX_HELD_BYTES } from './stream-filter.ts';
import { WIRE_OF } from './wire-of.ts';

const M = 'The policy removed a tool call.';

const removing =
  (...names: string[]): JudgeCall =>
  ({ name }) =>
    names.includes(name) ? 'remove' : 'pass';
const held: JudgeCall = ({ arguments: input }) => (input === null ? 'hold' : 'pass');

function filterOf(wire: WireName, options: Partial<FilterOptions>): StreamFilter {
  return WIRE_OF[wire].createFilter({ judge: () => 'pass', message: M, removeUsage: false, ...options });
}

const framesOf = (text: string, isLines = false): Frame[] => {
  const splitter = isLines ? createLineFrames() : createSseFrames();
  return [...splitter.push(Buffer.from(text)), ...splitter.end()];
};
const textOf = (frames: readonly Frame[]): string => Buffer.concat(frames.map(({ raw }) => raw)).toString();

function sent(wire: WireName, text: string, options: Partial<FilterOptions>): string {
  const filter = filterOf(wire, options);
  return textOf([
    ...framesOf(text, wire === 'ollama').flatMap((frame) => filter.push(frame)),
    ...filter.end(),
  ]);
}

const eventsIn = (text: string, isLines = false): Json[] =>
  framesOf(text, isLines)
    .map(({ data }) => jsonOf(data ?? ''))
    .filter(isRecord);

const chunk = (delta: Json, reason: string | null = null, index = 0): Json => ({
  choices: [{ index, delta, finish_reason: reason }],
});
const part = (index: number | undefined, name: string, id = `call_${name}`): Json => ({
  ...(index !== undefined && { index }),
  ...{ id, type: 'function', function: { name, arguments: '{}' } },
});
const stream = (...events: readonly (Json | string)[]): string => events.map((each) => event(each)).join('');

describe('usage that the lane requested', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1 };
  const [DELTA, LAST] = ['{"choices":[{"index":0,"delta":{"content":"a"}}]', '{"id":"a", "choices" : []'];

  test('is taken out, and the rest keeps its bytes', () => {
    const text = [
      `data: ${DELTA} , "usage" : null,"n":12345678901234567890}\n\n`,
      `data: ${DELTA},"usage":null}\r\n\r\n`,
      `data: {"choices":[],"prompt_filter_results":[]}\n\n`,
      `data: ${LAST},"usage":${JSON.stringify(usage)}}\n\n`,
      'data: [DONE]\n\n',
    ];
    const filter = filterOf('chat', { removeUsage: true });
    const frames = framesOf(text.join(''));
    const output = textOf(frames.flatMap((frame) => filter.push(frame)));
    expect(output).toBe(
      [`data: ${DELTA} ,"n":12345678901234567890}\n\n`, `data: ${DELTA}}\r\n\r\n`, text[2], text[4]].join(''),
    );
    expect(filter.response.usage).toMatchObject({ promptTokens: 1, completionTokens: 1 });
  });

  test.each([
    ['the first member', '{"usage":null,"choices":[{"usage":1}]}', { choices: [{ usage: 1 }] }],
    [
      'next to a null inside',
      '{"choices":[{"a":1,"usage":null}],"usage":null}',
      { choices: [{ a: 1, usage: null }] },
    ],
  ])('is taken out as %s', (_name, data, expected) => {
    expect(eventsIn(sent('chat', event(data), { removeUsage: true }))).toEqual([expected]);
  });

  test('stays if the vendor sends it with a choice, or the client requested it', () => {
    const text = stream({ ...chunk({ content: 'a' }, 'stop'), usage }, { choices: [], usage });
    expect(sent('chat', text, {})).toBe(text);
    expect(sent('chat', text, { removeUsage: true })).toBe(
      event({ ...chunk({ content: 'a' }, 'stop'), usage }),
    );
  });
});

describe('a stream of chat completions', () => {
  test('with a whole response in one event has the message in front of its end', () => {
    const text = stream(chunk({ role: 'assistant', content: '', tool_calls: [part(0, 'a')] }, 'tool_calls'));
    expect(eventsIn(sent('chat', text, { judge: () => 'remove' }))).toEqual([
      chunk({ role: 'assistant', content: M }),
      chunk({}, 'stop'),
    ]);
  });

  test('with the role in the first event of a call keeps the role', () => {
    const text = stream(chunk({ role: 'assistant', content: null, tool_calls: [part(0, 'a')] }));
    expect(eventsIn(sent('chat', text, { judge: () => 'remove' }))).toEqual([
      chunk({ role: 'assistant', content: null }),
    ]);
  });

  test.each([
    ['the same index', [part(0, 'a'), part(0, 'b'), part(0, 'c')], [part(0, 'a'), part(1, 'c')]],
    [
      'no index',
      [part(undefined, 'a'), part(undefined, 'b'), part(undefined, 'c')],
      [part(undefined, 'a'), part(undefined, 'c')],
    ],
    ['indexes in another order', [part(1, 'a'), part(0, 'b'), part(2, 'c')], [part(1, 'a'), part(2, 'c')]],
    ['gaps between indexes', [part(0, 'a'), part(3, 'b'), part(7, 'c')], [part(0, 'a'), part(1, 'c')]],
  ])('with %s for its calls loses one of them', (_name, parts, expected) => {
    const text = stream(...parts.map((each) => chunk({ tool_calls: [each] })));
    const left = eventsIn(sent('chat', text, { judge: removing('b') }));
    expect(left).toEqual(expected.map((each) => chunk({ tool_calls: [each] })));
    const together = stream(chunk({ tool_calls: parts }));
    expect(eventsIn(sent('chat', together, { judge: removing('b') }))).toEqual([
      chunk({ tool_calls: expected }),
    ]);
  });

  test('with several choices replaces the calls of one of them', () => {
    const text = stream(
      chunk({ tool_calls: [part(0, 'a')] }, null, 0),
      chunk({ tool_calls: [part(0, 'b')] }, null, 1),
      chunk({}, 'tool_calls', 1),
      chunk({}, 'tool_calls', 0),
    );
    expect(eventsIn(sent('chat', text, { judge: removing('b') }))).toEqual([
      chunk({ tool_calls: [part(0, 'a')] }, null, 0),
      chunk({ content: M }, null, 1),
      chunk({}, 'stop', 1),
      chunk({}, 'tool_calls', 0),
    ]);
  });

  test('with legacy functions loses a call', () => {
    const text = stream(
      chunk({ role: 'assistant', function_call: { name: 'a', arguments: '' } }),
      chunk({ function_call: { arguments: '{}' } }),
      chunk({}, 'function_call'),
    );
    expect(sent('chat', text, { judge: held })).toBe(text);
    expect(eventsIn(sent('chat', text, { judge: removing('a') }))).toEqual([
      ...[chunk({ role: 'assistant' }), chunk({ content: M }), chunk({}, 'stop')],
    ]);
  });

  test('with a custom tool gives its input to the judge', () => {
    const custom = (members: Json): Json => chunk({ tool_calls: [{ index: 0, ...members }] });
    const text = stream(
      custom({ id: 'c', type: 'custom', custom: { name: 'shell', input: '' } }),
      custom({ custom: { input: 'rm ' } }),
      custom({ custom: { input: '-rf' } }),
      chunk({}, 'tool_calls'),
    );
    const judge: JudgeCall = ({ arguments: input }) =>
      input === null ? 'hold' : input === 'rm -rf' ? 'remove' : 'pass';
    expect(eventsIn(sent('chat', text, { judge }))).toEqual([chunk({ content: M }), chunk({}, 'stop')]);
  });

  test('holds a call until its name is known, and decides about a name that continues', () => {
    const fragment = (members: Json): Json => chunk({ tool_calls: [{ index: 0, function: members }] });
    const late = stream(fragment({ arguments: '' }), fragment({ name: 'a' }), fragment({ arguments: '{}' }));
    const filter = filterOf('chat', { judge: removing('a') });
    const [first, ...others] = framesOf(late);
    expect(filter.push(first!)).toEqual([]);
    expect(others.flatMap((frame) => filter.push(frame))).toEqual([]);
    expect(sent('chat', late, { judge: removing('b') })).toBe(late);
    const continued = stream(
      fragment({ name: 'search' }),
      fragment({ name: '_all' }),
      fragment({ arguments: '{}' }),
    );
    expect(eventsIn(sent('chat', continued, { judge: removing('search_all') }))).toEqual([
      fragment({ name: 'search' }),
    ]);
    const repeated = stream(fragment({ name: 'search' }), fragment({ name: 'search', arguments: '{}' }));
    expect(sent('chat', repeated, { judge: removing('searchsearch') })).toBe(repeated);
  });

  test('releases a held call when the next one begins, and everything in order', () => {
    const fragment = (index: number, members: Json): Json =>
      chunk({ tool_calls: [{ index, function: members }] });
    const texts = [
      fragment(0, { name: 'a', arguments: '' }),
      fragment(0, { arguments: '{}' }),
      fragment(1, { name: 'b', arguments: '' }),
      chunk({ content: 'x' }),
    ].map((each) => event(each));
    const judge: JudgeCall = (found) => (found.name === 'a' ? held(found) : 'pass');
    const filter = filterOf('chat', { judge });
    const frames = framesOf(texts.join(''));
    expect(frames.map((frame) => textOf(filter.push(frame)))).toEqual([
      '',
      '',
      texts.slice(0, 3).join(''),
      texts[3],
    ]);
    const all = filterOf('chat', { judge: held });
    const done = [...frames, ...framesOf('data: [DONE]\n\n')];
    expect(textOf(done.flatMap((frame) => all.push(frame)))).toBe(`${texts.join('')}data: [DONE]\n\n`);
  });

  test('removes held calls when too much is held', () => {
    const filter = filterOf('chat', { judge: held });
    const long = event({ ...chunk({ content: 'x' }), padding: 'x'.repeat(1024 * 1024) });
    const begin = event(chunk({ tool_calls: [{ index: 0, function: { name: 'a', arguments: '{' } }] }));
    const count = MAX_HELD_BYTES / (1024 * 1024);
    const output = textOf(framesOf(begin + long.repeat(count)).flatMap((frame) => filter.push(frame)));
    expect(output).toBe(long.repeat(count));
    expect(filter.removed).toEqual([{ id: null, name: 'a', arguments: null }]);
  });
});

describe('a stream of Responses', () => {
  const item = (name: string, status = 'completed'): Json => ({
    ...{ type: 'function_call', id: `fc_${name}`, call_id: `call_${name}`, name, arguments: '{}', status },
  });
  const completed = (...output: Json[]): Json => ({
    type: 'response.completed',
    response: { id: 'resp_1', output },
  });

  test('without events of its calls is stripped in its last event', () => {
    const text = stream(completed(item('a'), item('b')));
    expect(eventsIn(sent('responses', text, { judge: removing('b') }))).toEqual([completed(item('a'))]);
  });

  test('that ends with an error loses its calls, without a message', () => {
    const failed = { type: 'response.failed', response: { output: [item('a')] } };
    expect(eventsIn(sent('responses', stream(failed), { judge: removing('a') }))).toEqual([
      { type: 'response.failed', response: { output: [] } },
    ]);
  });

  test('with another name in its last event is judged again', () => {
    const done = { type: 'response.output_item.done', output_index: 0, item: item('a') };
    const other = { ...item('a'), name: 'b' };
    const output = eventsIn(sent('responses', stream(done, completed(other)), { judge: removing('b') }));
    expect(output).toEqual([done, completed()]);
  });

  test('has the message as an item with numbers in order', () => {
    const added = {
      type: 'response.output_item.added',
      output_index: 0,
      item: item('a', 'in_progress'),
      sequence_number: 1,
    };
    const text = ([added, { ...completed(item('a')), sequence_number: 2 }] as Json[])
      .map((each) => event(each, String(each['type'])))
      .join('');
    const output = sent('responses', text, { judge: () => 'remove' });
    const events = eventsIn(output);
    expect(events.map((each) => [each['type'], each['output_index'], each['sequence_number']])).toEqual([
      ['response.output_item.added', 0, 2],
      ['response.content_part.added', 0, 3],
      ['response.output_text.delta', 0, 4],
      ['response.output_text.done', 0, 5],
      ['response.content_part.done', 0, 6],
      ['response.output_item.done', 0, 7],
      ['response.completed', undefined, 8],
    ]);
    expect(framesOf(output).map((frame) => frame.event)).toEqual(events.map((each) => each['type']));
  });
});

describe('a stream of Anthropic', () => {
  test('keeps the tools of the vendor and moves their positions', () => {
    const block = (index: number, type: string, name: string): Json => ({
      ...{ type: 'content_block_start', index },
      content_block: { type, id: name, name, input: {} },
    });
    const stop = (index: number): Json => ({ type: 'content_block_stop', index });
    const end = (reason: string): Json => ({
      type: 'message_delta',
      delta: { stop_reason: reason },
      usage: {},
    });
    const text = stream(
      ...[block(0, 'tool_use', 'a'), stop(0), block(1, 'server_tool_use', 'a'), stop(1), end('tool_use')],
    );
    expect(eventsIn(sent('anthropic', text, { judge: removing('a') }))).toEqual([
      ...[block(0, 'server_tool_use', 'a'), stop(0)],
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: M } },
      ...[stop(1), end('end_turn')],
    ]);
  });

  test('has arguments that are complete in the first event', () => {
    const start = {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', name: 'a', input: { b: 1 } },
    };
    const filter = filterOf('anthropic', { judge: held });
    const text = stream(start, { type: 'content_block_stop', index: 0 });
    expect(textOf(framesOf(text).flatMap((frame) => filter.push(frame)))).toBe(text);
    expect(filter.response.toolCalls).toEqual([{ id: null, name: 'a', arguments: '{"b":1}' }]);
  });
});

describe('a stream of Gemini', () => {
  const parts = (...list: Json[]): Json => ({ candidates: [{ content: { role: 'model', parts: list } }] });

  test('with streamed arguments removes a call with all of its parts', () => {
    const continued = [
      parts({ functionCall: { name: 'a', willContinue: true } }),
      parts({ functionCall: { partialArgs: [{ jsonPath: '$.x', stringValue: 'y' }], willContinue: true } }),
      parts({ functionCall: {} }),
      parts({ functionCall: { name: 'b', args: {} } }),
    ];
    const text = stream(...continued);
    expect(sent('gemini', text, {})).toBe(text);
    expect(eventsIn(sent('gemini', text, { judge: removing('a') }))).toEqual(continued.slice(3));
    expect(sent('gemini', text, { judge: held })).toBe(text);
  });

  /** A call of `a` with the parts of its arguments, one part per event. */
  const inParts = (...partialArgs: Json[]): string =>
    stream(
      parts({ functionCall: { name: 'a', willContinue: true } }),
      ...partialArgs.map((part) => parts({ functionCall: { partialArgs: [part], willContinue: true } })),
      parts({ functionCall: {} }),
    );

  test.each<[string, Json[], string | null]>([
    ['without arguments', [], '{}'],
    ['a number', [{ jsonPath: '$.x', numberValue: 2 }], '{"x":2}'],
    [
      'values of each kind',
      [
        { jsonPath: '$.a', boolValue: false },
        { jsonPath: "$['b c']", nullValue: 'NULL_VALUE' },
        { jsonPath: '$["__proto__"].x[0]', numberValue: 1 },
        { jsonPath: '$["__proto__"].x[1].y', stringValue: 'z' },
      ],
      '{"a":false,"b c":null,"__proto__":{"x":[1,{"y":"z"}]}}',
    ],
    [
      'a string in parts',
      [
        { jsonPath: '$.x', stringValue: 'Ber', willContinue: true },
        { jsonPath: '$.x', stringValue: 'lin', willContinue: true },
        { jsonPath: '$.x', willContinue: false },
      ],
      '{"x":"Berlin"}',
    ],
    ['a list with a hole', [{ jsonPath: '$.x[1]', numberValue: 1 }], null],
    ['a path that is not one value', [{ jsonPath: '$..x', numberValue: 1 }], null],
    ['a part without a value', [{ jsonPath: '$.x' }], null],
    [
      'a value twice',
      [
        { jsonPath: '$.x', stringValue: 'a' },
        { jsonPath: '$.x', stringValue: 'b' },
      ],
      null,
    ],
    [
      'a string that another value interrupts',
      [
        { jsonPath: '$.x', stringValue: 'a', willContinue: true },
        { jsonPath: '$.y', numberValue: 1 },
      ],
      null,
    ],
    [
      'a member of a number',
      [
        { jsonPath: '$.x', numberValue: 1 },
        { jsonPath: '$.x.y', numberValue: 1 },
      ],
      null,
    ],
    ['arguments that are too long', [{ jsonPath: '$.x', stringValue: 'x'.repeat(1024 * 1024) }], null],
  ])('joins %s', (_what, partialArgs, wanted) => {
    const text = inParts(...partialArgs);
    const seen: (string | null)[] = [];
    const judge: JudgeCall = (call) => {
      seen.push(call.arguments);
      return held(call);
    };
    const filter = filterOf('gemini', { judge });
    const output = textOf([...framesOf(text).flatMap((frame) => filter.push(frame)), ...filter.end()]);
    expect(filter.response.toolCalls).toEqual([{ id: null, name: 'a', arguments: wanted }]);
    expect(seen).toEqual(wanted === null ? [null] : [null, wanted]);
    if (wanted === null) expect(output).not.toContain('functionCall');
    else expect(output).toBe(text);
  });

  test('that is cut in the middle of the arguments loses a call whose arguments decide', () => {
    const text = stream(
      parts({ functionCall: { name: 'a', willContinue: true } }),
      parts({
        functionCall: {
          partialArgs: [{ jsonPath: '$.x', numberValue: 1 }],
          willContinue: true,
        },
      }),
    );
    expect(sent('gemini', text, { judge: held })).not.toContain('functionCall');
    expect(sent('gemini', text, {})).toBe(text);
  });

  test('with another candidate keeps it', () => {
    const candidate = (index: number, name: string): Json => ({
      index,
      content: { role: 'model', parts: [{ functionCall: { name, args: {} } }] },
      finishReason: 'STOP',
    });
    const text = stream({ candidates: [candidate(0, 'a'), candidate(1, 'b')] });
    expect(eventsIn(sent('gemini', text, { judge: removing('b') }))).toEqual([
      {
        candidates: [
          candidate(0, 'a'),
          { index: 1, content: { role: 'model', parts: [{ text: M }] }, finishReason: 'STOP' },
        ],
      },
    ]);
  });
});

describe('a list of events of Gemini', () => {
  const chunkOf = (name: string): Json => ({
    candidates: [{ content: { role: 'model', parts: [{ functionCall: { name, args: {} } }] } }],
  });
  const list = [chunkOf('a'), chunkOf('b'), 5, { candidates: [{ finishReason: 'STOP' }] }];
  const options = { message: M, removeUsage: false };

  test.each<[string, JudgeCall, unknown[] | null]>([
    ['is unchanged', removing('c'), null],
    ['loses a call', removing('b'), [list[0], ...list.slice(2)]],
    [
      'has the message',
      removing('a', 'b'),
      [5, { candidates: [{ finishReason: 'STOP', content: { role: 'model', parts: [{ text: M }] } }] }],
    ],
  ])('%s', (_name, judge, expected) => {
    const { body, response } = filterList(WIRE_OF.gemini, list, { ...options, judge });
    expect(body).toEqual(expected);
    expect(response.toolCalls.map(({ name }) => name)).toEqual(['a', 'b']);
  });
});

describe('a stream of Ollama', () => {
  test('keeps the text of a line that loses its call', () => {
    const message = {
      role: 'assistant',
      content: 'x',
      tool_calls: [{ function: { name: 'a', arguments: {} } }],
    };
    const text = `${JSON.stringify({ model: 'm', message, done: false })}\n${JSON.stringify({ model: 'm', done: true })}\n`;
    expect(eventsIn(sent('ollama', text, { judge: removing('a') }), true)).toEqual([
      { model: 'm', message: { role: 'assistant', content: 'x' }, done: false },
      { model: 'm', message: { role: 'assistant', content: M }, done: false },
      { model: 'm', done: true },
    ]);
  });
});
