import { describe, expect, test } from '@jest/globals';
import fc, { anyCharacter } from '../../testing/properties.ts';
import { sourceOf } from './source.ts';
import { tokensOf, type Language } from './tokens.ts';

const texts = (text: string, language: Language, kind: string): string[] =>
  tokensOf(text, language)
    .filter((token) => token.kind === kind)
    .map((token) => token.text);

describe('strings', () => {
  test.each<[Language, string, string[]]>([
    ['python', `a = 'x' # 'comment'`, ['x']],
    ['python', `"""a 'b' "c\nd"""`, [`a 'b' "c\nd`]],
    ['python', String.raw`'a\'b\n\z'`, ["a'b\nz"]],
    ['python', String.raw`r'a\'b\n'`, [String.raw`a\'b\n`]],
    ['python', `x = "open\ny = 'z'`, ['open', 'z']],
    ['python', `f"{{a}} {d['k']} b"`, ['k']],
    ['javascript', `a = 'x' // 'comment'\n/* "b" */ + "c"`, ['x', 'c']],
    ['javascript', '`a\nb`', ['a\nb']],
    ['javascript', "`a ${f('x', `y ${z['w']}`)} b` + 'c'", ['x', 'w', 'c']],
    ['javascript', String.raw`x = /['"]/.test('a') / 2 + 'b'`, ['a', 'b']],
    ['javascript', `#!/usr/bin/env 'node'\n'a'`, ['a']],
    ['javascript', `return /"/g`, []],
  ])('of %s in %j', (language, text, expected) => {
    expect(texts(text, language, 'string')).toEqual(expected);
  });
});

test('names in comments are not tokens, names in interpolations are', () => {
  expect(texts('a # b\nf"{c} d"', 'python', 'name')).toEqual(['a', 'c']);
  expect(texts('a // b\n`${c} d`', 'javascript', 'name')).toEqual(['a', 'c']);
});

test('lines are counted from the start of the file', () => {
  const { tokens, lineStarts } = sourceOf({ path: 'a.py', text: '"""x\ny"""\nz' });
  expect([tokens.map(({ start }) => start), lineStarts]).toEqual([
    [0, 10],
    [0, 5, 10],
  ]);
});

test('brackets are matched in spite of wrong ones between them', () => {
  const { partner, parent } = sourceOf({ path: 'a.ts', text: '( [ ) x ]' });
  expect([[...partner], [...parent]]).toEqual([
    [2, 5, 0, 3, -1],
    [-1, 0, -1, -1, -1],
  ]);
});

test('any text gives tokens in order that cover only the text', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(anyCharacter(), fc.constantFrom(...'\'"`${}()[]/\\#\n*', '"""', "f'", '//'))),
      fc.constantFrom('python', 'javascript'),
      (parts, language) => {
        const text = parts.join('');
        let last = 0;
        for (const { start, end } of tokensOf(text, language)) {
          expect(start).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThanOrEqual(start);
          last = end;
        }
        expect(last).toBeLessThanOrEqual(text.length);
      },
    ),
  );
});
