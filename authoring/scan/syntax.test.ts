import { describe, expect, test } from '@jest/globals';
import fc, { anyCharacter } from '../../testing/random/properties.ts';
import { sourceOf, stringsOf, textOf, type Source } from './source.ts';
import type { Language } from './syntax.ts';

const read = (text: string, language: Language): Source =>
  sourceOf({ path: language === 'python' ? 'a.py' : 'a.ts', text });
const strings = (text: string, language: Language): string[] =>
  stringsOf(read(text, language)).map(({ literal }) => literal);

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
    expect(strings(text, language)).toEqual(expected);
  });
});

test('names in comments are not nodes, names in interpolations are', () => {
  const names = (source: Source): string[] =>
    source.nodes.filter(({ name }) => name === 'VariableName').map((node) => textOf(source, node));
  expect(names(read('a # b\nf"{c} d"', 'python'))).toEqual(['a', 'c']);
  expect(names(read('a // b\n`${c} d`', 'javascript'))).toEqual(['a', 'c']);
});

test('lines are counted from the start of the file', () => {
  expect(read('"""x\ny"""\nz', 'python').lineStarts).toEqual([0, 5, 10]);
});

test('any text gives nodes that cover only the text', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(anyCharacter(), fc.constantFrom(...'\'"`${}()[]/\\#\n*', '"""', "f'", '//'))),
      fc.constantFrom<Language>('python', 'javascript'),
      (parts, language) => {
        const text = parts.join('');
        let last = 0;
        for (const { from, to } of read(text, language).nodes) {
          expect(from).toBeGreaterThanOrEqual(last);
          expect(to).toBeGreaterThanOrEqual(from);
          expect(to).toBeLessThanOrEqual(text.length);
          last = from;
        }
      },
    ),
  );
});
