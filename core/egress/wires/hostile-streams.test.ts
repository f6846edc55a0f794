// Random responses and streams: cut, reordered, malformed, with every kind of judge.
import { describe, expect, test } from '@jest/globals';
import { diceOf, oneOf } from '../../../testing/random/dice.ts';
import { SEED } from '../../../testing/random/seed.ts';
import { VENDORS, type CallWire, type VendorResponse } from '../../../testing/sidecar/vendor-streams.ts';
import { isRecord, jsonOf } from '../../untrusted/fields.ts';
import type { CallDecision, Frame, Json, JudgeCall } from '../model-wire.ts';
import { createLineFrames, createSseFrames } from '../sse-frames.ts';
import { WIRE_OF } from './wire-of.ts';

const WIRES = Object.keys(VENDORS) as CallWire[];
/** Of all protocols together; a million with `SEED=`, as in `make soak`. */
const CASES = process.env['SEED'] === undefined ? 6_000 : 1_000_000;

const M = 'The policy removed a tool call.';
const TOOLS = ['search', 'delete_order', 'find', '__proto__', 'constructor'];
const WORDS = ['a', 'Wait. ', '“42” ', '😀', '\n\n', 'data: x\n\n', '{"usage":null}', '\\', '"', '[DONE]'];
/** Values that replace others. */
const VALUES: readonly unknown[] = [
  ...[
    null,
    0,
    -1,
    1.5,
    1e300,
    2 ** 40,
    true,
    '',
    'x',
    'delete_order',
    [],
    {},
    [null],
    [[]],
    { name: 'find' },
  ],
  ...[{ index: 0, function: { name: 'delete_order', arguments: '{}' } }],
];

type Dice = () => number;
const int = (dice: Dice, below: number): number => Math.floor(dice() * below);
const pick = <T>(dice: Dice, values: readonly T[]): T => values[int(dice, values.length)]!;
const words = (dice: Dice, most: number): string =>
  Array.from({ length: int(dice, most) }, () => pick(dice, WORDS)).join('');

function responseOf(dice: Dice): VendorResponse {
  const calls = Array.from({ length: int(dice, 5) }, () => ({
    name: pick(dice, TOOLS),
    input: JSON.stringify({ id: words(dice, 4), n: int(dice, 3) }),
  }));
  return { text: words(dice, 5), calls };
}

