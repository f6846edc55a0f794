// The filter must not change any result: every response is read twice, with the filter and with every text parsed.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { SEED } from '../../testing/random/seed.ts';
import { createUsageReader } from './create-usage-reader.ts';
import { canCarryUsage, ParseFilter } from './parse-filter.ts';
import type { ParsedUsage } from './usage.ts';
import { findUsage, MARKS } from './usage-in-json.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const DIRECTORY = join(import.meta.dirname, 'samples');
const SAMPLES = readdirSync(DIRECTORY).map((file): [string, string] => [
  file,
  readFileSync(join(DIRECTORY, file), 'utf8'),
]);

const TYPES: readonly (string | undefined)[] = [
  'application/json',
  'text/event-stream',
  'application/x-ndjson',
  undefined,
];
const PATHS = ['/v1/chat', '/v1/chat/completions', '/other'] as const;

interface Form {
  contentType: string | undefined;
  path: string;
  /** Bytes of a chunk. */
  step: number;
}

function read(body: Uint8Array, { contentType, path, step }: Form) {
  const declared = { chatPath: '/v1/chat', isMcp: false };
  const head = { statusCode: 200, method: 'POST', path, contentType, declared };
  const reader = createUsageReader(head, () => null);
  for (let at = 0; at < body.length; at += step) reader.write(body.subarray(at, at + step));
  return reader.end();
}

function both(text: string, form: Form): [filtered: ParsedUsage | null, complete: ParsedUsage | null] {
  const body = new TextEncoder().encode(text);
  const filtered = read(body, form);
  const mustParse = jest.spyOn(ParseFilter.prototype, 'mustParse').mockReturnValue(true);
  const complete = read(body, form);
  mustParse.mockRestore();
  return [filtered, complete];
}

function expectSame(text: string, form: Form): void {
  const [filtered, complete] = both(text, form);
  // Jest's comparison is slow, and there are thousands.
  if (JSON.stringify(filtered) !== JSON.stringify(complete))
    expect({ text, form, usage: filtered }).toEqual({ text, form, usage: complete });
}

/** Texts of a JSON document or stream, each a quoted string. */
const STRING = /"(?:[^"\\\n]|\\.)*"/g;
const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

const MUTATIONS: Readonly<Record<string, (text: string, dice: () => number) => string>> = {
  cut: (text, dice) => text.slice(0, Math.floor(dice() * text.length)),
  'without its start': (text, dice) => text.slice(Math.floor(dice() * text.length)),
  'with a byte order mark': (text) => `\uFEFF${text}`,
  'with escaped characters': (text, dice) =>
    text.replaceAll(STRING, (string) =>
      dice() < 0.5
        ? string
        : string.replaceAll(/(?<!\\)[a-z_.]/gi, (each) =>
            dice() < 0.2
              ? escapeOf(each)
              : dice() < 0.1
                ? escapeOf(each).toUpperCase().replace('U', 'u')
                : each,
          ),
    ),
  'with blanks': (text, dice) =>
    text.replaceAll(/(?<=")([:,])(?=[{["\d])/g, (each) => (dice() < 0.5 ? ` ${each}\t` : each)),
  'with events in another order': (text, dice) =>
    text
      .split('\n\n')
      .map((event) => ({ event, place: dice() }))
      .sort((a, b) => a.place - b.place)
      .map(({ event }) => event)
      .join('\n\n'),
  'with repeated and missing events': (text, dice) =>
    text
      .split('\n\n')
      .flatMap((event) => (dice() < 0.3 ? [event, event] : dice() < 0.2 ? [] : [event]))
      .join('\n\n'),
  'with other strings': (text, dice) =>
    text.replaceAll(STRING, (string) =>
      dice() < 0.03 ? ['"x"', '""', '"a\\"b\\\\"', '"é\\n"'][Math.floor(dice() * 4)]! : string,
    ),
  'without some characters': (text, dice) => [...text].filter(() => dice() > 0.003).join(''),
  'with events of another response': (text, dice) => {
    const others = SAMPLES[Math.floor(dice() * SAMPLES.length)]![1].split('\n\n');
    return text
      .split('\n\n')
      .flatMap((event) => (dice() < 0.5 ? [event] : [event, others[Math.floor(dice() * others.length)]!]))
      .join('\n\n');
  },
};

const COUNTS = { prompt_tokens: 3, completion_tokens: 5 };

