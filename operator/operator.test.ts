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
/** What Node.js compiles for the first process serves the others: half of a start. */
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

async function until<T>(look: () => Promise<T | false> | T | false): Promise<T> {
  // A process may take long to start.
  const end = performance.now() + 90_000;
  for (;;) {
    const found = await look();
    if (found !== false) return found;
    if (performance.now() > end) throw new Error('not in a minute and a half');
    await delay(20);
  }
}

describe('the operator', () => {
  let operator: Operator;
  // A test that fails must not leave an operator behind, whose timers would keep the whole run from ending.
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

  test('is alive, but not ready and no leader before it has seen the cluster', async () => {
    // Two lists are of pods, and nothing says which one comes first.
    for (let index = 0; index < 2; index += 1)
      server.fail({ when: ({ url }) => url.pathname === PODS, answer: 'hang' });
    operator = await start();
    await until(async () => {
      const { status, body } = await get('/readyz');
      return (
        status === 503 &&
        (body as { detail: string }).detail === 'the API server is not heard: pods, unlabelledPods'
      );
    });
    expect(await get('/livez')).toEqual({ status: 200, body: { status: 'live' } });
    expect(server.requests.filter(({ url }) => url.pathname.includes('leases'))).toEqual([]);
  });

  test('is not ready while the API server is away, and is again when it is back', async () => {
    operator = await start();
    await until(async () => (await get('/readyz')).status === 200);
    const path = '/apis/coordination.k8s.io/v1/namespaces/system/leases/platform-operator';
    await until(() => server.get(path) !== undefined);
    server.away(true);
    // Each informer notices for itself, one after the other.
    await until(async () => {
      const { status, body } = await get('/readyz');
      const { detail } = body as { detail: string };
      return (
        status === 503 &&
        detail === 'the API server is not heard: pods, unlabelledPods, observations, services'
      );
    });
    expect((await get('/livez')).status).toBe(200);
    server.away(false);
    await until(async () => (await get('/readyz')).status === 200);
  });

  test('gives up the lead when it stops', async () => {
    operator = await start();
    const path = '/apis/coordination.k8s.io/v1/namespaces/system/leases/platform-operator';
    await until(() => server.get(path) !== undefined);
    await operator.close();
    expect(server.get(path)?.['spec']).toMatchObject({ holderIdentity: '' });
  });
});

describe('the process', () => {
  let child: ChildProcess;
  // Nor must a test that fails leave a process.
  afterEach(() => void child.kill('SIGKILL'));

  /** `exit` resolves when all that it has written is read, too. */
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

  test('runs, and ends on SIGTERM with exit code 0, without a word of its credentials', async () => {
    const { exit, log } = spawnOperator({
      KUBECONFIG: kubeconfig,
      PORT: String((await freePorts(1))[0]),
      LOG_LEVEL: 'debug',
    });
    await until(() => log().includes('"message":"leads"'));
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    const messages = log()
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { message: string }).message)
      // What it says of an API server that takes its time, as a busy machine does.
      .filter((message) => !['watch is interrupted', 'leader election fails'].includes(message));
    expect(messages).toEqual([
      'listens',
      'has seen the cluster',
      'leads',
      'stops',
      'releases the lead',
      'is stopped',
    ]);
    expect(log()).not.toContain('secret-token');
  });

  test.each<[string, Record<string, string>, string]>([
    ['no pod and no kubeconfig', {}, 'this process does not run in a pod with a ServiceAccount'],
    ['a kubeconfig that is not there', { KUBECONFIG: '/nowhere/config' }, 'ENOENT'],
  ])('ends with exit code 1 and the reason for %s', async (_, env, reason) => {
    const { exit, log } = spawnOperator(env);
    expect(await exit).toEqual([1, null]);
    expect(log()).toContain(reason);
  });
});
