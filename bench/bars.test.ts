import { expect, test } from '@jest/globals';
import { BARS, judge, renderBars, type Bar } from './bars.ts';
import { rowsOf, type Measurement } from './report.ts';
import type { Results } from './results.ts';
import { BASELINES, SIDECAR, UNDICI } from './targets.ts';

const RESULTS: Results = {
  machine: {
    ...{ processor: 'p', processors: 2, kernel: '6', node: 'v24', commit: 'abc' },
    ...{ date: '2026-01-01', load: 0 },
  },
  settings: { rounds: 1, pinned: true },
};

const measured = (target: string, cpuUs: number, p99Ms: number): Measurement => ({
  ...{ target, scenario: 'json', round: 1, perSecond: 1, p50Ms: 1, p99Ms, cpuUs },
});

test('a bar without a measured value is not judged', () => {
  expect(judge(RESULTS)).toEqual([]);
});

test.each([
  [{ atLeast: 1 }, 1, true],
  [{ atLeast: 1 }, 0.99, false],
  [{ atMost: 1 }, 1, true],
  [{ atMost: 1 }, 1.01, false],
  [{ atMost: 1 }, NaN, false],
])('%j with %d: met %s', (limit, value, isMet) => {
  const bar: Bar = { name: 'b', unit: '×', ...limit, of: () => value };
  expect(judge(RESULTS, [bar])).toMatchObject([{ isMet, bar: 1 }]);
});

test('speed and p99 are compared with undici in the same run', () => {
  const rows = [measured(UNDICI, 50, 10), measured(SIDECAR, 40, 13)];
  const judged = judge({ ...RESULTS, throughput: rowsOf(rows, BASELINES) });
  expect(judged.map(({ name, value, isMet }) => [name, value, isMet])).toEqual([
    ['requests per processor time, json, × undici', 1.25, true],
    ['p99 at full load, json, × undici', 1.3, false],
  ]);
  expect(renderBars(judged).split('\n').slice(1)).toEqual([
    expect.stringMatching(/^requests per processor time, json, × undici +1\.25 × +≥ +1\.00 × +met$/),
    expect.stringMatching(/^p99 at full load, json, × undici +1\.30 × +≤ +1\.20 × +NOT MET$/),
  ]);
});

test('every bar has one limit and a name of its own', () => {
  expect(BARS.filter(({ atLeast, atMost }) => (atLeast === undefined) === (atMost === undefined))).toEqual(
    [],
  );
  expect(new Set(BARS.map(({ name }) => name)).size).toBe(BARS.length);
});
