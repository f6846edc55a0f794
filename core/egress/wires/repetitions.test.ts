import { describe, expect, test } from '@jest/globals';
import fc, { runs } from '../../../testing/random/properties.ts';
import type { Json, JudgeCall } from '../model-wire.ts';
import { createSseFrames } from '../sse-frames.ts';
import { AnthropicEditor } from './anthropic-stream.ts';
import { ChatEditor } from './chat-stream.ts';
import { RepeatedEvent } from '../../usage/repeated-event.ts';
import { ResponsesEditor } from './responses-stream.ts';
import { createStreamFilter, type StreamEditor } from './stream-filter.ts';

const KEYS = new Set(['content', 'delta', 'sequence_number']);
const of = (data: string): RepeatedEvent | null =>
  RepeatedEvent.of(data, { mayDiffer: (name) => KEYS.has(name), edit: null });

const CHAT =
  '{"id":"c","choices":[{"index":0,"delta":{"role": "assistant", "content" : "Hel"},"finish_reason":null}]}';

describe('an event is a repetition', () => {
  test.each([
    CHAT,
    CHAT.replace('Hel', ''),
    CHAT.replace('Hel', 'tool_calls, {"x": []}'.replaceAll('"', "'")),
    CHAT.replace('Hel', 'ÄÖ 🤖'),
    CHAT.replace('Hel', String.raw`\n\u0041\\`),
    CHAT.replace('Hel', String.raw`a\"`),
  ])('with another text: %s', (data) => {
    expect(of(CHAT)?.matches(data)).toBe(true);
  });

  test('with other texts and another number', () => {
    const event = (text: string, number: string): string =>
      `{"type":"response.output_text.delta","delta":"${text}","sequence_number":${number},"logprobs":[]}`;
    const known = of(event('a', '9'));
    expect(known?.matches(event('other', '10'))).toBe(true);
    for (const number of ['"10"', '-10', '1.5', '1e3', ''])
      expect(known?.matches(event('other', number))).toBe(false);
  });
});

describe('an event is not a repetition', () => {
  test.each([
    ['with another member', CHAT.replace('"Hel"', '"Hel","tool_calls":[]')],
    ['with a member that an escape hides', CHAT.replace('"Hel"', String.raw`"Hel","tool\u005fcalls":[]`)],
    ['with an escape at the end of its text', CHAT.replace('Hel', '\\')],
    ['with a member behind an escaped quote', CHAT.replace('Hel', String.raw`\\","tool_calls":[],"x":"`)],
    ['with a name in another spelling', CHAT.replace('content', String.raw`conten\u0074`)],
    ['with another kind of value', CHAT.replace('"Hel"', 'null')],
    ['with another value that matters', CHAT.replace('null', '"stop"')],
    ['with more after its end', `${CHAT} {}`],
    ['that is cut', CHAT.slice(0, -1)],
    ['that is cut in its text', CHAT.slice(0, CHAT.indexOf('Hel') + 2)],
    ['with the member twice', CHAT.replace('"Hel"', '"Hel","content":"x"')],
  ])('%s', (_what, data) => {
    expect(of(CHAT)?.matches(data)).toBe(false);
  });
});

test('an event with an escape in its text has repetitions, and one without the texts has none', () => {
  expect(of(CHAT.replace('Hel', String.raw`\n\"`))?.matches(CHAT)).toBe(true);
  expect(of(CHAT.replace('content', String.raw`conten\u0074`))).toBeNull();
  expect(of('{"id":"content","choices":["content"]}')).toBeNull();
});

test('only values under the keys may differ, not equal texts elsewhere', () => {
  const known = of('{"name":"content","content":"a"}');
  expect(known?.matches('{"name":"other","content":"a"}')).toBe(false);
  expect(known?.matches('{"name":"content","content":"b"}')).toBe(true);
});

/** Texts and events of which many repeat the one before them, and some only look as if they did. */
const anyText = fc.oneof(
  fc.constantFrom(
    'a',
    'word ',
    '',
    '"tool_calls":[]',
    'tool_calls',
    String.raw`\u0041`,
    '\n',
    '🤖',
    '","x":"',
  ),
  fc.string({ maxLength: 8 }),
);
const call = (name: string): object => ({
  index: 0,
  id: `call_${name}`,
  function: { name, arguments: '{}' },
});
const chat = (delta: object, more: object = {}): string =>
  JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: null }], ...more });
