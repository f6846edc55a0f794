// The example agents behind the built sidecar: what it shows of each equals the counts of the vendor, through the integration
// alone. Three rows in `make test`, all in `make soak`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExampleResult } from './example-result.ts';
import { EXAMPLE_ROWS, exampleName } from './example-rows.ts';
import { whyNoPackages } from './programs.ts';
import { openExamples, runExample, type ExampleRig } from './run-example.ts';

const FILE = join(import.meta.dirname, 'example-results.json');
const RESULTS = JSON.parse(readFileSync(FILE, 'utf8')) as ExampleResult[];
const isSoak = process.env['SOAK'] === '1';

let rig: ExampleRig;
beforeAll(async () => {
  rig = await openExamples();
});
afterAll(() => rig.close());

describe('model, tools, guardrails, tokens and denial are as the vendor counts them, and as the documentation shows', () => {
  for (const row of EXAMPLE_ROWS.filter(({ isFast }) => isFast === true || isSoak)) {
    const run = whyNoPackages(row.packages, isSoak) === undefined ? test : test.skip;
    run(exampleName(row), async () => {
      const recorded = RESULTS.find(({ folder }) => folder === row.folder);
      expect(await runExample(row, rig)).toEqual(recorded);
    });
  }
});

test('the documentation has every row', () => {
  expect(RESULTS.map(({ folder }) => folder)).toEqual(EXAMPLE_ROWS.map(({ folder }) => folder));
});
