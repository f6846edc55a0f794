import { describe, expect, test } from '@jest/globals';
import { parseRetryAfter, pauseAfterFailure, pauseAfterLimit, pauseAfterSuccess } from './schedule.ts';

describe('the pause before the next heartbeat', () => {
  test.each([
    [30_000, 0, { afterMs: 30_000, earliestMs: 1_000 }],
    [30_000, 0.5, { afterMs: 31_500, earliestMs: 1_000 }],
    [10_000, 0.99, { afterMs: 10_990, earliestMs: 1_000 }],
  ])('follows the interval after a success: interval %i, random %d', (intervalMs, random, pause) => {
    expect(pauseAfterSuccess(intervalMs, random)).toEqual(pause);
  });

  test.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
    [5, 16_000],
    [6, 30_000],
    [5_000, 30_000],
  ])('doubles up to one interval, regardless of triggers: failure %i waits %i ms', (failures, ms) => {
    expect(pauseAfterFailure(failures, 30_000, 0)).toEqual({ afterMs: ms, earliestMs: ms });
  });

  test('is never shorter than the control plane requests', () => {
    expect(pauseAfterLimit(7_000, 0.5)).toEqual({ afterMs: 7_350, earliestMs: 7_350 });
  });

  test.each([
    ['7', 7_000],
    [' 0 ', 0],
    ['Sun, 01 Mar 2026 10:00:20 GMT', 20_000],
    ['Sun, 01 Mar 2026 09:00:00 GMT', 0],
    ['999999999', 3_600_000],
    ['soon', null],
    ['-3x', null],
    [undefined, null],
  ])('reads Retry-After %p as %p', (value, ms) => {
    expect(parseRetryAfter(value, new Date('2026-03-01T10:00:00Z'))).toBe(ms);
  });
});
