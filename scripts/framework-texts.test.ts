import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { transform } from 'esbuild';
import { EXAMPLE_ROWS, exampleName } from '../testing/frameworks/example-rows.ts';
import { blocksUnder } from '../testing/documents/documented-commands.ts';
import { FRAMEWORK_TEXTS } from './framework-texts.ts';
import { integrationLines } from './integration-lines.ts';

const PAGE = 'docs/guide/frameworks.md';
const JAVASCRIPT = EXAMPLE_ROWS.filter(({ packages }) => packages !== 'python');

test.each(JAVASCRIPT)('the lines of $folder are a program', async (row) => {
  const [top = '', inFunctions = ''] = blocksUnder(PAGE, exampleName(row)).map(({ body }) => body);
  const program = `${top}async (request, response, error) => {\n${inFunctions}};`;
  const { code } = await transform(program, { format: 'esm' });
  expect(code).toMatch(
    /agent-compliance\/integrations\/.*createReporter\(.*reporter\.start\(\).*reporter\.handle\(/s,
  );
});

test.each(EXAMPLE_ROWS)('$folder has no line of the integration that the page does not print', (row) => {
  const file = row.packages === 'python' ? 'main.py' : 'main.mjs';
  const lines = readFileSync(join(import.meta.dirname, '../examples', row.folder, file), 'utf8').split('\n');
  const printed = blocksUnder(PAGE, exampleName(row)).flatMap(({ body }) => body.split('\n'));
  const missing = lines.filter(
    (line) => /agent[-_]compliance|reporter\b|PolicyDenied/.test(line) && !printed.includes(line.trim()),
  );
  expect(missing.filter((line) => !/^\s*(?:#|\/\/|"""|except )/.test(line))).toEqual([]);
});

test('every text is of an example', () => {
  const pages = new Set(EXAMPLE_ROWS.map(({ page }) => page));
  expect(Object.keys(FRAMEWORK_TEXTS).filter((page) => !pages.has(page))).toEqual([]);
});

test('a statement on several lines is printed whole, and without its indentation', () => {
  const source = 'def f():\n    behavior.model(\n        a,\n    )\n    other()\n# behavior\n';
  expect(integrationLines(source, 'python')).toEqual({
    module: [],
    functions: ['behavior.model(', '    a,', ')'],
  });
});
