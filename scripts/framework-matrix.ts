// Runs the matrix of clients and frameworks and writes the results to testing/frameworks/results.json; with --examples, the
// example agents and testing/frameworks/example-results.json; with --lanes, the clients of the egress lanes and
// testing/egress/client-results.json and mcp-client-results.json. Other arguments select rows whose names contain one of them.
// docs/guide/clients.md and docs/guide/frameworks.md are generated from these files (npm run generate).
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientResult, ClientRow, McpClientResult } from '../testing/egress/client-row.ts';
import { CLIENT_ROWS } from '../testing/egress/client-rows.ts';
import { startLaneRig } from '../testing/egress/lane-rig.ts';
import { MCP_CLIENT_ROWS } from '../testing/egress/mcp-client-rows.ts';
import { runClient } from '../testing/egress/run-client.ts';
import { runMcpClient } from '../testing/egress/run-mcp-client.ts';
import type { ExampleResult } from '../testing/frameworks/example-result.ts';
import { EXAMPLE_ROWS, exampleName } from '../testing/frameworks/example-rows.ts';
import { whyNoPackages } from '../testing/frameworks/programs.ts';
import type { RowResult } from '../testing/frameworks/row.ts';
import { ROWS } from '../testing/frameworks/rows.ts';
import { openExamples, runExample } from '../testing/frameworks/run-example.ts';
import { openMatrix, runRow } from '../testing/frameworks/run-row.ts';

const TESTING = join(import.meta.dirname, '../testing');

const [isExamples, isLanes] = [process.argv.includes('--examples'), process.argv.includes('--lanes')];
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));

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
  const path = join(TESTING, file);
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
    writeFileSync(path, `${oneLinePerForm(JSON.stringify(inOrder, null, 2))}\n`);
  }
}

/** Each object without lists and objects on one line if it is short, so that a changed form is one line of a diff. */
function oneLinePerForm(json: string): string {
  return json.replaceAll(/\{\n([^{}[\]]*?)\n\s*\}/g, (whole, members: string) => {
    const line = `{ ${members.trim().replaceAll(/\n\s*/g, ' ')} }`;
    return line.length <= 104 ? line : whole;
  });
}

if (isExamples) {
  const rig = await openExamples();
  const rows = EXAMPLE_ROWS.map((row) => ({
    ...{ name: exampleName(row), key: row.folder },
    whyNot: () => whyNoPackages(row.packages),
    run: () => runExample(row, rig),
  }));
  try {
    await runAll<ExampleResult>('frameworks/example-results.json', rows, ({ folder }) => folder);
  } finally {
    await rig.close();
  }
} else if (isLanes) {
  const rig = await startLaneRig();
  const runnable = ({ name, packages }: Pick<ClientRow, 'name' | 'packages'>) => ({
    ...{ name, key: name },
    whyNot: () => whyNoPackages(packages),
  });
  const [models, mcp] = [
    CLIENT_ROWS.map((row) => ({ ...runnable(row), run: () => runClient(row, rig) })),
    MCP_CLIENT_ROWS.map((row) => ({ ...runnable(row), run: () => runMcpClient(row, rig) })),
  ];
  try {
    await runAll<ClientResult>('egress/client-results.json', models, ({ name }) => name);
    await runAll<McpClientResult>('egress/mcp-client-results.json', mcp, ({ name }) => name);
  } finally {
    await rig.close();
  }
} else {
  const matrix = await openMatrix();
  const rows = ROWS.map((row) => ({ name: row.name, key: row.name, run: () => runRow(row, matrix) }));
  try {
    await runAll<RowResult>('frameworks/results.json', rows, ({ name }) => name);
  } finally {
    await matrix.close();
  }
}
