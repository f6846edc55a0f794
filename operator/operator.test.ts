import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { silentLogger } from '../runtime/logger.ts';
import { startFakeApiServer, type FakeApiServer } from '../testing/cluster/fake-api-server.ts';
import { configOf, kubeconfigFor } from '../testing/cluster/operator-config.ts';
import { startOperator, type Operator } from './start.ts';

const PODS = '/api/v1/pods';

let server: FakeApiServer;
let scratch: string;
let kubeconfig: string;

beforeEach(async () => {
  server = await startFakeApiServer();
  scratch = mkdtempSync(join(tmpdir(), 'agent-compliance-operator-'));
  kubeconfig = join(scratch, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor(server.access.server));
});
afterEach(async () => {
  await server.close();
  rmSync(scratch, { recursive: true, force: true });
});

async function until<T>(check: () => Promise<T | false> | T | false): Promise<T> {
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
  let passedMs = 0;
  /** Delays after errors are short. */
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => performance.now() + passedMs,
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 50), signal),
  };
  // A failed test must not leave an operator running, because its timers would keep the test run from ending.
  afterEach(() => operator.close());

  function start(): Promise<Operator> {
    const config = configOf({ POD_NAME: 'operator-1', KUBECONFIG: kubeconfig });
    return startOperator(config, silentLogger, new AbortController().signal, { clock });
  }

  async function get(path: string): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`http://127.0.0.1:${operator.port}${path}`);
    return { status: response.status, body: await response.json() };
  }

  test('is live, but neither ready nor leader before its caches are synced', async () => {
    // There are two lists of pods, in any order.
    for (let index = 0; index < 2; index += 1)
      server.fail({ when: ({ url }) => url.pathname === PODS, response: 'hang' });
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
    passedMs += 20_000;
    // Each informer detects the outage separately.
    await until(async () => {
      const { status, body } = await get('/readyz');
      const { detail } = body as { detail: string };
      return (
        status === 503 &&
        detail === 'caches not up to date: pods, unlabelledPods, observations, services, mounts'
      );
    });
    expect((await get('/livez')).status).toBe(200);
    server.away(false);
    await until(async () => (await get('/readyz')).status === 200);
  });

  /** What the dashboards of kubebuilder for controller-runtime read; the names of queues are in the label `controller`. */
  const BY_QUEUE = [
    'controller_runtime_active_workers',
    'controller_runtime_reconcile_total',
    'controller_runtime_reconcile_errors_total',
    'workqueue_depth',
    'workqueue_queue_duration_seconds_bucket',
    'workqueue_adds_total',
    'workqueue_unfinished_work_seconds',
    'workqueue_work_duration_seconds_bucket',
    'workqueue_retries_total',
  ];
  const OF_PROCESS = [
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
  ];

  test('has the metrics of dashboards for controller-runtime, with the same names of queues', async () => {
    operator = await start();
    const path = '/apis/coordination.k8s.io/v1/namespaces/system/leases/platform-operator';
    await until(() => server.get(path) !== undefined);
    const samples = async () =>
      (await (await fetch(`http://127.0.0.1:${operator.port}/metrics`)).text()).split('\n');
    const lines = await until(async () => {
      const found = await samples();
      return found.some((line) => line.startsWith('workqueue_adds_total{')) && found;
    });
    const queuesOf = (name: string) =>
      lines
        .filter((line) => line.startsWith(`${name}{`))
        .flatMap((line) => /\bcontroller="([^"]*)"/.exec(line)?.[1] ?? []);
    for (const name of BY_QUEUE)
      expect([name, [...new Set(queuesOf(name))].sort()]).toEqual([
        name,
        ['agents', 'aging', 'skipped-pods'],
      ]);
    for (const name of OF_PROCESS)
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${name} [0-9.]*[1-9]`)));
  });

  test('releases leadership when it stops', async () => {
    operator = await start();
    const path = '/apis/coordination.k8s.io/v1/namespaces/system/leases/platform-operator';
    await until(() => server.get(path) !== undefined);
    await operator.close();
    expect(server.get(path)?.['spec']).toMatchObject({ holderIdentity: '' });
  });
});
