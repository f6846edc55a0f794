import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { isRecord, jsonOf } from '../../untrusted/fields.ts';
import {
  event,
  VENDORS,
  type CallWire,
  type VendorResponse,
} from '../../../testing/sidecar/vendor-streams.ts';
import type { FilterOptions, Frame, Json, JudgeCall, StreamFilter, WireName } from '../model-wire.ts';
import { createLineFrames, createSseFrames } from '../sse-frames.ts';
import { MAX_ARGUMENTS, MAX_CALLS } from './judged-calls.ts';
import { WIRE_OF } from './wire-of.ts';

const WIRES = Object.keys(VENDORS) as CallWire[];
const M = 'The policy removed a tool call.';
const SAMPLES = join(import.meta.dirname, '../../usage/samples');

interface Filtered {
  text: string;
  /** Parsed when read: most streams are only compared as text. */
  readonly events: Json[];
  filter: StreamFilter;
}

/** Sends a stream through the filter of a wire, in chunks that end at `cuts`. */
function filtered(
  wire: WireName,
  stream: string,
  options: Partial<FilterOptions> = {},
  cuts: readonly number[] = [],
): Filtered {
  const filter = WIRE_OF[wire].createFilter({
    judge: () => 'pass',
    message: M,
    removeUsage: false,
    ...options,
  });
  const splitter = wire === 'ollama' ? createLineFrames() : createSseFrames();
  const bytes = Buffer.from(stream);
  const ends = [...cuts, bytes.length];
  const chunks = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
  const frames = [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
  const sent = [...frames.flatMap((frame) => filter.push(frame)), ...filter.end()];
  return {
    text: textOf(sent),
    get events() {
      return eventsOf(sent);
    },
    filter,
  };
}

const textOf = (frames: readonly Frame[]): string => Buffer.concat(frames.map(({ raw }) => raw)).toString();
const eventsOf = (frames: readonly Frame[]): Json[] =>
  frames.map(({ data }) => (data === null ? null : jsonOf(data))).filter(isRecord);

const removing =
  (...names: string[]): JudgeCall =>
  ({ name }) =>
    names.includes(name) ? 'remove' : 'pass';

/** Decides with the arguments. */
const holding =
  (isAllowed: (input: string) => boolean): JudgeCall =>
  ({ arguments: input }) =>
    input === null ? 'hold' : isAllowed(input) ? 'pass' : 'remove';

const call = (name: string, input = '{"id":"1234567890"}'): VendorResponse['calls'][number] => ({
  name,
  input,
});
const TWO: VendorResponse = { text: '', calls: [call('delete_order'), call('search')] };
const THREE: VendorResponse = { text: 'Wait.', calls: [call('search'), call('delete_order'), call('find')] };

const SAMPLE_FILES: readonly [WireName, string][] = [
  ['chat', 'openai-chat-stream.sse'],
  ['chat', 'openai-chat-stream-without-usage.sse'],
  ['responses', 'openai-responses-stream.sse'],
  ['anthropic', 'anthropic-messages-stream.sse'],
];

describe('a recorded stream', () => {
  test.each(SAMPLE_FILES)('of %s passes with its bytes: %s', (wire, file) => {
    const stream = readFileSync(join(SAMPLES, file), 'utf8');
    expect(filtered(wire, stream).text).toBe(stream);
    const { response } = filtered(wire, stream, { judge: removing('multiply') }).filter;
    expect(response).toMatchObject({ toolCalls: [], isComplete: true });
    const usage = file.includes('without')
      ? null
      : { promptTokens: 31, cachedTokens: 16, completionTokens: 5 };
    if (usage === null) expect(response.usage).toBeNull();
    else expect(response.usage).toMatchObject(usage);
  });
});

describe.each(WIRES)('a stream of %s', (wire) => {
  const { stream, receive } = VENDORS[wire];

  test('has its facts', () => {
    const { filter } = filtered(wire, stream(THREE).join(''));
    const usage = {
      ...{ promptTokens: 31, completionTokens: 5 },
      cachedTokens: ['cohere', 'ollama'].includes(wire) ? 0 : 16,
      cacheWriteTokens: wire === 'anthropic' ? 4 : 0,
      reasoningTokens: ['chat', 'responses', 'gemini'].includes(wire) ? 2 : 0,
    };
    expect(filter.response).toMatchObject({
      model: wire === 'cohere' ? null : 'model-1',
      toolCalls: THREE.calls.map(({ name, input }) => ({ name, arguments: input })),
      usage,
      isComplete: true,
    });
  });

  test('is not complete when it is cut', () => {
    const events = stream(THREE);
    const cut = events.slice(0, Math.floor(events.length / 2)).join('');
    expect(filtered(wire, cut).filter.response.isComplete).toBe(false);
  });

  test.each([
    ['passes', removing('other')],
    ['is held until each call ends', holding(() => true)],
  ])('keeps its bytes at any cut when nothing is removed and it %s', (_name, judge) => {
    const text = stream(THREE).join('');
    // Every cut is a test of the frames. A prime number meets every place in lines of the same length.
    for (let cut = 0; cut <= text.length; cut += 13)
      expect(filtered(wire, text, { judge }, [cut]).text).toBe(text);
  });

  test.each([
    ['by name', removing('delete_order')],
    [
      'by arguments',
      ((found) => (found.name === 'delete_order' ? holding(() => false)(found) : 'pass')) satisfies JudgeCall,
    ],
    ['with arguments of the other calls', holding((input) => input.includes('12345'))],
  ])('loses one of several calls %s', (name, judge) => {
    const isByInput = name.startsWith('with');
    const forbidden = call('delete_order', isByInput ? '{"id":"999"}' : undefined);
    for (const response of [TWO, THREE]) {
      const calls = response.calls.map((each) => (each.name === 'delete_order' ? forbidden : each));
      const { events, text, filter } = filtered(wire, stream({ ...response, calls }).join(''), { judge });
      const left = calls.filter((each) => each !== forbidden);
      expect(receive(events)).toMatchObject({ calls: left, text: response.text });
      expect(receive(events).reason).toBe(receive(eventsIn(wire, stream({ ...response, calls }))).reason);
      expect(text).not.toMatch(/delete_order/);
      const { positions } = receive(events);
      expect(positions).toEqual(positions.map((_, index) => index));
      expect(filter.removed.map((each) => each.name)).toEqual(['delete_order']);
    }
  });

  test.each([
    ['by name', removing('delete_order', 'search', 'find')],
    ['by arguments', holding(() => false)],
  ])('has the message instead of its calls if all are removed %s', (_name, judge) => {
    for (const response of [TWO, THREE]) {
      const { events, text } = filtered(wire, stream(response).join(''), { judge });
      const received = receive(events);
      expect(received.calls).toEqual([]);
      expect(received.text.replace(/\s/g, '')).toBe((response.text + M).replace(/\s/g, ''));
      const plain = receive(eventsIn(wire, stream({ text: response.text || 'text', calls: [] })));
      expect(received.reason).toBe(plain.reason);
      expect(received.positions).toEqual(received.positions.map((_, index) => index));
      expect(text).not.toMatch(/delete_order|"search"/);
    }
  });

  test('is not delayed: each event is sent when it arrives', () => {
    const filter = WIRE_OF[wire].createFilter({ judge: () => 'pass', message: M, removeUsage: false });
    const splitter = wire === 'ollama' ? createLineFrames() : createSseFrames();
    for (const frame of stream(THREE).flatMap((each) => splitter.push(Buffer.from(each))))
      expect(filter.push(frame)).toEqual([frame]);
  });

  test('passes what is not an event of the vendor', () => {
    const lines = [
      '{}',
      '[]',
      '1',
      'null',
      '{"type":5,"choices":{}}',
      '{"candidates":[1]}',
      '{"message":[]}',
    ];
    const text = lines.map((data) => (wire === 'ollama' ? `${data}\n` : event(data))).join('');
    expect(filtered(wire, text, { judge: () => 'remove' }).text).toBe(text);
  });

  test('counts at most a number of calls, and removes the others', () => {
    const calls = Array.from({ length: MAX_CALLS + 5 }, (_, index) => call(`tool_${index}`, '{}'));
    const { events, filter } = filtered(wire, stream({ text: '', calls }).join(''));
    expect(filter.response.toolCalls).toHaveLength(MAX_CALLS);
    const isWhole = wire === 'gemini' || wire === 'ollama';
    expect(receive(events).calls).toHaveLength(isWhole ? MAX_CALLS + 5 : MAX_CALLS);
  });
});

const eventsIn = (wire: WireName, frames: readonly string[]): Json[] =>
  filtered(wire, frames.join('')).events;

describe.each(['chat', 'responses', 'anthropic', 'cohere'] as const)('a held call of %s', (wire) => {
  const { stream, receive } = VENDORS[wire];

  test('above the limit of arguments is removed', () => {
    const events = stream({ text: '', calls: [call('search'), call('write', '{"a":1}')] });
    const long = `{\\"a\\":1${' '.repeat(MAX_ARGUMENTS)}`;
    const text = events.join('').replaceAll('{\\"a\\":1', long);
    expect(text.length).toBeGreaterThan(MAX_ARGUMENTS);
    const received = receive(filtered(wire, text, { judge: holding(() => true) }).events);
    expect(received.calls.map(({ name }) => name)).toEqual(['search']);
  });

  test('is sent at the end of the stream if the stream is cut', () => {
    const events = stream(TWO);
    const end = events.findIndex((each) => each.includes('search')) - 1;
    const cut = events.slice(0, end).join('');
    expect(filtered(wire, cut, { judge: holding(() => true) }).text).toBe(cut);
  });
});
