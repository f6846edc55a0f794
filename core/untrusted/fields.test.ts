import { describe, expect, test } from '@jest/globals';
import { heldBytes } from '../../testing/http/held-bytes.ts';
import fc from '../../testing/random/properties.ts';
import { cut } from './fields.ts';

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
