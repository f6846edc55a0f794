import { describe, expect, test } from '@jest/globals';
import { diceOf } from '../../testing/random/dice.ts';
import {
  attribute,
  exportOf,
  jsonExport,
  protobufExport,
  spanFields,
  spanIdOf,
  TRACE_ID,
  wire,
  type TestSpan,
} from '../../testing/sidecar/otlp-export.ts';
import { SEED } from '../../testing/random/seed.ts';
import { decodeJson } from './decode-json.ts';
import { decodeProtobuf } from './decode-protobuf.ts';
import { EXPORT_LIMITS, MalformedExport } from './span.ts';

const WANTED = new Set(['text', 'int', 'negative', 'double', 'flag']);
const SPAN: TestSpan = {
  ...{ spanId: spanIdOf(2), parentSpanId: spanIdOf(1), name: 'chat “gpt”', startMs: 1_767_225_600_000 },
  ...{ endMs: 1_767_225_600_250, isError: true },
  attributes: { text: 'ÄÖ', int: 12_345_678_901, negative: -5, double: 0.5, flag: true, other: 'x' },
};
const READ = {
  ...{ traceId: TRACE_ID, spanId: spanIdOf(2), parentId: spanIdOf(1), name: 'chat “gpt”' },
  ...{ startMs: 1_767_225_600_000, endMs: 1_767_225_600_250, isError: true },
  attributes: new Map<string, unknown>([
    ...([
      ['text', 'ÄÖ'],
      ['int', 12_345_678_901],
      ['negative', -5],
    ] as const),
    ...([
      ['double', 0.5],
      ['flag', true],
    ] as const),
  ]),
};

const fromProtobuf = (body: Uint8Array) => decodeProtobuf(body, WANTED);
const fromJson = (body: unknown) =>
  decodeJson(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), WANTED);
/** A JSON export of one span with these members. */
const jsonSpan = (members: object) => ({
  resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: TRACE_ID, spanId: spanIdOf(1), ...members }] }] }],
});

describe('both forms', () => {
  test('contain the same span', () => {
    expect(fromProtobuf(protobufExport([SPAN]))).toEqual([READ]);
    expect(fromJson(jsonExport([SPAN]))).toEqual([READ]);
  });

  test('may be empty', () => {
    expect(fromProtobuf(Buffer.alloc(0))).toEqual([]);
    expect(fromJson('{}')).toEqual([]);
    expect(fromJson({ resourceSpans: null })).toEqual([]);
  });

  test('have no more spans than the limit', () => {
    const spans = Array.from({ length: EXPORT_LIMITS.spans + 1 }, (_, index) => ({
      spanId: spanIdOf(index + 1),
    }));
    expect(() => fromProtobuf(protobufExport(spans))).toThrow(/more than 10000 spans/);
    expect(() => fromJson(jsonExport(spans))).toThrow(/more than 10000 spans/);
    expect(fromProtobuf(protobufExport(spans.slice(1)))).toHaveLength(EXPORT_LIMITS.spans);
  });

  test('have no more attributes than the limit', () => {
    const names = Array.from({ length: EXPORT_LIMITS.attributes + 1 }, (_, index) => `key ${index}`);
    const attributes = Object.fromEntries(names.map((name) => [name, 1]));
    expect(() => fromProtobuf(protobufExport([{ ...SPAN, attributes }]))).toThrow(
      /more than 2000 attributes/,
    );
    expect(() => fromJson(jsonExport([{ ...SPAN, attributes }]))).toThrow(/more than 2000 attributes/);
  });

  test('are not nested deeper than the limit', () => {
    let value = wire.bytes(1, 'x');
    let json: object = { stringValue: 'x' };
    for (let depth = 0; depth < EXPORT_LIMITS.depth; depth += 1) {
      value = wire.message(5, wire.message(1, value));
      json = { arrayValue: { values: [json] } };
    }
    const deep = wire.message(9, wire.bytes(1, 'key'), wire.message(2, value));
    expect(() => fromProtobuf(exportOf([...spanFields(SPAN), deep]))).toThrow(/deeper than 64/);
    const attributes = [{ key: 'key', value: { arrayValue: { values: [json] } } }];
    expect(() => fromJson(jsonSpan({ attributes }))).toThrow(/deeper than 64/);
  });

  test('have no more messages, objects and members than the limits', () => {
    const messages = Buffer.concat(Array<Buffer>(EXPORT_LIMITS.messages).fill(wire.message(1)));
    expect(() => fromProtobuf(messages)).toThrow(/more than 250000 messages/);
    expect(fromProtobuf(messages.subarray(2))).toEqual([]);
    for (const [text, count] of [
      ['{},', EXPORT_LIMITS.messages],
      ['0,', EXPORT_LIMITS.commas + 1],
    ] as const)
      expect(() => fromJson(`[${text.repeat(count)}0]`)).toThrow(/too many objects/);
  });

  test('cut a long text', () => {
    const attributes = { text: 'ä'.repeat(2_000) };
    for (const [span] of [
      fromProtobuf(protobufExport([{ ...SPAN, attributes }])),
      fromJson(jsonExport([{ ...SPAN, attributes }])),
    ])
      expect(span?.attributes.get('text')).toBe('ä'.repeat(500));
  });
});

