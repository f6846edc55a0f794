import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdtemp, open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aManifest, NOON } from '../testing/fleet/facts.ts';
import { holdTimers } from '../testing/time/held-timers.ts';
import { check } from '../core/health/check.ts';
import { gather } from './gather.ts';

/** Threads of a Node.js process that run file calls. */
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

/** Makes every file call of this process hang until `release`, like calls into a dead network volume. */
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

async function gathered(): Promise<string[]> {
  const environment = { kind: 'own', variables: {}, folder, secretDir: folder } as const;
  const facts = await gather({
    manifest,
    upstreamUrl: null,
    environment,
    now: () => NOON,
    checksModel: true,
  });
  return check(manifest, facts).checks.map(({ id, status }) => `${id} ${status}`);
}

test('a hung directory does not block reports, is reported as unknown, and recovers', async () => {
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
  using timers = holdTimers();
  const first = gathered();
  await timers.pass(5_999);
  expect(await first).toEqual(unknown);
  // Reads do not queue behind a hung read, so no time has to pass.
  expect(await gathered()).toEqual(unknown);
  await release();
  const known = [
    'file:prompt.md pass',
    'secret:model-key fail',
    'secret:db-url pass',
    'model:openai/m skip',
    'service:db skip',
  ];
  let later = await gathered();
  for (const deadline = Date.now() + 120_000; later[0] !== known[0] && Date.now() < deadline;) {
    // Completed file calls need a turn of the event loop, which a report without file reads does not provide.
    await new Promise((resolve) => setImmediate(resolve));
    later = await gathered();
  }
  expect(later).toEqual(known);
});
