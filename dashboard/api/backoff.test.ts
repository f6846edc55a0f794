import { expect, test } from '@jest/globals';
import { backoffMs } from './backoff.ts';

test.each([
  [0, 0, 500],
  [1, 0, 500],
  [1, 1, 1_000],
  [2, 0.5, 1_500],
  [4, 1, 8_000],
  [6, 1, 30_000],
  [1_000, 0, 15_000],
  [1_000, 1, 30_000],
])('after %i failures and with the random number %d the next attempt is in %i ms', (failures, random, ms) => {
  expect(backoffMs(failures, random)).toBe(ms);
});
