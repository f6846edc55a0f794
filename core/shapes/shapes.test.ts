import { describe, expect, test } from '@jest/globals';
import { INVALID } from '../untrusted/fields.ts';
import {
  flag,
  integer,
  isoTime,
  known,
  mapped,
  matching,
  named,
  nullable,
  number,
  oneOf,
  optional,
  parseWith,
  text,
  withDefault,
  type Field,
} from './field.ts';
import { amount, count, cutText, score } from './common.ts';
import { computed, either, list, object, partial, variants, type TypeOf } from './object.ts';
import { responseSchemas } from './response.ts';

const read = <T>(field: Field<T>, value: unknown): unknown => {
  const parsed = parseWith(field, value);
  return parsed.ok ? parsed.value : parsed.errors.map(({ path, message }) => `${path}: ${message}`);
};

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
    expect(read(isoTime('A time.'), value)).toEqual(expected);
  });
});

describe('numbers', () => {
  test.each<[string, Field<number>, unknown, unknown]>([
    ['accept a number in the range', number('A number.', { min: 0, max: 1 }), 0.5, 0.5],
    ['reject NaN', number('A number.', { min: 0, max: 1 }), Number.NaN, [': must be a number from 0 to 1']],
    ['reject a string', number('A number.', { min: 0, max: 1 }), '1', [': must be a number from 0 to 1']],
    ['accept an integer', integer('A number.', { min: 0 }), 3, 3],
    [
      'reject a fraction as integer',
      integer('A number.', { min: 0, max: 5 }),
      3.5,
      [': must be an integer from 0 to 5'],
    ],
    [
      'reject an unsafe integer',
      integer('A number.', { min: 0 }),
      2 ** 53,
      [': must be an integer of at least 0'],
    ],
  ])('%s', (_name, field, value, expected) => {
    expect(read(field, value)).toEqual(expected);
  });
});

