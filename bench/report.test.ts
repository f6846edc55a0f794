import { describe, expect, test } from '@jest/globals';
import { quantile, renderTable, rowsOf, spreadOf, type Measurement } from './report.ts';

test.each([
  [[3], { min: 3, median: 3, max: 3 }],
  [[9, 1, 2], { min: 1, median: 2, max: 9 }],
  [[4, 1, 3, 2], { min: 1, median: 2.5, max: 4 }],
])('computes the spread of %j', (values, expected) => {
  expect(spreadOf(values)).toEqual(expected);
});

const measured = (target: string, round: number, perSecond: number, cpuUs: number): Measurement => ({
  target,
  scenario: 'json',
  round,
  perSecond,
  cpuUs,
  p50Ms: 1,
  p99Ms: 2,
});

describe('rowsOf', () => {
  const rows = rowsOf(
    [
      measured('base', 1, 100, 50),
      measured('fast', 1, 200, 20),
      measured('base', 2, 10, 100),
      measured('fast', 2, 40, 50),
    ],
    ['base'],
  );

  test('compares each round with the baseline of the same round, so that a slow machine affects both', () => {
    expect(rows.map(({ target, against }) => ({ target, ...against['base'] }))).toEqual([
      { target: 'base', throughput: spreadOf([1]), cpu: spreadOf([1]), p99: spreadOf([1]) },
      { target: 'fast', throughput: spreadOf([2, 4]), cpu: spreadOf([2, 2.5]), p99: spreadOf([1]) },
    ]);
  });

  test('rows are rendered with the median and the range of the rounds', () => {
    const [head, , fast] = renderTable(rows, ['base']).split('\n');
    expect(head).toMatch(/^json +req\/s +p50 ms +p99 ms +cpu µs\/req +req\/s × base +req\/cpu × base$/);
    expect(fast).toMatch(/^fast +120 +1\.00 +2\.00 +35 +3\.00 \(2\.00\.\.4\.00\) +2\.25 \(2\.00\.\.2\.50\)$/);
  });

  test('rows have no ratio if the baseline was not measured', () => {
    const [, line] = renderTable(rowsOf([measured('alone', 1, 5, 5)], ['base']), ['base']).split('\n');
    expect(line).toMatch(/ - +-$/);
  });
});

test.each([
  [[3, 1, 2], 0.5, 2],
  [[3, 1, 2], 1, 3],
  [[5], 0.99, 5],
  [[], 0.5, NaN],
])('of %p the quantile %p is %p', (values, share, expected) => {
  expect(quantile(values, share)).toBe(expected);
});
