// Runs the matrix of clients and frameworks and writes the results to testing/frameworks/results.json. Arguments select rows
// whose names contain one of them. docs/guide/clients.md is generated from that file (npm run generate).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RowResult } from '../testing/frameworks/row.ts';
import { ROWS } from '../testing/frameworks/rows.ts';
import { openMatrix, runRow } from '../testing/frameworks/run-row.ts';

const FILE = join(import.meta.dirname, '../testing/frameworks/results.json');

const wanted = process.argv.slice(2);
const known = JSON.parse(readFileSync(FILE, 'utf8')) as RowResult[];
const results = new Map(known.map((result) => [result.name, result]));
const matrix = await openMatrix();
try {
  for (const row of ROWS.filter(
    ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
  )) {
    const startedAt = performance.now();
    results.set(row.name, await runRow(row, matrix));
    console.log(`${row.name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  }
} finally {
  await matrix.close();
  const inOrder = ROWS.flatMap(({ name }) => results.get(name) ?? []);
  writeFileSync(FILE, `${JSON.stringify(inOrder, null, 2)}\n`);
}