/** Objects with a found call, each by one mark only. */
const SHAPES: readonly object[] = [
  ...['usage', 'usage_metadata', 'usageMetadata', 'token_usage', 'tokenUsage', 'totalUsage'].map(holding),
  ...['total_usage', 'usage_metrics', 'models_usage', 'tokens', 'accumulated_usage'].map(holding),
  ...['usageDetails', 'usage_details', 'Usage', 'billed_units'].map(holding),
  { x_groq: holding('usage') },
  ...['modelUsage', 'model_usage'].map((name) => ({ [name]: { 'gpt-5': COUNTS } })),
  ...['eval_count', 'prompt_eval_count', 'tokens_predicted'].map((name) => ({ [name]: 5 })),
  ...['chat.completion', 'chat.completion.chunk', 'text_completion', 'response'].map((object) => ({
    object,
  })),
  { choices: [{ message: 'a', finish_reason: 'stop' }] },
  { choices: [], model: 'gpt-5' },
  { type: 'message', role: 'assistant', stop_reason: null },
  { type: 'AIMessageChunk', response_metadata: {} },
  { modelVersion: 'gemini-3', candidates: [] },
  { model: 'm', created_at: '2026', response: 'a', done: false },
  { jsonrpc: '2.0', result: { content: [] } },
  { type: 'response.completed', response: {} },
  { type: 'message_start', message: {} },
];

function holding(name: string): object {
  return { [name]: COUNTS };
}

describe('a mark is in the text of', () => {
  test.each(SHAPES.map((shape) => JSON.stringify(shape)))('%s', (text) => {
    expect(findUsage(JSON.parse(text))).toHaveLength(1);
    expect(canCarryUsage(text)).toBe(true);
    // With all its names escaped.
    expect(canCarryUsage(text.replaceAll(/[a-z_]/gi, escapeOf))).toBe(true);
  });
});

describe('the usage is the same as without the filter', () => {
  test.each(SAMPLES)('in %s', (_file, text) => {
    for (const contentType of TYPES)
      for (const path of PATHS) expectSame(text, { contentType, path, step: 7 });
  });

  test.each(Object.keys(MUTATIONS))('in every sample %s', (name) => {
    const dice = diceOf(SEED);
    for (const [file, text] of SAMPLES)
      for (let round = 0; round < 3; round++) {
        const [ending] = file.split('.').slice(-1);
        const contentType = { json: TYPES[0], sse: TYPES[1] }[ending ?? ''] ?? TYPES[Math.floor(dice() * 4)];
        const path = PATHS[Math.floor(dice() * PATHS.length)]!;
        expectSame(MUTATIONS[name]!(text, dice), { contentType, path, step: 1 + Math.floor(dice() * 500) });
      }
  });

  test('in a stream that is cut after every fifth byte', () => {
    for (const [file, text] of SAMPLES)
      if (text.length < 2000 && file.endsWith('.sse'))
        for (let end = 0; end < text.length; end += 5)
          expectSame(text.slice(0, end), { contentType: TYPES[1], path: PATHS[2], step: 1000 });
  });

  const NAMES = [
    ...MARKS,
    ...['id', 'model', 'type', 'role', 'object', 'status', 'event', 'run_id', 'content', 'text', 'message'],
    ...['delta', 'finish_reason', 'result', 'input', 'prompt_tokens', 'output_tokens', 'metadata', 'a"\\'],
  ];
  const TEXTS = [
    ...['a', 'b', '', 'call-1', 'run-2', 'gpt-5', 'response', 'chat.completion.chunk', 'chat.completion'],
    ...['message', 'assistant', 'ai', 'AIMessageChunk', 'message_start', 'message_delta', 'finish-step'],
    ...['response.completed', 'in_progress', 'stop', 'on_llm_end', '"', '\\', '\\"', 'ü\n"usage"'],
  ];
  const text = fc.constantFrom(...TEXTS);
  const about = fc.dictionary(fc.constantFrom('id', 'model', 'status', 'run_id', 'content', 'object'), text);
  const shape = fc
    .tuple(fc.constantFrom(...SHAPES), about, about)
    .map(([first, before, after]) => ({ ...before, ...first, ...after }));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      text,
      fc.constantFrom(0, 3, 5, null, true),
      shape,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 5 }),
    ),
  }));

  /** A copy in which single texts differ. */
  const varied = (json: unknown, dice: () => number): unknown => {
    if (typeof json === 'string') return dice() < 0.3 ? TEXTS[Math.floor(dice() * TEXTS.length)] : json;
    if (Array.isArray(json)) return json.map((each) => varied(each, dice));
    if (typeof json !== 'object' || json === null) return json;
    return Object.fromEntries(Object.entries(json).map(([name, each]) => [name, varied(each, dice)]));
  };

  test('in a stream of any values, with repetitions that differ in texts', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 6 }), fc.nat(), fc.boolean(), (values, seed, isSse) => {
        const dice = diceOf(seed);
        const events = values.flatMap((each) => [each, varied(each, dice), varied(each, dice)]);
        const lines = events.map((each) => JSON.stringify(each, null, dice() < 0.2 && isSse ? ' ' : ''));
        const form = { path: PATHS[1], step: 1000 };
        if (isSse) {
          const stream = lines.map((line) => `data: ${line.replaceAll('\n', '\ndata: ')}\n\n`).join('');
          expectSame(stream, { ...form, contentType: TYPES[1] });
        } else {
          const coded = lines.map((line) => (dice() < 0.3 ? `e:${line}` : line));
          expectSame(coded.join('\n'), { ...form, contentType: TYPES[2] });
        }
      }),
      { numRuns: runs(1500) },
    );
  });

  test('because a value with a found call always has a mark', () => {
    fc.assert(
      fc.property(value, (json) => {
        if (findUsage(json).length > 0) expect(canCarryUsage(JSON.stringify(json))).toBe(true);
      }),
      { numRuns: runs(1500) },
    );
  });
});

