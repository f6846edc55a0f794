import { expect, test } from '@jest/globals';
import { MAX_POINTS, rangeOf, startOf } from './steps.ts';

const NOW = new Date('2026-03-01T10:30:15.500Z');

test.each([
  ['hour', '2026-03-01T10:59:59.999Z', '2026-03-01T10:00:00.000Z'],
  ['hour', '2026-03-01T10:00:00.000Z', '2026-03-01T10:00:00.000Z'],
  ['day', '2026-03-01T23:59:59.999Z', '2026-03-01T00:00:00.000Z'],
  ['day', '2026-03-02T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
  // Before the epoch, in which rounding towards zero would be wrong.
  ['day', '1969-12-31T23:00:00.000Z', '1969-12-31T00:00:00.000Z'],
] as const)('the %s of %s starts at %s', (step, at, start) => {
  expect(startOf(step, new Date(at)).toISOString()).toBe(start);
});

test.each([
  ['hour', {}, '2026-02-28T10:00:00.000Z', '2026-03-01T10:30:15.501Z'],
  ['day', {}, '2026-01-30T00:00:00.000Z', '2026-03-01T10:30:15.501Z'],
  ['heartbeat', {}, '1970-01-01T00:00:00.000Z', '2026-03-01T10:30:15.501Z'],
  ['hour', { to: '2026-02-01T00:00:00.000Z' }, '2026-01-31T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
  ['day', { to: '2026-02-01T00:00:00.000Z' }, '2026-01-02T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
  ['hour', { from: '2026-03-01T09:59:00.000Z' }, '2026-03-01T09:00:00.000Z', '2026-03-01T10:30:15.501Z'],
  ['day', { from: '2026-03-01T09:59:00.000Z' }, '2026-03-01T00:00:00.000Z', '2026-03-01T10:30:15.501Z'],
  ['heartbeat', { from: '2026-03-01T09:59:00.000Z' }, '2026-03-01T09:59:00.000Z', '2026-03-01T10:30:15.501Z'],
] as const)('the range of step %s with %j is %s to %s', (step, given, from, to) => {
  const dates = Object.fromEntries(Object.entries(given).map(([name, time]) => [name, new Date(time)]));
  expect(rangeOf(step, dates, NOW)).toEqual({ ok: true, from: new Date(from), to: new Date(to) });
});

test.each(['heartbeat', 'hour', 'day'] as const)('step %s rejects an empty range', (step) => {
  for (const from of [NOW, new Date(NOW.getTime() + 1)])
    expect(rangeOf(step, { from, to: NOW }, NOW)).toEqual({
      ok: false,
      path: 'from',
      message: 'is not before 2026-03-01T10:30:15.500Z, the end of the range',
    });
});

test.each([
  ['hour', 3_600_000, 'use a shorter range, or step=day'],
  ['day', 86_400_000, 'use a shorter range'],
] as const)('step %s accepts 10,000 points and no more', (step, lengthMs, advice) => {
  const to = new Date('2026-03-01T00:00:00.000Z');
  const from = new Date(to.getTime() - MAX_POINTS * lengthMs);
  expect(rangeOf(step, { from, to }, NOW)).toEqual({ ok: true, from, to });
  expect(rangeOf(step, { from: new Date(from.getTime() - 1), to }, NOW)).toEqual({
    ok: false,
    path: 'from',
    message: `the range has 10001 points of one ${step}, and the maximum is 10000; ${advice}`,
  });
});

test('step heartbeat has no maximum, because the store bounds the number of heartbeats', () => {
  const from = new Date('0000-01-01T00:00:00.000Z');
  expect(rangeOf('heartbeat', { from, to: NOW }, NOW)).toEqual({ ok: true, from, to: NOW });
});

test('the default start is a time with four digits of the year, and the error names the given end', () => {
  const to = new Date('0000-01-01T05:00:00.000Z');
  expect(rangeOf('day', { to }, NOW)).toMatchObject({ from: new Date('0000-01-01T00:00:00.000Z') });
  expect(rangeOf('heartbeat', { to }, NOW)).toEqual({
    ok: false,
    path: 'to',
    message: 'is not after 1970-01-01T00:00:00.000Z, the start of the range',
  });
});