describe('an object', () => {
  const size = integer('A size.', { min: 0 });
  const field = object('A thing.', {
    name: text('Its name.', { max: 5 }),
    sizes: withDefault(list('Its sizes.', size, { max: 2 }), [7]),
    note: optional(text('A note.', { max: 5 })),
  });
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

describe('values of newer senders', () => {
  const entry = object('An entry.', {
    kind: known('The kind.', ['a', 'b']),
    size: count('The size.'),
    first: computed(oneOf('The letter.', ['a']), ({ kind }: { kind: string }) =>
      kind === 'a' ? kind : INVALID,
    ),
  });
  test.each<[string, unknown, unknown]>([
    [
      'are dropped from a list',
      [
        { kind: 'c', size: 1 },
        { kind: 'a', size: 2 },
      ],
      [{ kind: 'a', size: 2, first: 'a' }],
    ],
    ['are dropped if a computed member is not known', [{ kind: 'b', size: 2 }], []],
    ['do not hide errors', [{ kind: 'c', size: -1 }], ['[0].size: must be an integer of at least 0']],
    ['must have the right type', [{ kind: 1, size: 1 }], ['[0].kind: must be a string']],
  ])('%s', (_name, value, expected) => {
    expect(read(list('Entries.', entry, { max: 5 }), value)).toEqual(expected);
  });
});

test('a mapped value is parsed by one field and described by another', () => {
  const rounded = mapped(number('Rounded.', { min: 0, max: 100 }), score('0 to 100.'), Math.round);
  expect(read(rounded, 84.6)).toBe(85);
  expect(rounded.schema).toEqual({ description: 'Rounded.', type: 'number', minimum: 0, maximum: 100 });
  expect(rounded.returns).toEqual({ description: '0 to 100.', type: 'integer', minimum: 0, maximum: 100 });
});

test('the type of an object follows from its members', () => {
  const shape = object('A thing.', {
    name: cutText('Its name.'),
    kind: nullable(oneOf('Its kind.', ['a', 'b'])),
    cost: optional(amount('Its cost.', 1e6)),
  });
  const all: TypeOf<typeof shape> = { name: 'x', kind: 'a', cost: 1 };
  const least: TypeOf<typeof shape> = { name: 'x', kind: null };
  expect([read(shape, all), read(shape, { name: 'x' })]).toEqual([all, least]);
  expect(read(object('A part.', partial(shape.members)), { kind: 'b' })).toEqual({ kind: 'b' });
});

test('a value of one of two kinds is parsed as the first kind that it is', () => {
  const field = either(
    'A size or a name.',
    object('A size.', { size: count('A size.') }),
    object('A name.', { name: cutText('A name.') }),
  );
  expect(
    [{ size: 1, name: 'a' }, { size: -1, name: 'a' }, { size: -1 }].map((value) => read(field, value)),
  ).toEqual([{ size: 1 }, { name: 'a' }, ['name: must be a string']]);
  expect(field.returns['anyOf']).toHaveLength(2);
});

describe('an object with variants', () => {
  const field = variants('An event.', {
    tool: { name: text('Its name.', { max: 5 }), isDone: optional(flag('Whether it is done.')) },
    empty: {},
  });
  test.each<[unknown, unknown]>([
    [
      { type: 'tool', name: 'a' },
      { type: 'tool', name: 'a' },
    ],
    [{ type: 'empty', name: 1 }, { type: 'empty' }],
    [{ type: 'other' }, ['[0].type: must be one of tool, empty']],
    [{ type: 'tool' }, ['[0].name: must be a string']],
    ['tool', ['[0]: must be an object']],
  ])('is read by its type: %j', (value, expected) => {
    const parsed = read(list('Events.', field, { max: 1 }), [value]);
    expect(parsed).toEqual(Array.isArray(expected) ? expected : [expected]);
  });

  test('has one schema per type', () => {
    expect(field.returns).toEqual({
      description: 'An event.',
      anyOf: [
        {
          title: 'tool',
          type: 'object',
          additionalProperties: false,
          required: ['type', 'name'],
          properties: {
            type: { description: 'Decides the other members.', type: 'string', const: 'tool' },
            name: { description: 'Its name.', type: 'string' },
            isDone: { description: 'Whether it is done.', type: 'boolean' },
          },
        },
        {
          title: 'empty',
          type: 'object',
          additionalProperties: false,
          required: ['type'],
          properties: { type: { description: 'Decides the other members.', type: 'string', const: 'empty' } },
        },
      ],
    });
  });
});

describe('the schemas of an object', () => {
  const part = named('Part', object('A part.', { id: text('Its id.', { max: 9 }) }));
  const field = object('A thing.', {
    name: text('Name.', { max: 5 }),
    note: text('Note.', { cut: 5 }),
    label: matching('Label.', { pattern: /^[a-z]+$/, wanted: 'small' }),
    kind: oneOf('Kind.', ['a', 'b']),
    newKind: known('New kind.', ['a', 'b']),
    size: nullable(integer('Size.', { min: 1 })),
    share: number('Share.', { min: 0, limit: 9 }),
    sizes: withDefault(list('Sizes.', integer('Size.', { min: 0, max: 9 }), { max: 2 }), [7]),
    parts: list('Parts.', part, { max: 3, cut: true }),
    first: nullable(part),
    at: optional(isoTime('At.')),
    isOn: optional(flag('On.')),
    grade: computed(oneOf('Grade.', ['A']), () => 'A' as const),
  });

  test('have the limits of the parser', () => {
    const id = { description: 'Its id.', type: 'string', minLength: 1, maxLength: 9, pattern: '\\S' };
    const parts = { description: 'A part.', required: ['id'], properties: { id } };
    expect(field.schema).toEqual({
      description: 'A thing.',
      type: 'object',
      required: ['name', 'note', 'label', 'kind', 'newKind', 'share', 'parts'],
      properties: {
        name: { description: 'Name.', type: 'string', minLength: 1, maxLength: 5, pattern: '\\S' },
        note: { description: 'Note.', type: 'string' },
        label: { description: 'Label.', type: 'string', pattern: '^[a-z]+$' },
        kind: { description: 'Kind.', type: 'string', enum: ['a', 'b'] },
        newKind: { description: 'New kind. One of a, b; others are dropped.', type: 'string' },
        size: {
          description: 'Size.',
          type: ['integer', 'null'],
          minimum: 1,
          maximum: Number.MAX_SAFE_INTEGER,
        },
        share: { description: 'Share.', type: 'number', minimum: 0, maximum: 9 },
        sizes: {
          description: 'Sizes.',
          type: ['array', 'null'],
          items: { description: 'Size.', type: 'integer', minimum: 0, maximum: 9 },
          maxItems: 2,
          default: [7],
        },
        parts: { description: 'Parts.', type: 'array', items: { ...parts, type: 'object' } },
        first: { ...parts, type: ['object', 'null'] },
        at: { description: 'At.', type: ['string', 'null'], format: 'date-time' },
        isOn: { description: 'On.', type: ['boolean', 'null'] },
      },
    });
  });

  test('describe what is returned, with references to named parts', () => {
    const ref = { $ref: '#/components/schemas/Part' };
    expect(responseSchemas([named('Thing', field), part])).toEqual({
      Thing: {
        description: 'A thing.',
        type: 'object',
        additionalProperties: false,
        required: [
          'name',
          'note',
          'label',
          'kind',
          'newKind',
          'size',
          'share',
          'sizes',
          'parts',
          'first',
          'grade',
        ],
        properties: {
          name: { description: 'Name.', type: 'string' },
          note: { description: 'Note.', type: 'string' },
          label: { description: 'Label.', type: 'string' },
          kind: { description: 'Kind.', type: 'string', enum: ['a', 'b'] },
          newKind: { description: 'New kind.', type: 'string', enum: ['a', 'b'] },
          size: { description: 'Size.', type: ['integer', 'null'], minimum: 1 },
          share: { description: 'Share.', type: 'number', minimum: 0 },
          sizes: {
            description: 'Sizes.',
            type: 'array',
            items: { description: 'Size.', type: 'integer', minimum: 0, maximum: 9 },
            maxItems: 2,
          },
          parts: { description: 'Parts.', type: 'array', items: ref, maxItems: 3 },
          first: { anyOf: [ref, { type: 'null' }] },
          at: { description: 'At.', type: 'string', format: 'date-time' },
          isOn: { description: 'On.', type: 'boolean' },
          grade: { description: 'Grade.', type: 'string', enum: ['A'] },
        },
      },
      Part: {
        description: 'A part.',
        type: 'object',
        additionalProperties: false,
        required: ['id'],
        properties: { id: { description: 'Its id.', type: 'string' } },
      },
    });
  });

  test('a component without a name is an error', () => {
    expect(() => responseSchemas([field])).toThrow('has no name');
  });
});
