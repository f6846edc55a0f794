import { expect, test } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { recipePaths } from './recipes.ts';

const ROOT = join(import.meta.dirname, '..');

const missing = (markdown: string): string[] =>
  recipePaths(markdown).filter((path) => !existsSync(join(ROOT, path)));

test('every file that a recipe names exists', () => {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  expect(recipePaths(page)).toEqual(
    expect.arrayContaining(['core/shapes/heartbeat.ts', 'cli/program.ts', 'core/injection/annotations.ts']),
  );
  expect(missing(page)).toEqual([]);
});

test('a file that was moved is found, placeholders and other sections are not', () => {
  const page = [
    ...['# Contributing', '`core/gone-before.ts`', '## Recipes', '### Add a thing'],
    ...['1. `core/gone.ts`, `cli/commands/<name>.ts`, `GET /rules`, `gone/`, `cli/program.ts`, `gap/`'],
    ...['## Packages', '`core/gone-after.ts`', ''],
  ].join('\n');
  expect(missing(page)).toEqual(['core/gone.ts', 'gone/', 'gap/']);
});
