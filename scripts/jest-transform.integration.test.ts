// A worker of Jest does not outlive its Jest, however that dies: what its test holds, a cluster for one, would live on too.
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { processesWith } from '../e2e/cluster/processes.ts';

const JEST = join(import.meta.dirname, '../node_modules/jest/bin/jest.js');
/** Two, so that they run in workers; each says that it runs by starting a process, which ends with its standard input. */
const LONG_TEST = `
test('takes its time', () => {
  require('node:child_process').spawn(process.execPath, ['-e', 'process.stdin.resume()', process.cwd()], { stdio: ['pipe', 'ignore', 'ignore'] });
  return new Promise((resolve) => setTimeout(resolve, 600_000));
}, 700_000);`;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'jest-worker-'));
  for (const name of ['one', 'two']) writeFileSync(join(folder, `${name}.test.ts`), LONG_TEST);
  const config = {
    rootDir: folder,
    cacheDirectory: join(folder, 'cache'),
    transform: { '\\.ts$': [join(import.meta.dirname, 'jest-transform.mjs'), {}] },
    transformIgnorePatterns: [],
    maxWorkers: 2,
  };
  writeFileSync(join(folder, 'jest.config.json'), JSON.stringify(config));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Of the tests' processes, which name the folder that the tests run in. */
async function countIs(count: number): Promise<void> {
  const running = () => processesWith(`process.stdin.resume() ${folder}`).length;
  while (running() !== count) await sleep(50);
}

test('a killed Jest takes its workers, and what hangs on them, with it', async () => {
  const config = ['--config', join(folder, 'jest.config.json'), '--rootDir', folder];
  const jest = spawn(process.execPath, [JEST, ...config], { cwd: folder, stdio: 'ignore' });
  await countIs(2);
  jest.kill('SIGKILL');
  expect(await once(jest, 'exit')).toEqual([null, 'SIGKILL']);
  await countIs(0);
}, 120_000);
