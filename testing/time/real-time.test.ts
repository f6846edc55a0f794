import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { limitOf, LIMITS } from './real-time.ts';

test('CONTRIBUTING.md contains the table of limits', () => {
  const text = readFileSync(join(import.meta.dirname, '../../CONTRIBUTING.md'), 'utf8');
  const rows = Object.entries(LIMITS).map(([name, limit]) => {
    const inTest = limitOf(limit, false);
    const cells = [
      name,
      ...[limit.promised, limit.measured].map((each) => `${each} s`),
      inTest === Infinity ? 'none' : `${inTest} s`,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const lines = text.split('\n').map((line) => line.replace(/ +/g, ' '));
  const shown = lines.filter((line) => / s \| (none|.* s) \|$/.test(line));
  expect(shown).toEqual(rows);
});

test('a limit is the promise in make soak, and ten times the measured value in make test', () => {
  const limit = { promised: 10, measured: 7 };
  expect([limitOf(limit, true), limitOf(limit, false)]).toEqual([10, 70]);
  expect(limitOf({ promised: 25, measured: 1 }, false)).toBe(25);
  const soak = { promised: 1, measured: 0.2, onlyInSoak: true } as const;
  expect([limitOf(soak, true), limitOf(soak, false)]).toEqual([1, Infinity]);
});
