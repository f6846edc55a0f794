import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { writeTerminationMessage } from './start-problem.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'start-problem-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test('the termination message of a container is bounded', () => {
  const file = join(folder, 'termination-log');
  writeFileSync(file, '');
  writeTerminationMessage('x'.repeat(5_000), file);
  expect(readFileSync(file, 'utf8')).toBe('x'.repeat(2_048));
});

test('no file is created outside a container', () => {
  const file = join(folder, 'none');
  writeTerminationMessage('text', file);
  expect(existsSync(file)).toBe(false);
});
