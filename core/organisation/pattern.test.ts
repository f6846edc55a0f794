import { describe, expect, test } from '@jest/globals';
import fc from '../../testing/random/properties.ts';
import { covers, matches, overlap } from './pattern.ts';

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

  test('overlaps with another one exactly if a text matches both', () => {
    // A common text of two patterns of 6 characters needs at most 12.
    const texts = Array.from({ length: 13 }, (_, length) => length).flatMap((length) =>
      Array.from({ length: 2 ** length }, (_, bits) => bits.toString(2).padStart(length, '0')),
    );
    const words = texts.map((bits) => bits.replaceAll('0', 'a').replaceAll('1', 'b')).filter((_, i) => i > 0);
    fc.assert(
      fc.property(glob, glob, (a, b) => {
        const common = ['', ...words].some((text) => matches(a, text) && matches(b, text));
        return overlap(a, b) === common;
      }),
      { numRuns: 60 },
    );
  });

  test('of a hostile author costs at most pattern times text', () => {
    expect(matches('*a'.repeat(100), 'a'.repeat(20_000) + 'b')).toBe(false);
    expect(overlap('*a'.repeat(100), '*b'.repeat(100))).toBe(false);
  });
});