const EVENTS: Readonly<Record<'chat' | 'responses' | 'anthropic', fc.Arbitrary<string>>> = {
  chat: fc.oneof(
    { weight: 8, arbitrary: anyText.map((content) => chat({ content }, { usage: null })) },
    anyText.map((content) => chat({ content }, { obfuscation: content })),
    anyText.map((content) => chat({ content }).replace('"content"', String.raw`"conten\u0074"`)),
    fc.constantFrom('keep', 'drop').map((name) => chat({ content: 'a', tool_calls: [call(name)] })),
    fc
      .constantFrom('keep', 'drop')
      .map((name) =>
        chat({ content: 'a', tool_calls: [call(name)] }).replace('tool_', String.raw`tool\u005f`),
      ),
    fc.constantFrom(
      '[DONE]',
      '{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}',
      JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }),
      JSON.stringify({ choices: [{ index: 1, delta: { content: 'b' }, finish_reason: null }] }),
      `{"choices":[{"index":0,"delta":{"content":"raw \t tab"},"finish_reason":null}],"usage":null}`,
    ),
  ),
  responses: fc
    .oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          ...{ type: fc.constant('response.output_text.delta'), item_id: fc.constantFrom('m', 'f') },
          ...{ output_index: fc.constantFrom(0, 1), delta: anyText, sequence_number: fc.nat(20) },
        }),
      },
      fc.record({
        type: fc.constantFrom('response.output_item.added', 'response.output_item.done'),
        output_index: fc.constantFrom(0, 1),
        item: fc.constantFrom(
          { type: 'message', id: 'm' },
          { type: 'function_call', id: 'f', call_id: 'c', name: 'drop', arguments: '{}' },
          { type: 'function_call', id: 'g', call_id: 'd', name: 'keep', arguments: '{}' },
        ),
      }),
    )
    .map((event) => JSON.stringify(event)),
  anthropic: fc
    .oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          ...{ type: fc.constant('content_block_delta'), index: fc.constantFrom(0, 1) },
          delta: anyText.map((text) => ({ type: 'text_delta', text })),
        }),
      },
      fc.record({
        ...{ type: fc.constant('content_block_start'), index: fc.constantFrom(0, 1) },
        content_block: fc.constantFrom<object>(
          { type: 'text', text: '' },
          { type: 'tool_use', id: 't', name: 'drop', input: {} },
          { type: 'tool_use', id: 'u', name: 'keep', input: {} },
        ),
      }),
      fc.record({ type: fc.constant('content_block_stop'), index: fc.constantFrom(0, 1) }),
    )
    .map((event) => JSON.stringify(event)),
};

const judge: JudgeCall = ({ name }) => (name === 'drop' ? 'remove' : 'pass');
const editorOf = (wire: keyof typeof EVENTS, removeUsage: boolean): StreamEditor => {
  const options = { judge, message: 'M', removeUsage };
  if (wire === 'chat') return new ChatEditor(options);
  return wire === 'responses' ? new ResponsesEditor(options) : new AnthropicEditor(options);
};

test.each(['chat', 'responses', 'anthropic'] as const)(
  'a stream of %s in which repetitions are recognised gives the same frames and facts as one that is parsed',
  (wire) => {
    let recognised = 0;
    fc.assert(
      fc.property(
        fc.array(EVENTS[wire], { minLength: 10, maxLength: 40 }),
        fc.boolean(),
        (events, removeUsage) => {
          const text = events.map((data) => `data: ${data}\n\n`).join('');
          const [filter, parsing] = [editorOf(wire, removeUsage), editorOf(wire, removeUsage)].map(
            (editor, index) => {
              const read = editor.read.bind(editor);
              let reads = 0;
              const counting = (event: Json): ReturnType<StreamEditor['read']> => {
                reads += 1;
                return read(event);
              };
              Object.assign(editor, { read: counting, ...(index === 1 && { repetition: () => null }) });
              const made = createStreamFilter(editor);
              const splitter = createSseFrames();
              const frames = [...splitter.push(Buffer.from(text)), ...splitter.end()];
              const sent = [...frames.flatMap((frame) => made.push(frame)), ...made.end()];
              const body = Buffer.concat(sent.map(({ raw }) => raw)).toString();
              return { reads, result: { body, response: made.response, removed: made.removed } };
            },
          );
          recognised += (parsing?.reads ?? 0) - (filter?.reads ?? 0);
          expect(filter?.result).toEqual(parsing?.result);
        },
      ),
      { numRuns: runs(500) },
    );
    expect(recognised).toBeGreaterThan(100);
  },
);
