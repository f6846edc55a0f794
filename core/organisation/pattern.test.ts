import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { covers, matches, matchesSome } from './pattern.ts';

describe('a pattern', () => {
  test.each([
    ['*', '', true],
    ['openai/gpt-4o*', 'openai/gpt-4o-mini', true],
    ['openai/gpt-4o*', 'openai/gpt-4', false],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['delete_all_*', 'delete_all_', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['gpt.4', 'gpt-4', false],
  ])('%s and %s', (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected);
  });

  const glob = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 6 });
  const word = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 7 });
  const oracle = (pattern: string, text: string): boolean =>
    new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text);

  test('matches as the regular expression with .* does', () => {
    fc.assert(fc.property(glob, word, (a, text) => matches(a, text) === oracle(a, text)));
  });

  test('that covers another one matches every text of it', () => {
    fc.assert(
      fc.property(glob, glob, word, (a, b, text) => !covers(a, b) || !matches(b, text) || matches(a, text)),
    );
  });

  test('matches some text with a start exactly if a longer text matches', () => {
    // The rest of a pattern of 6 characters needs at most 6 more.
    const ends = Array.from({ length: 7 }, (_, length) =>
      Array.from({ length: 2 ** length }, (_each, bits) =>
        length === 0 ? '' : bits.toString(2).padStart(length, '0'),
      ),
    ).flat();
    const texts = ends.map((bits) => bits.replaceAll('0', 'a').replaceAll('1', 'b'));
    fc.assert(
      fc.property(glob, word, (pattern, start) => {
        const expected = texts.some((end) => matches(pattern, start + end));
        return matchesSome(pattern, start) === expected;
      }),
    );
  });

  test('of a hostile author costs at most pattern times text', () => {
    expect(matches('*a'.repeat(100), 'a'.repeat(20_000) + 'b')).toBe(false);
  });
});
