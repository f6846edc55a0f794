import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aManifest, NOON } from '../testing/facts.ts';
import { stopwatch } from '../testing/stopwatch.ts';
import { check } from '../core/health/check.ts';
import type { Facts } from '../core/facts/facts.ts';
import { gather } from './gather.ts';

/** Threads of a Node.js process that wait in file calls. */
const THREADS = 4;

let folder: string;
let release: () => Promise<void> = () => Promise.resolve();
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hung-'));
});
afterEach(async () => {
  await release();
  await rm(folder, { recursive: true });
});

/** Every file call of this process hangs, as those into a dead network volume do, until `release`. */
function hang(): void {
  const path = join(folder, 'fifo');
  execFileSync('mkfifo', [path]);
  const waiting: Promise<FileHandle>[] = Array.from({ length: THREADS }, () => open(path, 'r'));
  release = async () => {
    release = () => Promise.resolve();
    const writer = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    for (const handle of await Promise.all(waiting)) await handle.close();
    closeSync(writer);
  };
}

const manifest = aManifest({
  model: { provider: 'openai', id: 'm', apiKey: '$secret:model-key' },
  prompts: { system: '$file:prompt.md' },
  requires: { services: [{ name: 'db', address: '$secret:db-url' }] },
});

async function gathered(): Promise<{ facts: Facts; ms: number; checks: string[] }> {
  const elapsed = stopwatch();
  const environment = { kind: 'own', variables: {}, folder, secretDir: folder } as const;
  const facts = await gather({ manifest, upstreamUrl: null, environment, now: () => NOON, asksModel: true });
  const { checks } = check(manifest, facts);
  return {
    facts,
    ms: elapsed(),
    checks: checks.map(({ id, status }) => `${id} ${status}`),
  };
}

test('a folder that hangs blocks no report, is not called missing, and heals', async () => {
  await writeFile(join(folder, 'prompt.md'), 'You sell things.');
  await writeFile(join(folder, 'db-url'), 'sqlite:///x\n');
  hang();
  const unknown = [
    'file:prompt.md skip',
    'secret:model-key skip',
    'secret:db-url skip',
    'model:openai/m skip',
    'service:db skip',
  ];
  const first = await gathered();
  expect(first.checks).toEqual(unknown);
  expect(first.ms).toBeLessThan(6000);
  // Nobody queues behind what is stuck.
  const second = await gathered();
  expect(second.checks).toEqual(unknown);
  expect(second.ms).toBeLessThan(2000);
  await release();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect((await gathered()).checks).toEqual([
    'file:prompt.md pass',
    'secret:model-key fail',
    'secret:db-url pass',
    'model:openai/m skip',
    'service:db skip',
  ]);
});
