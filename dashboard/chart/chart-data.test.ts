import { describe, expect, test } from '@jest/globals';
import {
  isolatedIndexes,
  labelStarts,
  movedIndex,
  smallestStep,
  summaryOf,
  tickLabels,
  timeRange,
} from './chart-data.ts';

const HOUR = 3_600_000;
const at = (iso: string): number => Date.parse(iso);

describe('time axis', () => {
  test('has half a step of room on both sides', () => {
    expect(timeRange([0, HOUR, 3 * HOUR])).toEqual([-HOUR / 2, 3.5 * HOUR]);
  });

  test('has a minute of room around a single time', () => {
    expect(timeRange([HOUR])).toEqual([HOUR - 60_000, HOUR + 60_000]);
  });

  test('has the whole range of the request', () => {
    expect(timeRange([5 * HOUR], [0, 4 * HOUR])).toEqual([0, 5 * HOUR + 60_000]);
  });

  test.each([
    [[], null],
    [[5], null],
    [[5, 5], null],
    [[1, 4, 6], 2],
  ])('smallest step of %j is %p', (times, expected) => {
    expect(smallestStep(times)).toBe(expected);
  });

  test('shows the date where a day begins', () => {
    const splits = [at('2026-03-01T18:00:00Z'), at('2026-03-02T00:00:00Z'), at('2026-03-02T06:00:00Z')];
    expect(tickLabels(splits, 6 * HOUR, 'en-GB', 'UTC')).toEqual(['18:00\n1 Mar', '00:00\n2 Mar', '06:00']);
  });

  test('has 24 hours in each locale', () => {
    const splits = [at('2026-03-02T00:00:00Z'), at('2026-03-02T13:00:00Z')];
    expect(tickLabels(splits, HOUR, 'en-US', 'UTC')).toEqual(['00:00', '13:00']);
  });

  test('shows only times within one day, in the given time zone', () => {
    const splits = [at('2026-03-01T10:00:00Z'), at('2026-03-01T12:00:00Z')];
    expect(tickLabels(splits, 2 * HOUR, 'en-GB', 'Europe/Berlin')).toEqual(['11:00', '13:00']);
  });

  test('shows only dates if the step is a day', () => {
    const splits = [at('2026-03-01T00:00:00Z'), at('2026-03-02T00:00:00Z')];
    expect(tickLabels(splits, 24 * HOUR, 'de-DE', 'UTC')).toEqual(['1. März', '2. März']);
  });
});

test.each([
  [[], []],
  [[5], [0]],
  [
    [5, null, 7, 8, null, 9],
    [0, 5],
  ],
  [[null, 1, 2, null], []],
])('isolated values of %j are at %j', (values, expected) => {
  expect(isolatedIndexes(values)).toEqual(expected);
});

test('labels start at their marks, or before them at the right edge, where there is room', () => {
  const places = [
    { x: 0, width: 40 },
    { x: 30, width: 20 },
    { x: 60, width: 45 },
  ];
  expect(labelStarts(places, 100)).toEqual([null, 30, 55]);
  expect(labelStarts([places[0]!, { x: 60, width: 70 }], 100)).toEqual([0, null]);
});

test.each([
  [[60, null, 90, 85], 'Score: lowest 60, highest 90, latest 85.'],
  [[70, null], 'Score: lowest 70, highest 70, latest 70.'],
  [[null], 'Score: no value.'],
])('summary of %j', (values, expected) => {
  expect(summaryOf({ name: 'Score', values }, String)).toBe(expected);
});

test.each<[string, number | null, number | null]>([
  ['ArrowRight', null, 29],
  ['ArrowLeft', null, 28],
  ['ArrowLeft', 0, 0],
  ['ArrowRight', 4, 5],
  ['PageUp', 4, 7],
  ['PageDown', 2, 0],
  ['Home', 20, 0],
  ['End', 2, 29],
  ['a', 2, null],
])('key %s at %p of 30 values moves the cursor to %p', (key, index, expected) => {
  expect(movedIndex(key, index, 30)).toBe(expected);
});