describe('protobuf is rejected', () => {
  const fields = spanFields(SPAN);
  const without = (index: number): Buffer[] => fields.toSpliced(index, 1);
  test.each<[string, Buffer, RegExp]>([
    ['if it is cut off', protobufExport([SPAN]).subarray(0, -1), /longer than its message/],
    ['if a varint is cut off', Buffer.from([0x80]), /cut off/],
    [
      'if a varint has 11 bytes',
      Buffer.from([0x08, ...Array<number>(10).fill(0xff), 0x01]),
      /more than 64 bits/,
    ],
    ['if a length exceeds its message', Buffer.from([0x0a, 0x7f]), /longer than its message/],
    ['if a length is negative', Buffer.from([0x0a, ...Array<number>(9).fill(0xff), 0x01]), /negative/],
    ['if a field has the number 0', Buffer.from([0x02, 0x00]), /number 0/],
    ['if a field number is too large', Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0]), /too large/],
    ['with a group', Buffer.from([0x0b, 0x0c]), /wire type 3/],
    ['with an unknown wire type', Buffer.from([0x0e]), /wire type 6/],
    ['with the wrong wire type of a message', wire.varint(1, 1), /resource_spans is not a length/],
    [
      'with the wrong wire type of a number',
      exportOf([...fields, wire.bytes(6, 'x')]),
      /kind is not a varint/,
    ],
    [
      'with the wrong wire type of a time',
      exportOf([...fields, wire.varint(7, 1)]),
      /start_time_unix_nano is not/,
    ],
    ['without a trace id', exportOf(without(0)), /no trace_id/],
    ['with a null trace id', exportOf([...without(0), wire.bytes(1, Buffer.alloc(16))]), /no trace_id/],
    ['with a short trace id', exportOf([...without(0), wire.bytes(1, 'short')]), /trace_id does not have 16/],
    ['without a span id', exportOf(without(1)), /no span_id/],
    [
      'with a long parent',
      exportOf([...fields, wire.bytes(4, Buffer.alloc(9, 1))]),
      /parent_span_id does not/,
    ],
    [
      'if the name is not UTF-8',
      exportOf([...fields, wire.bytes(5, Buffer.from([0xc3]))]),
      /name is not valid UTF-8/,
    ],
    [
      'if a key is not UTF-8',
      exportOf([...fields, wire.message(9, wire.bytes(1, Buffer.from([0xff])))]),
      /UTF-8/,
    ],
    [
      'if an event is not valid',
      exportOf([...fields, wire.message(11, wire.varint(1, 1))]),
      /time_unix_nano/,
    ],
    ['if a link is not valid', exportOf([...fields, wire.message(13, wire.varint(4, 1))]), /attributes/],
    ['with JSON', Buffer.from(jsonExport([SPAN])), /./],
  ])('%s', (_, body, reason) => {
    expect(() => fromProtobuf(body)).toThrow(MalformedExport);
    expect(() => fromProtobuf(body)).toThrow(reason);
  });

  test('never with another error, whatever bytes change', () => {
    const dice = diceOf(SEED);
    const valid = protobufExport([SPAN, { ...SPAN, spanId: spanIdOf(9) }]);
    let rejected = 0;
    for (let round = 0; round < 5_000; round += 1) {
      const body = Buffer.from(valid);
      for (let change = 0; change <= dice() * 4; change += 1)
        body[Math.floor(dice() * body.length)] = Math.floor(dice() * 256);
      const cut = dice() < 0.3 ? body.subarray(0, Math.floor(dice() * body.length)) : body;
      try {
        fromProtobuf(cut);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedExport);
        rejected += 1;
      }
    }
    expect(rejected).toBeGreaterThan(1_000);
  });
});

