import { describe, expect, test } from '@jest/globals';
import { heldBytes } from '../../testing/held-bytes.ts';
import fc from '../../testing/properties.ts';
import {
  cut,
  flag,
  integer,
  isoTime,
  list,
  nullable,
  number,
  object,
  oneOf,
  parseWith,
  text,
  withDefault,
  type Field,
} from './fields.ts';

const read = <T>(field: Field<T>, value: unknown): unknown => {
  const parsed = parseWith(field, value);
  return parsed.ok ? parsed.value : parsed.errors.map(({ path, message }) => `${path}: ${message}`);
};

describe('text', () => {
  test.each<[string, number, string]>([
    ['short', 10, 'short'],
    ['exactly', 7, 'exactly'],
    ['too long', 3, 'too'],
    ['ab🎉', 3, 'ab'],
    ['ab🎉', 4, 'ab🎉'],
  ])('cuts %j at %i to %j', (value, max, expected) => {
    expect(cut(value, max)).toBe(expected);
  });

  test('cut does not keep the rest of the string in memory', () => {
    const heldBy = (keep: (long: string) => string): number =>
      heldBytes(() =>
        Array.from({ length: 30 }, (_, n) => keep(JSON.parse(`"${'x'.repeat(1e6)}${n}"`) as string)),
      );
    expect(heldBy((long) => long.slice(0, 200))).toBeGreaterThan(25e6);
    expect(heldBy((long) => cut(long, 200))).toBeLessThan(5e6);
  });

  test('cut never splits a character and never exceeds the limit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (value, max) => {
        const short = cut(value, max);
        expect(short.isWellFormed()).toBe(true);
        expect(short.length).toBeLessThanOrEqual(max);
        expect(value.startsWith(short)).toBe(true);
      }),
    );
  });
});

describe('isoTime', () => {
  test.each<[unknown, unknown]>([
    ['2026-03-01T12:00:00Z', '2026-03-01T12:00:00.000Z'],
    ['2026-03-01T12:00Z', '2026-03-01T12:00:00.000Z'],
    ['2026-03-01T12:00:00.123456+02:00', '2026-03-01T10:00:00.123Z'],
    ['2026-03-01T12:00:00', [': must be an ISO 8601 time with a time zone']],
    ['2026-03-01', [': must be an ISO 8601 time with a time zone']],
    ['2026-13-01T12:00:00Z', [': must be an ISO 8601 time with a time zone']],
    ['2028-02-29T12:00:00Z', '2028-02-29T12:00:00.000Z'],
    ['2026-02-29T12:00:00Z', [': must be a valid calendar date']],
    ['2026-02-30T12:00:00+02:00', [': must be a valid calendar date']],
    ['2026-04-31T12:00:00Z', [': must be a valid calendar date']],
    ['2026-02-32T12:00:00Z', [': must be an ISO 8601 time with a time zone']],
    ['2026-03-01T12:60:00Z', [': must be an ISO 8601 time with a time zone']],
    ['9999-12-31T23:59:59-12:00', [': must be an ISO 8601 time with a time zone']],
    ['0000-01-01T00:00:00+14:00', [': must be an ISO 8601 time with a time zone']],
    [1772366400000, [': must be an ISO 8601 time with a time zone']],
  ])('parses or rejects %j', (value, expected) => {
    expect(read(isoTime, value)).toEqual(expected);
  });
});

describe('numbers', () => {
  test.each<[string, Field<number>, unknown, unknown]>([
    ['accept a number in the range', number({ min: 0, max: 1 }), 0.5, 0.5],
    ['reject NaN', number({ min: 0, max: 1 }), Number.NaN, [': must be a number from 0 to 1']],
    ['reject a string', number({ min: 0, max: 1 }), '1', [': must be a number from 0 to 1']],
    ['accept an integer', integer({ min: 0 }), 3, 3],
    ['reject a fraction as integer', integer({ min: 0, max: 5 }), 3.5, [': must be an integer from 0 to 5']],
    ['reject an unsafe integer', integer({ min: 0 }), 2 ** 53, [': must be an integer of at least 0']],
  ])('%s', (_name, field, value, expected) => {
    expect(read(field, value)).toEqual(expected);
  });
});

describe('an object', () => {
  const field = object<{ name: string; sizes: number[] }, { note: string }>(
    { name: text({ max: 5 }), sizes: withDefault(list(integer({ min: 0 }), { max: 2 }), [7]) },
    { note: text({ max: 5 }) },
  );
  test.each<[string, unknown, unknown]>([
    ['is returned with defaults', { name: 'a', more: 1 }, { name: 'a', sizes: [7] }],
    [
      'treats null as absent for members that may be absent',
      { name: 'a', sizes: null, note: null },
      { name: 'a', sizes: [7] },
    ],
    [
      'is rejected with the path of each error',
      { sizes: [1, -1], note: '' },
      ['name: must be a string', 'sizes[1]: must be an integer of at least 0', 'note: must not be empty'],
    ],
    [
      'is rejected if a list is too long',
      { name: 'a', sizes: [1, 2, 3] },
      ['sizes: must have at most 2 entries'],
    ],
    ['ignores members of its prototype', Object.create({ name: 'a' }), ['name: must be a string']],
  ])('%s', (_name, value, expected) => {
    expect(read(field, value)).toEqual(expected);
  });
});

describe('the schema of a field', () => {
  test('has the limits of the parser', () => {
    const field = object(
      {
        name: text({ max: 5 }),
        note: text({ max: 5, cut: true }),
        kind: oneOf(['a', 'b']),
        size: nullable(integer({ min: 1 })),
        share: number({ min: 0, max: 1 }),
        sizes: withDefault(list(integer({ min: 0, max: 9 }), { max: 2 }), [7]),
      },
      { at: isoTime, on: flag },
    );
    expect(field.schema).toEqual({
      type: 'object',
      required: ['name', 'note', 'kind', 'share'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 5, pattern: '\\S' },
        note: { type: 'string' },
        kind: { type: 'string', enum: ['a', 'b'] },
        size: { type: ['integer', 'null'], minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
        share: { type: 'number', minimum: 0, maximum: 1 },
        sizes: {
          type: ['array', 'null'],
          items: { type: 'integer', minimum: 0, maximum: 9 },
          maxItems: 2,
          default: [7],
        },
        at: { type: ['string', 'null'], format: 'date-time' },
        on: { type: ['boolean', 'null'] },
      },
    });
  });
});
