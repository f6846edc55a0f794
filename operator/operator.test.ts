import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../examples/demo/free-ports.ts';
import { silentLogger } from '../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../testing/fake-api-server.ts';
import { configOf } from '../testing/operator-config.ts';
import { startOperator, type Operator } from './start.ts';

const PODS = '/api/v1/pods';

let server: FakeApiServer;
let scratch: string;
let kubeconfig: string;
/** The compile cache of Node.js, shared by all processes; compiling takes half of the start time. */
let compiled: string;

beforeAll(() => {
  compiled = mkdtempSync(join(tmpdir(), 'compiled-'));
});
afterAll(() => rmSync(compiled, { recursive: true }));

beforeEach(async () => {
  server = await startFakeApiServer();
  scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-operator-'));
  kubeconfig = join(scratch, 'kubeconfig');
  const config = {
    clusters: [{ name: 'c', cluster: { server: server.access.server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'secret-token' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'system' } }],
    'current-context': 'x',
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
});
afterEach(async () => {
  await server.close();
  rmSync(scratch, { recursive: true, force: true });
});

async function until<T>(check: () => Promise<T | false> | T | false): Promise<T> {
  // A process may take long to start.
  const end = performance.now() + 90_000;
  for (;;) {
    const found = await check();
    if (found !== false) return found;
    if (performance.now() > end) throw new Error('condition not met within 90 s');
    await delay(20);
  }
}

describe('the operator', () => {
  let operator: Operator;
  // A failed test must not leave an operator running, because its timers would keep the test run from ending.
  afterEach(() => operator.close());

  function start(): Promise<Operator> {
    const config = configOf({
      POD_NAME: 'operator-1',
      KUBECONFIG: kubeconfig,
    });
    const informerTiming = {
      watchMs: 500,
      openMs: 5_000,
      lateMs: 2_000,
      freshMs: 2_500,
      backoff: { baseMs: 20, maxMs: 50 },
    };
    return startOperator(config, silentLogger, new AbortController().signal, { informerTiming });
  }

  async function get(path: string): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`http://127.0.0.1:${operator.port}${path}`);
    return { status: response.status, body: await response.json() };
  }

  test('is live, but neither ready nor leader before its caches are synced', async () => {
    // There are two lists of pods, in any order.
    for (let index = 0; index < 2; index += 1)
      server.fail({ when: ({ url }) => url.pathname === PODS, answer: 'hang' });
    operator = await start();
    await until(async () => {
      const { status, body } = await get('/readyz');
      return (
        status === 503 &&
        (body as { detail: string }).detail === 'caches not up to date: pods, unlabelledPods'
      );
    });
    expect(await get('/livez')).toEqual({ status: 200, body: { status: 'live' } });
    expect(server.requests.filter(({ url }) => url.pathname.includes('leases'))).toEqual([]);
  });

  test('is not ready while the API server is unavailable, and ready again when the API server is back', async () => {
    operator = await start();
    await until(async () => (await get('/readyz')).status === 200);
    const path = '/apis/coordination.k8s.io/v1/namespaces/system/leases/platform-operator';
    await until(() => server.get(path) !== undefined);
    server.away(true);
    // Each informer detects the outage separately.
    await until(async () => {
      const { status, body } = await get('/readyz');
      const { detail } = body as { detail: string };
      return (
        status === 503 && detail === 'caches not up to date: pods, unlabelledPods, observations, services'
      );
    });
    expect((await get('/livez')).status).toBe(200);
    server.away(false);
    await until(async () => (await get('/readyz')).status === 200);
  });

  test('releases leadership when it stops', async () => {
    operator = await start();
    const path = '/apis/coordination.k8s.io/v1/namespaces/system/leases/platform-operator';
    await until(() => server.get(path) !== undefined);
    await operator.close();
    expect(server.get(path)?.['spec']).toMatchObject({ holderIdentity: '' });
  });
});

describe('the process', () => {
  let child: ChildProcess;
  // A failed test must not leave a process running.
  afterEach(() => void child.kill('SIGKILL'));

  /** `exit` resolves after the complete output of the process is read. */
  function spawnOperator(env: Record<string, string>): { exit: Promise<unknown[]>; log: () => string } {
    const started = spawn(process.execPath, ['operator/main.ts'], {
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compiled, LOG_FORMAT: 'json', ...env },
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
    await until(() => log().includes('"message":"became leader"'));
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    const messages = log()
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { message: string }).message)
      // On a busy machine the API server may respond late.
      .filter((message) => !['watch interrupted', 'leader election error'].includes(message));
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
    ['a missing kubeconfig', { KUBECONFIG: '/nowhere/config' }, 'ENOENT'],
  ])('ends with exit code 1 and the reason for %s', async (_, env, reason) => {
    const { exit, log } = spawnOperator(env);
    expect(await exit).toEqual([1, null]);
    expect(log()).toContain(reason);
  });
});
