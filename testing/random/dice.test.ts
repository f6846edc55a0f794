import { expect, test } from '@jest/globals';
import { diceOf } from './dice.ts';

test.each([1, 42, 0x7fffffff])('the numbers of the seed %i do not repeat', (seed) => {
  const dice = diceOf(seed);
  const numbers = new Set(Array.from({ length: 100_000 }, dice));
  expect(numbers.size).toBe(100_000);
});