/** A copy with some members and entries replaced, removed or added. */
function mutated(dice: Dice, value: unknown, rate: number): unknown {
  if (dice() < rate) return pick(dice, VALUES);
  if (Array.isArray(value)) {
    const list = value.map((entry) => mutated(dice, entry, rate));
    if (dice() < rate) list.push(pick(dice, VALUES));
    if (dice() < rate && list.length > 0) list.push(pick(dice, list));
    return list;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(() => dice() >= rate);
  return Object.fromEntries(entries.map(([key, member]) => [key, mutated(dice, member, rate)]));
}

function mutatedEvent(dice: Dice, text: string): string {
  const data = /^(?:event: .*\n)?(?:data: )?(?<data>\{.*\})\n+$/.exec(text)?.groups?.['data'];
  if (data === undefined) return text;
  return text.replace(data, () => JSON.stringify(mutated(dice, jsonOf(data), 0.03)) ?? '');
}

/** Changes of a stream. */
const CHANGES: Readonly<Record<string, (dice: Dice, events: string[]) => string[]>> = {
  none: (_dice, events) => events,
  cut: (dice, events) => [events.join('').slice(0, int(dice, events.join('').length + 1))],
  twice: (dice, events) => events.flatMap((each) => (dice() < 0.2 ? [each, each] : [each])),
  lost: (dice, events) => events.filter(() => dice() >= 0.15),
  reordered: (dice, events) =>
    events
      .map((each) => [dice(), each] as const)
      .sort(([a], [b]) => a - b)
      .map(([, each]) => each),
  swapped: (dice, events) => {
    const at = int(dice, events.length);
    return [...events.slice(0, at), ...events.slice(at + 1, at + 2), events[at]!, ...events.slice(at + 2)];
  },
  values: (dice, events) => events.map((each) => (dice() < 0.5 ? mutatedEvent(dice, each) : each)),
  bytes: (dice, events) => {
    const text = events.join('');
    const at = int(dice, text.length);
    return [
      text.slice(0, at) +
        pick(dice, ['\n', '\r', '\0', '{', '"', ':', '\uFEFF', '']) +
        text.slice(at + int(dice, 3)),
    ];
  },
  lines: (_dice, events) => events.map((each) => each.replaceAll('\n', '\r\n')),
  returns: (_dice, events) => events.map((each) => each.replaceAll('\n', '\r')),
};
const KINDS = Object.fromEntries(Object.keys(CHANGES).map((name) => [name, 1]));

interface Judge {
  judge: JudgeCall;
  /** Names that never pass. */
  forbidden: ReadonlySet<string>;
  /** Whether a call was denied. */
  denied: { count: number };
}

function judgeOf(dice: Dice): Judge {
  const forbidden = new Set(dice() < 0.3 ? [] : TOOLS.filter(() => dice() < 0.4));
  const [holds, needsInput] = [dice() < 0.5, dice() < 0.3];
  const denied = { count: 0 };
  const decided = (name: string, input: string | null): CallDecision => {
    const isForbidden = [...forbidden].some((each) => name.includes(each));
    return isForbidden || (needsInput && input?.includes('"n":2') === true) ? 'remove' : 'pass';
  };
  const judge: JudgeCall = ({ name, arguments: input }) => {
    const decision = input === null && (holds || needsInput) ? 'hold' : decided(name, input);
    if (decision === 'remove') denied.count += 1;
    return decision;
  };
  return { judge, forbidden, denied };
}

/** The names of calls anywhere in the form of the protocol. */
const NAMES: Readonly<Record<CallWire, (event: Json) => unknown[]>> = {
  chat: ({ choices }) =>
    records(choices).flatMap((choice) =>
      [choice['delta'], choice['message']].flatMap((message) => [
        ...records(at(message, 'tool_calls')).map((call) => at(call, 'function', 'name')),
        at(message, 'function_call', 'name'),
      ]),
    ),
  responses: ({ item, response, output }) =>
    [item, ...records(at(response, 'output')), ...records(output)].flatMap((each) =>
      at(each, 'type') === 'function_call' ? [at(each, 'name')] : [],
    ),
  anthropic: ({ type, content_block: block, content }) =>
    [...(type === 'content_block_start' ? [block] : []), ...records(content)].flatMap((each) =>
      at(each, 'type') === 'tool_use' ? [at(each, 'name')] : [],
    ),
  gemini: ({ candidates }) =>
    records(candidates).flatMap((candidate) =>
      records(at(candidate, 'content', 'parts')).map((part) => at(part, 'functionCall', 'name')),
    ),
  cohere: ({ type, delta, message }) => [
    ...(type === 'tool-call-start' ? [at(delta, 'message', 'tool_calls', 'function', 'name')] : []),
    ...records(at(message, 'tool_calls')).map((call) => at(call, 'function', 'name')),
  ],
  ollama: ({ message }) => records(at(message, 'tool_calls')).map((call) => at(call, 'function', 'name')),
};

const records = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const at = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (isRecord(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
    value,
  );

function chunksOf(dice: Dice, bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = dice() < 0.5 ? bytes.length : start + 1 + int(dice, 200);
    chunks.push(bytes.subarray(start, end));
    start = end;
  }
  return chunks;
}

function streamCase(wire: CallWire, dice: Dice): void {
  const change = CHANGES[oneOf(dice, KINDS)]!;
  const events = change(dice, VENDORS[wire].stream(responseOf(dice)));
  const { judge, forbidden, denied } = judgeOf(dice);
  const filter = WIRE_OF[wire].createFilter({ judge, message: M, removeUsage: false });
  const splitter = wire === 'ollama' ? createLineFrames() : createSseFrames();
  const bytes = Buffer.from(events.join(''));
  const frames = [...chunksOf(dice, bytes).flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
  const sent = [...frames.flatMap((frame) => filter.push(frame)), ...filter.end()];
  if (denied.count === 0 && filter.removed.length === 0)
    expect(Buffer.concat(sent.map(({ raw }) => raw)).equals(bytes)).toBe(true);
  expect(forbiddenIn(wire, eventsOf(sent), forbidden)).toEqual([]);
}

function wholeCase(wire: CallWire, dice: Dice): void {
  const body = mutated(dice, VENDORS[wire].whole(responseOf(dice)), dice() < 0.5 ? 0 : 0.05);
  if (!isRecord(body)) return;
  const before = JSON.stringify(body);
  const { judge, forbidden, denied } = judgeOf(dice);
  const stripped = WIRE_OF[wire].strip(body, judge, M);
  expect(stripped === null).toBe(denied.count === 0);
  expect(JSON.stringify(body)).toBe(before);
  expect(forbiddenIn(wire, [stripped ?? body], forbidden)).toEqual([]);
  WIRE_OF[wire].readResponse(body);
}

const eventsOf = (frames: readonly Frame[]): Json[] =>
  frames.map(({ data }) => (data === null ? null : jsonOf(data))).filter(isRecord);

function forbiddenIn(wire: CallWire, events: readonly Json[], forbidden: ReadonlySet<string>): unknown[] {
  if (forbidden.size === 0) return [];
  return events.flatMap(NAMES[wire]).filter((name) => typeof name === 'string' && forbidden.has(name));
}

describe.each(WIRES)('hostile responses of %s', (wire) => {
  test('never throw, keep their bytes if nothing is denied, and lose every forbidden call', () => {
    const dice = diceOf(SEED * 31 + WIRES.indexOf(wire));
    for (let index = 0; index < CASES / WIRES.length; index += 1) {
      const before = index;
      try {
        if (dice() < 0.75) streamCase(wire, dice);
        else wholeCase(wire, dice);
      } catch (error) {
        throw new Error(`case ${before} of ${wire}, seed ${SEED}`, { cause: error });
      }
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});