test('unknown fields of protobuf are skipped', () => {
  const unknown = [wire.varint(200, 1), wire.bytes(201, 'x'), wire.fixed64(202, 1n), attribute(203, 'a', 1)];
  expect(fromProtobuf(Buffer.concat([...unknown, exportOf([...unknown, ...spanFields(SPAN)])]))).toEqual([
    READ,
  ]);
});

describe('JSON is rejected', () => {
  test.each<[string, unknown, RegExp]>([
    ['if it is not JSON', '{', /not valid JSON/],
    ['if it is a list', [], /the request is not an object/],
    ['if a list is an object', { resourceSpans: {} }, /resourceSpans is not a list/],
    ['if an entry is a text', { resourceSpans: ['x'] }, /entry of resourceSpans is not an object/],
    [
      'with a trace id in base64',
      jsonSpan({ traceId: 'CvdlGRbNQ92ESOshHIAxnA==' }),
      /traceId does not have 32/,
    ],
    ['without a trace id', jsonSpan({ traceId: null }), /no traceId/],
    ['with a null span id', jsonSpan({ spanId: '0'.repeat(16) }), /no spanId/],
    ['with a number as a name', jsonSpan({ name: 5 }), /name is not a string/],
    ['with the name of an enum', jsonSpan({ kind: 'SPAN_KIND_SERVER' }), /kind is not an integer/],
    [
      'with a time that is not an integer',
      jsonSpan({ startTimeUnixNano: '1.5' }),
      /startTimeUnixNano is not a 64-bit/,
    ],
    ['with a negative time', jsonSpan({ startTimeUnixNano: '-1' }), /startTimeUnixNano is not a 64-bit/],
    [
      'with a time of 65 bits',
      jsonSpan({ endTimeUnixNano: String(2n ** 64n) }),
      /endTimeUnixNano is not a 64-bit/,
    ],
    ['with a text as a value', jsonSpan({ attributes: [{ key: 'a', value: 'x' }] }), /value of an attribute/],
    [
      'with a text as a flag',
      jsonSpan({ attributes: [{ key: 'a', value: { boolValue: 'x' } }] }),
      /boolValue/,
    ],
    ['with a fraction', jsonSpan({ attributes: [{ key: 'a', value: { intValue: 1.5 } }] }), /intValue/],
    [
      'with 64 bits and more',
      jsonSpan({ attributes: [{ key: 'a', value: { intValue: '9e9' } }] }),
      /intValue/,
    ],
    [
      'with a text as a double',
      jsonSpan({ attributes: [{ key: 'a', value: { doubleValue: 'x' } }] }),
      /doubleValue/,
    ],
    ['with a wrong event', jsonSpan({ events: [{ attributes: 'x' }] }), /attributes is not a list/],
  ])('%s', (_, body, reason) => {
    expect(() => fromJson(body)).toThrow(MalformedExport);
    expect(() => fromJson(body)).toThrow(reason);
  });

  test('if it is not UTF-8', () => {
    expect(() => decodeJson(Buffer.from([0x22, 0xff, 0x22]), WANTED)).toThrow(/not valid JSON in UTF-8/);
  });

  test('never with another error, whatever values change', () => {
    const dice = diceOf(SEED + 1);
    const other = (): unknown => {
      const values: unknown[] = [null, 0, -1, 1.5, '', 'x', true, [], {}, [null], '9'.repeat(30)];
      return values[Math.floor(dice() * values.length)];
    };
    let rejected = 0;
    for (let round = 0; round < 3_000; round += 1) {
      const body = JSON.stringify(JSON.parse(jsonExport([SPAN])), (_, value: unknown) =>
        dice() < 0.03 ? other() : value,
      );
      try {
        fromJson(body);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedExport);
        rejected += 1;
      }
    }
    expect(rejected).toBeGreaterThan(500);
  });
});

test('64-bit numbers of JSON may be numbers', () => {
  const [span] = fromJson(
    jsonSpan({ startTimeUnixNano: 5_000_000, attributes: [{ key: 'int', value: { intValue: 7 } }] }),
  );
  expect([span?.startMs, span?.attributes.get('int')]).toEqual([5, 7]);
});
