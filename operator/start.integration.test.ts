import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { freePorts } from '../examples/demo/free-ports.ts';
import { COMPILE_CACHE } from '../testing/machine/compile-cache.ts';
import { startFakeApiServer, type FakeApiServer } from '../testing/cluster/fake-api-server.ts';
import { kubeconfigFor } from '../testing/cluster/operator-config.ts';

let server: FakeApiServer;
let scratch: string;
let kubeconfig: string;
let child: ChildProcess;

beforeEach(async () => {
  server = await startFakeApiServer();
  scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-operator-'));
  kubeconfig = join(scratch, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(server.access.server));
});
afterEach(async () => {
  // A failed test must not leave a process running.
  child.kill('SIGKILL');
  await server.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** `exit` resolves after the complete output of the process is read. */
function spawnOperator(env: Record<string, string>): { exit: Promise<unknown[]>; log: () => string } {
  const started = spawn(process.execPath, ['dist/operator/main.js'], {
    env: { PATH: process.env['PATH'], ...COMPILE_CACHE, LOG_FORMAT: 'json', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child = started;
  let log = '';
  started.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  return { exit: once(started, 'close'), log: () => log };
}

test('runs, and ends on SIGTERM with exit code 0, without credentials in its log', async () => {
  const { exit, log } = spawnOperator({
    KUBECONFIG: kubeconfig,
    PORT: String((await freePorts(1))[0]),
    LOG_LEVEL: 'debug',
  });
  while (!log().includes('"message":"became leader"')) {
    const ended = await Promise.race([once(child.stderr!, 'data'), exit.then(() => true)]);
    if (ended === true) throw new Error(log());
  }
  child.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  const messages = log()
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { message: string }).message)
    // On a busy machine the API server may respond late.
    .filter(
      (message) => !['list or watch interrupted', 'failed to acquire or renew Lease'].includes(message),
    );
  expect(messages).toEqual([
    'listening',
    'caches synced',
    'became leader',
    'shutting down',
    'released leadership',
    'stopped',
  ]);
  expect(log()).not.toContain('secret-token');
});

test.each<[string, Record<string, string>, string]>([
  ['no pod and no kubeconfig', {}, 'this process does not run in a pod with a ServiceAccount'],
  [
    'a missing kubeconfig',
    { KUBECONFIG: '/nowhere/config' },
    '/nowhere/config cannot be read: it does not exist',
  ],
])('ends with exit code 1 and the reason for %s', async (_, env, reason) => {
  const { exit, log } = spawnOperator(env);
  expect(await exit).toEqual([1, null]);
  expect(log()).toContain(reason);
});