describe('an event is parsed although it differs from the last one only in its', () => {
  const usage = { usage: COUNTS };
  const RUN = { event: 'on_llm_stream', id: 'a', object: 'response' };
  test.each<[string, object[]]>([
    [
      'id',
      [
        { id: 'a', object: 'response' },
        { id: 'b', object: 'response' },
      ],
    ],
    [
      'model',
      [
        { id: 'a', model: '', object: 'response' },
        { id: 'a', model: 'gpt-5', object: 'response' },
        { id: 'a', ...usage },
      ],
    ],
    [
      'status',
      [
        { id: 'a', object: 'response', status: 'in_progress' },
        { id: 'a', object: 'response', status: 'completed' },
        { id: 'b', ...usage },
      ],
    ],
    [
      'object',
      [
        { object: 'response.x', choices: null },
        { object: 'response', choices: null },
      ],
    ],
    [
      'run id',
      [
        { ...RUN, run_id: 'r' },
        { ...RUN, run_id: 's' },
        { ...RUN, run_id: 's', id: 'b', ...usage },
      ],
    ],
    [
      'event',
      [
        { ...RUN, event: 'on_x', run_id: 's' },
        { ...RUN, event: 'on_llm_end', run_id: 's' },
        { ...RUN, run_id: 's', id: 'b', ...usage },
      ],
    ],
    ['role', ['user', 'assistant'].map((role) => ({ type: 'message', role, stop_reason: null }))],
    ['type', ['event', 'message'].map((type) => ({ type, role: 'assistant', stop_reason: null }))],
  ])('%s', (_title, events) => {
    const form = { contentType: TYPES[2], path: PATHS[1], step: 1000 };
    const lines = events.map((event) => JSON.stringify(event));
    expectSame(lines.join('\n'), form);
    // The second event makes a difference.
    const without = lines.filter((_line, index) => index !== 1).join('\n');
    expect(both(lines.join('\n'), form)[0]).not.toEqual(both(without, form)[0]);
  });
});

describe('the filter skips', () => {
  const parsedOf = (contentType: string, body: string): string[] => {
    const { mock } = jest.spyOn(ParseFilter.prototype, 'mustParse');
    read(new TextEncoder().encode(body), { contentType, path: '/other', step: 1000 });
    return mock.calls.flatMap(([text], call) => (mock.results[call]?.value === true ? [text] : []));
  };
  const chunk = (delta: object, more: object = {}): string =>
    `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', choices: [{ delta }], ...more })}\n\n`;

  test('a JSON document that cannot be a model response', () => {
    expect(parsedOf('application/json', '{"order":"A-1042","status":"shipped"}')).toEqual([]);
    expect(parsedOf('application/json', '{"\\u0075sage":{"total_tokens":3}}')).toHaveLength(1);
  });

  test('the pieces of a chat completion after the first one', () => {
    const words = ['a', 'b "quoted\\"', '', 'ünd', 'c\n'].map((content) => chunk({ content }));
    const usage = { usage: { prompt_tokens: 3, completion_tokens: 5 } };
    const parsed = parsedOf('text/event-stream', [...words, chunk({}, usage), 'data: [DONE]\n\n'].join(''));
    expect(parsed.map((each) => `data: ${each}\n\n`)).toEqual([words[0], chunk({}, usage)]);
  });

  test('the pieces of other streams', () => {
    const piece = (text: string): string =>
      `data: ${JSON.stringify({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}\n\n`;
    expect(parsedOf('text/event-stream', piece('a') + piece('b'))).toEqual([]);
  });
});
