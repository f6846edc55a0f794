// Runs the matrix of clients and frameworks and writes the results to testing/frameworks/results.json; with --examples, the
// example agents and testing/frameworks/example-results.json. Other arguments select rows whose names contain one of them.
// docs/guide/clients.md and docs/guide/frameworks are generated from these files (npm run generate).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExampleResult } from '../testing/frameworks/example-result.ts';
import { EXAMPLE_ROWS, exampleName } from '../testing/frameworks/example-rows.ts';
import { whyNoPackages } from '../testing/frameworks/programs.ts';
import type { RowResult } from '../testing/frameworks/row.ts';
import { ROWS } from '../testing/frameworks/rows.ts';
import { openExamples, runExample } from '../testing/frameworks/run-example.ts';
import { openMatrix, runRow } from '../testing/frameworks/run-row.ts';

const RESULTS = join(import.meta.dirname, '../testing/frameworks');

const isExamples = process.argv.includes('--examples');
const wanted = process.argv.slice(2).filter((argument) => argument !== '--examples');

/** One row of a matrix. */
interface Runnable<Result> {
  /** Shown and selected by arguments. */
  name: string;
  /** Of its result. */
  key: string;
  /** undefined: it can run. */
  whyNot?: () => string | undefined;
  run: () => Promise<Result>;
}

/** Runs the selected rows. A row that fails or cannot run keeps its earlier result; the exit code is 1 if one failed. */
async function runAll<Result>(
  file: string,
  rows: readonly Runnable<Result>[],
  keyOf: (result: Result) => string,
): Promise<void> {
  const path = join(RESULTS, file);
  const known = JSON.parse(readFileSync(path, 'utf8')) as Result[];
  const results = new Map(known.map((result) => [keyOf(result), result]));
  for (const { name, key, whyNot, run } of rows) {
    if (wanted.length > 0 && !wanted.some((part) => `${name} ${key}`.includes(part))) continue;
    const reason = whyNot?.();
    if (reason !== undefined) {
      console.log(`SKIPPED: ${name}: ${reason}`);
      continue;
    }
    const startedAt = performance.now();
    try {
      results.set(key, await run());
      console.log(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    } catch (error) {
      process.exitCode = 1;
      console.error(error);
    }
    const inOrder = rows.flatMap((row) => results.get(row.key) ?? []);
    writeFileSync(path, `${JSON.stringify(inOrder, null, 2)}\n`);
  }
}

if (isExamples) {
  const rig = await openExamples();
  const rows = EXAMPLE_ROWS.map((row) => ({
    ...{ name: exampleName(row), key: row.folder },
    whyNot: () => whyNoPackages(row.packages),
    run: () => runExample(row, rig),
  }));
  try {
    await runAll<ExampleResult>('example-results.json', rows, ({ folder }) => folder);
  } finally {
    await rig.close();
  }
} else {
  const matrix = await openMatrix();
  const rows = ROWS.map((row) => ({ name: row.name, key: row.name, run: () => runRow(row, matrix) }));
  try {
    await runAll<RowResult>('results.json', rows, ({ name }) => name);
  } finally {
    await matrix.close();
  }
}
