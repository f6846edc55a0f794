// Tests real clients and frameworks through the sidecar: six in `make test`, all in `make soak`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { whyNoPackages } from './programs.ts';
import type { RowResult } from './row.ts';
import { ROWS } from './rows.ts';
import { openMatrix, runRow, type Matrix } from './run-row.ts';

const RESULTS = JSON.parse(readFileSync(join(import.meta.dirname, 'results.json'), 'utf8')) as RowResult[];

let matrix: Matrix;
beforeAll(async () => {
  matrix = await openMatrix();
});
afterAll(() => matrix.close());

describe('bytes, tokens, cancel and denial match the documentation', () => {
  for (const row of ROWS.filter(({ isFast }) => isFast === true || process.env['SOAK'] === '1')) {
    const run = whyNoPackages(row.packages) === undefined ? test : test.skip;
    run(row.name, async () => {
      const recorded = RESULTS.find(({ name }) => name === row.name);
      expect(await runRow(row, matrix)).toEqual(recorded);
    });
  }
});

test('the documentation has every row, at least twenty', () => {
  expect(RESULTS.map(({ name }) => name)).toEqual(ROWS.map(({ name }) => name));
  expect(ROWS.length).toBeGreaterThanOrEqual(20);
  expect(ROWS.filter(({ isFast }) => isFast === true)).toHaveLength(6);
});
