import { describe, expect, test } from '@jest/globals';
import type { JsonSchema } from '../untrusted/json-schema.ts';
import { bigCount, sequence, utcDay } from './common.ts';
import { flag, inCrd, named, nullable, oneOf, optional, text, withDefault, type Field } from './field.ts';
import { list, object, variants } from './object.ts';
import { structural } from './structural.ts';

const part = named('Part', object('A part.', { id: text('Its id.', { max: 9 }) }));

describe('structural', () => {
  test('inlines named parts, and has the keywords of the field', () => {
    const field = object('A thing.', {
      state: inCrd(oneOf('State.', ['on', 'off']), { default: 'on' }),
      isOld: optional(oneOf('Old.', [true])),
      note: withDefault(text('Note.', { cut: 5 }), ''),
      tokens: optional(bigCount('Tokens.')),
      seq: optional(sequence('Number.')),
      day: optional(utcDay('Day.')),
      parts: list('Parts.', part, { max: 3, key: 'id' }),
      names: optional(list('Names.', text('A name.'), { max: 2, cut: true })),
    });
    const ruled = inCrd(inCrd(field, { default: { state: 'on' } }), { 'x-kubernetes-validations': [] });
    expect(structural(ruled.returns)).toEqual({
      description: 'A thing.',
      type: 'object',
      default: { state: 'on' },
      required: ['state', 'note', 'parts'],
      'x-kubernetes-validations': [],
      properties: {
        state: { description: 'State.', type: 'string', default: 'on', enum: ['on', 'off'] },
        isOld: { description: 'Old.', type: 'boolean', enum: [true] },
        note: { description: 'Note.', type: 'string' },
        tokens: { description: 'Tokens.', type: 'integer', format: 'int64', minimum: 0 },
        seq: { description: 'Number.', type: 'integer', format: 'int64' },
        day: { description: 'Day.', type: 'string' },
        parts: {
          description: 'Parts.',
          type: 'array',
          maxItems: 3,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['id'],
          items: {
            description: 'A part.',
            type: 'object',
            required: ['id'],
            properties: { id: { description: 'Its id.', type: 'string' } },
          },
        },
        names: {
          description: 'Names.',
          type: 'array',
          maxItems: 2,
          'x-kubernetes-list-type': 'atomic',
          items: { description: 'A name.', type: 'string' },
        },
      },
    });
  });

  const inList = (of: Field<unknown>): JsonSchema => list('Entries.', object('An entry.', { of })).returns;

  test.each<[string, JsonSchema, string]>([
    ['a value that may be null', inList(nullable(flag('On.'))), '[].of has no single type'],
    ['alternatives', inList(variants('One of two.', { a: {}, b: {} })), '[].of has no single type'],
    ['a reference', { $ref: '#/components/schemas/Part' }, 'the schema has no single type'],
    ['an unknown keyword', inList(inCrd(flag('On.'), { const: true })), '[].of has the keyword const'],
  ])('throws on %s', (_, schema, message) => {
    expect(() => structural(schema)).toThrow(message);
  });
});
