import { expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterBinary } from '../../testing/machine/cluster-binary.ts';
import { startOwnControlPlane, whyNoControlPlane } from './control.ts';
import { processesWith } from './processes.ts';
import { run } from './run.ts';

const testIfSupported = whyNoControlPlane() === undefined ? test : test.skip;

const isReady = (kubeconfig: string) =>
  run([clusterBinary('kubectl'), '--kubeconfig', kubeconfig, 'get', '--raw', '/readyz']);

/** Starts a control plane in a separate process; resolves with its kubeconfig. */
async function startInChild(): Promise<{ kubeconfig: string; kill: () => void }> {
  const script = `
    import { startOwnControlPlane } from ${JSON.stringify(join(import.meta.dirname, 'control.ts'))};
    console.log((await startOwnControlPlane()).kubeconfig);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [kubeconfig] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  return { kubeconfig: kubeconfig.trim(), kill: () => child.kill('SIGKILL') };
}

/**
 * Waits until the keys are removed and no process is left. The command that removes a directory has the directory in its
 * arguments until it ends, and it starts after the servers have ended.
 */
async function noProcessesWith(directory: string): Promise<void> {
  const deadline = Date.now() + 100_000;
  let left = processesWith(directory);
  while ((left.length > 0 || existsSync(join(directory, 'pki'))) && Date.now() < deadline) {
    await sleep(100);
    left = processesWith(directory);
  }
  expect(left).toEqual([]);
}

testIfSupported(
  'control planes run concurrently, and end when they are closed or their starting process is killed',
  async () => {
    const [own, child] = await Promise.all([startOwnControlPlane(), startInChild()]);
    const states = await Promise.all([own.kubeconfig, child.kubeconfig].map(isReady));
    expect(states).toEqual([
      { stdout: 'ok', stderr: '', code: 0 },
      { stdout: 'ok', stderr: '', code: 0 },
    ]);
    expect(own.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const [ownDirectory, childDirectory] = [own, child].map(({ kubeconfig }) =>
      dirname(dirname(kubeconfig)),
    ) as [string, string];
    expect(ownDirectory).not.toBe(childDirectory);
    expect([ownDirectory, childDirectory].map((directory) => processesWith(directory).length)).not.toContain(
      0,
    );

    await own.close();
    expect(existsSync(ownDirectory)).toBe(false);
    await noProcessesWith(ownDirectory);

    child.kill();
    await noProcessesWith(childDirectory);
  },
  120_000,
);
