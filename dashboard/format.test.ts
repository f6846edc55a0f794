import { describe, expect, test } from '@jest/globals';
import { formatsFor, NO_VALUE, withLocalTimes } from './format.ts';

const us = formatsFor('en-US', 'UTC');
const germany = formatsFor('de-DE', 'Europe/Berlin');

test.each([
  [us.formatNumber(1_234_567), '1,234,567'],
  [germany.formatNumber(1_234_567), '1.234.567'],
  [us.formatTime('2026-11-23T23:05:09.000Z'), 'Nov 23, 2026, 23:05:09 UTC'],
  [us.formatTime('2026-11-23T00:05:09.000Z'), 'Nov 23, 2026, 00:05:09 UTC'],
  [us.formatUsd(12.5), '$12.50'],
  [us.formatUsd(0.0042), '$0.0042'],
  [us.formatUsd(0), '$0.00'],
  [us.formatPercent(0.125), '12.5%'],
  [us.formatPercent(1), '100%'],
])('%s is written as %s', (written, expected) => expect(written).toBe(expected));

test('a time has date, time and zone of the reader', () => {
  const written = formatsFor('en-GB', 'Europe/Berlin').formatTime('2026-11-23T23:05:09.000Z');
  expect(written).toMatch(/24 Nov 2026/);
  expect(written).toMatch(/00:05:09/);
  expect(written).toMatch(/CET|GMT\+1/);
});

describe('an age', () => {
  const now = new Date('2026-11-23T12:00:00.000Z');
  const age = (value: number, unit: Intl.RelativeTimeFormatUnit) =>
    new Intl.RelativeTimeFormat('en-US', { numeric: 'auto', style: 'short' }).format(value, unit);
  test.each([
    ['2026-11-23T12:00:00.000Z', age(0, 'second')],
    ['2026-11-23T12:00:20.000Z', age(0, 'second')],
    ['2026-11-23T11:59:18.000Z', age(-42, 'second')],
    ['2026-11-23T11:57:30.000Z', age(-2, 'minute')],
    ['2026-11-23T07:00:00.000Z', age(-5, 'hour')],
    ['2026-11-20T12:00:00.000Z', age(-3, 'day')],
  ])('of %s is %s', (iso, expected) => expect(us.formatAge(iso, now)).toBe(expected));
});

test.each([
  us.formatNumber(null),
  us.formatNumber(undefined),
  us.formatUsd(null),
  us.formatPercent(Number.NaN),
  us.formatTime(null),
  us.formatTime('yesterday'),
  us.formatAge(undefined, new Date(0)),
])('a value that was never reported is a dash', (written) => expect(written).toBe(NO_VALUE));

test('ticks of an axis have the digits that tell them apart', () => {
  expect([0, 0.0004, 0.25, 1_250, 200_000].map(us.formatTick)).toEqual([
    '0',
    '0.0004',
    '0.25',
    '1.25K',
    '200K',
  ]);
});

test('times in a text of the server become local ones', () => {
  const { formatTime } = formatsFor('en-GB', 'Europe/Berlin');
  expect(withLocalTimes('silent since 2026-03-02T09:29:48.000Z.', formatTime)).toBe(
    'silent since 2 Mar 2026, 10:29:48 CET.',
  );
  expect(withLocalTimes('since 2026-03-02 only', formatTime)).toBe('since 2026-03-02 only');
});
