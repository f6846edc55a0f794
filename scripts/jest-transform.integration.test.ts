// A Jest worker must not outlive its Jest process, because resources of its test, such as a cluster, would stay too.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesWith } from '../e2e/cluster/processes.ts';

const JEST = join(import.meta.dirname, '../node_modules/jest/bin/jest.js');
/** Run twice, so that Jest uses workers. Each test starts a process as a sign of life; it ends with its standard input. */
const LONG_TEST = `
test('runs for a long time', () => {
  require('node:child_process').spawn(process.execPath, ['-e', 'process.stdin.resume()', process.cwd()], { stdio: ['pipe', 'ignore', 'ignore'] });
  return new Promise((resolve) => setTimeout(resolve, 600_000));
}, 700_000);`;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'jest-worker-'));
  for (const name of ['one', 'two']) writeFileSync(join(directory, `${name}.test.ts`), LONG_TEST);
  const config = {
    rootDir: directory,
    cacheDirectory: join(directory, 'cache'),
    transform: { '\\.ts$': [join(import.meta.dirname, 'jest-transform.mjs'), {}] },
    transformIgnorePatterns: [],
    maxWorkers: 2,
  };
  writeFileSync(join(directory, 'jest.config.json'), JSON.stringify(config));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Waits for this number of processes started by the tests; their command lines contain the test directory. */
async function waitForCount(count: number): Promise<void> {
  const running = () => processesWith(`process.stdin.resume() ${directory}`).length;
  while (running() !== count) await sleep(50);
}

test('workers and their processes end when Jest is killed', async () => {
  const config = ['--config', join(directory, 'jest.config.json'), '--rootDir', directory];
  const jest = spawn(process.execPath, [JEST, ...config], { cwd: directory, stdio: 'ignore' });
  await waitForCount(2);
  jest.kill('SIGKILL');
  expect(await once(jest, 'exit')).toEqual([null, 'SIGKILL']);
  await waitForCount(0);
}, 120_000);
