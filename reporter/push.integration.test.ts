import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Manifest } from '../core/manifest/manifest.ts';
import { COMPILE_CACHE } from '../testing/machine/compile-cache.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { SteppingClock } from '../testing/time/stepping-clock.ts';
import { stopProcess } from '../testing/machine/stop-process.ts';
import { createReporter, type Reporter, type ReporterOptions } from './index.ts';

const CONTROL_PLANE = join(dirname(import.meta.dirname), 'dist/control-plane/main.js');
const ADMIN_KEY = 'an-admin-key-of-the-test';
const MANIFEST: Manifest = {
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
  spec: { model: { provider: 'unknown-provider', id: 'gpt', apiKey: 'k' } },
};

let directory: string;
let port: number;
let plane: ChildProcess | null;
let reporters: Reporter[];
let log: unknown[][];
/** The clock of the reporters. Intervals, pauses and limits end when a test advances the clock. */
let clock: SteppingClock;

/** Starts a control plane process on the same port and with the same data as the previous process. */
async function startPlane(env: Record<string, string> = {}): Promise<void> {
  const child = spawn(process.execPath, [CONTROL_PLANE], {
    env: {
      PATH: process.env['PATH'],
      ...COMPILE_CACHE,
      LOG_FORMAT: 'json',
      DATA_DIR: join(directory, 'data'),
      PORT: String(port),
      PLATFORM_ADMIN_KEY: ADMIN_KEY,
      RATE_LIMIT_SECONDS: '0',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  plane = child;
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  await until(() => output.includes('"listening"') || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(output);
}

async function killPlane(): Promise<void> {
  const child = plane;
  plane = null;
  if (child?.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'reporter-push-'));
  port = await new TestServers().closedPort();
  [plane, reporters, log] = [null, [], []];
  // Starts at the current time, so that a new key of the control plane is valid on this clock.
  clock = new SteppingClock(new Date().toISOString());
});
afterEach(async () => {
  // First, so that the reporters do not wait for a last heartbeat.
  await killPlane();
  await Promise.all(reporters.map((each) => each.stop()));
  await rm(directory, { recursive: true });
});

async function until(condition: () => boolean | Promise<boolean>, withinMs = 100_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > deadline)
      throw new Error(`timeout while waiting for a condition: ${JSON.stringify(log)}`);
    await sleep(5);
  }
}

/** Like `until`, and advances the clock of the reporters by one second per check. */
const untilLater = (condition: () => boolean | Promise<boolean>): Promise<void> =>
  until(async () => {
    await clock.pass(1_000);
    return condition();
  });

const asAdmin = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    ...init,
    headers: { 'x-admin-key': ADMIN_KEY, 'content-type': 'application/json' },
  });

async function register(): Promise<string> {
  const body = JSON.stringify({ agentName: 'shop', runtime: 'local' });
  const response = await asAdmin('/register', { method: 'POST', body });
  return ((await response.json()) as { apiKey: string }).apiKey;
}

const stored = async (part: string): Promise<Record<string, unknown> | null> => {
  const response = await asAdmin(`/agents/shop/${part}`);
  const body = (await response.json()) as Record<string, unknown>;
  return response.ok ? body : null;
};

function aReporter(key: string, options: Partial<ReporterOptions> = {}): Reporter {
  const entry = (level: string) => (message: string, fields?: object) =>
    void log.push([level, message, fields]);
  const reporter = createReporter({
    manifest: MANIFEST,
    env: { PLATFORM_URL: `http://127.0.0.1:${port}`, PLATFORM_KEY: key, HEARTBEAT_SECONDS: '10' },
    logger: { warn: entry('warn'), info: entry('info'), debug: entry('debug') },
    clock,
    ...options,
  });
  reporters.push(reporter);
  return reporter;
}

const messages = (level: string): unknown[] =>
  log.filter(([of]) => of === level).map(([, message]) => message);

describe('push mode with a real control plane', () => {
  test('PLATFORM_URL and PLATFORM_KEY: health, gap and usage are stored, and the window is shipped once', async () => {
    await startPlane();
    const reporter = aReporter(await register());
    reporter.recordUsage('gpt', 30, 12);
    reporter.start();
    await until(async () => (await stored('health')) !== null);
    expect([await stored('health'), await stored('gap'), await stored('usage')]).toMatchObject([
      { status: 'healthy', agentName: 'shop' },
      { score: 70, grade: 'C', source: 'agent-sdk' },
      { totalTokens: 42, totalCalls: 1 },
    ]);
    await until(() => reporter.getUsage().totalTokens === 0);
    expect(await (await asAdmin('/agents')).json()).toMatchObject([
      { agentName: 'shop', runtime: 'local', phase: 'Healthy', tokens: 42 },
    ]);
    expect(messages('warn')).toEqual([]);
  });

  test('proofs: a proof in the control plane counts in score and evidence until it is removed', async () => {
    await startPlane();
    const evaluation = { datasets: [{ name: 'orders', path: 'orders.jsonl' }] };
    const manifest = { ...MANIFEST, spec: { ...MANIFEST.spec, evaluation } };
    const key = await register();
    const proof = '/agents/shop/proof/rule/EVAL-01';
    const body = JSON.stringify({ verifiedBy: 'ci', method: 'automated' });
    expect((await asAdmin(proof, { method: 'POST', body })).ok).toBe(true);
    // Only a heartbeat that is sent early arrives before the clock passes a minute.
    const push = { url: `http://127.0.0.1:${port}`, key, intervalSeconds: 60 };
    const reporter = aReporter(key, { manifest, push });
    reporter.start();
    const gapHas = async (property: string): Promise<boolean | undefined> => {
      const gap = (await stored('gap')) as { issues: { property: string }[] } | null;
      return gap?.issues.some((issue) => issue.property === property);
    };
    await until(async () => (await gapHas('evaluated')) === true);
    await until(() => clock.left().some((ms) => ms <= 1_000));
    await clock.pass(1_000);
    await until(async () => (await gapHas('evaluated')) === false);
    expect([await stored('gap'), await stored('proof')]).toMatchObject([
      {
        score: 70,
        evidence: { items: expect.arrayContaining([expect.objectContaining({ tier: 'proved' })]) },
      },
      [{ ruleId: 'EVAL-01', origin: 'control-plane', verifiedBy: 'ci' }],
    ]);
    expect((await asAdmin(proof, { method: 'DELETE' })).ok).toBe(true);
    await clock.pass(1.1 * 60_000, 60_000);
    await untilLater(async () => (await gapHas('evaluated')) === true);
    expect(await stored('proof')).toEqual([]);
    expect(messages('warn')).toEqual([]);
  });

  test('back-off: an unavailable control plane causes one warning, and no count is lost', async () => {
    await startPlane();
    const key = await register();
    await killPlane();
    const reporter = aReporter(key);
    reporter.recordUsage('gpt', 1, 0);
    reporter.start();
    await untilLater(() => messages('debug').includes('heartbeat still not delivered'));
    reporter.recordUsage('gpt', 10, 0);
    expect([messages('warn'), reporter.getUsage().totalTokens]).toEqual([['heartbeat not delivered'], 11]);
    await startPlane();
    await untilLater(() => messages('info').includes('heartbeats delivered again'));
    await reporter.stop();
    expect(await (await asAdmin('/agents')).json()).toMatchObject([{ agentName: 'shop', tokens: 11 }]);
    expect(reporter.getUsage().totalTokens).toBe(0);
  });

  test('timeout: a control plane that hangs delays neither the agent nor its shutdown', async () => {
    await startPlane();
    const reporter = aReporter(await register());
    await stopProcess(plane!.pid!);
    reporter.start();
    expect((await reporter.getReport())?.status).toBe('healthy');
    let isStopped = false;
    const stopping = reporter.stop().then(() => (isStopped = true));
    // The last heartbeat has one second on the reporter's clock; the control plane hangs before and after it.
    await until(() => clock.left().includes(1_000));
    await clock.pass(999);
    expect(isStopped).toBe(false);
    await clock.pass(1);
    await stopping;
    plane?.kill('SIGCONT');
  });

  test('rate limit: a heartbeat that is too early waits for Retry-After and does not count as a failure', async () => {
    // Longer than the time between two heartbeats on any machine.
    await startPlane({ RATE_LIMIT_SECONDS: '3600' });
    let tools: string[] = ['search'];
    const services = [{ name: 'gone', address: '127.0.0.1:9', critical: true }];
    let isCritical = false;
    const manifest = {
      ...MANIFEST,
      spec: {
        ...MANIFEST.spec,
        get requires() {
          return isCritical ? { services } : {};
        },
      },
    };
    const reporter = aReporter(await register(), { manifest, tools: () => tools, staleAfterMs: 1 });
    reporter.start();
    await until(async () => (await stored('health')) !== null);
    // A status change triggers a heartbeat immediately, which is too early.
    isCritical = true;
    tools = [];
    await clock.pass(1_000);
    expect((await reporter.getReport())?.status).toBe('unhealthy');
    await untilLater(() => messages('debug').includes('heartbeat rate limited'));
    const [, , fields] = log.find(([level]) => level === 'debug')!;
    const { retryAfterMs } = fields as { retryAfterMs: number };
    await killPlane();
    await startPlane();
    await until(() => clock.left().some((ms) => ms > retryAfterMs / 2));
    expect((await stored('health'))?.['status']).toBe('healthy');
    await clock.pass(1.1 * retryAfterMs, 1.1 * retryAfterMs);
    await untilLater(async () => (await stored('health'))?.['status'] === 'unhealthy');
    expect([messages('warn'), messages('debug')]).toEqual([[], ['heartbeat rate limited']]);
  });

  test('key renewal: the key is renewed after two thirds of its lifetime, and the old key stays valid', async () => {
    await startPlane();
    const key = await register();
    const days21 = 21 * 24 * 3_600_000;
    const later = new SteppingClock(new Date(Date.now() + days21).toISOString());
    const reporter = aReporter(key, { clock: later });
    reporter.start();
    await until(() => messages('info').includes('control plane key renewed'));
    expect(messages('warn')).toEqual([]);
    const renewed = await fetch(`http://127.0.0.1:${port}/api/v1/token`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    expect(renewed.status).toBe(200);
    expect(JSON.stringify(log)).not.toContain(key.split('.')[2]);
  });

  test.each<[string, () => Promise<string>]>([
    [
      'revoked',
      async () => {
        const key = await register();
        await asAdmin('/agents/shop', { method: 'DELETE' });
        return key;
      },
    ],
    ['forged', () => Promise.resolve('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2VjcmV0LXNpZ25hdHVyZQ')],
    ['malformed', () => Promise.resolve('secret-signature')],
  ])('a key that is %s: one warning with the status, never the key', async (_name, makeKey) => {
    await startPlane();
    const key = await makeKey();
    const reporter = aReporter(key);
    reporter.recordUsage('gpt', 5, 0);
    reporter.start();
    await untilLater(() => messages('debug').includes('heartbeat still not delivered'));
    expect(log.filter(([level]) => level === 'warn')).toEqual([
      ['warn', 'heartbeat not delivered', expect.objectContaining({ kind: 'refused', status: 401 })],
    ]);
    const parts = [key, ...key.split('.')].filter((part) => part.length > 10);
    for (const part of parts) expect(JSON.stringify(log)).not.toContain(part);
    expect(reporter.getUsage().totalTokens).toBe(5);
  });

  test('body limit: a report far above 64 KiB is truncated and accepted with its usage', async () => {
    await startPlane();
    const tools = Array.from({ length: 2_000 }, (_, n) => ({ name: `tool-${n}-${'x'.repeat(100)}` }));
    const reporter = aReporter(await register(), {
      manifest: { ...MANIFEST, spec: { ...MANIFEST.spec, tools } },
      tools: [],
    });
    reporter.recordUsage('gpt', 7, 0);
    reporter.start();
    await until(async () => (await stored('usage')) !== null);
    expect([(await stored('usage'))?.['totalTokens'], (await stored('gap'))?.['grade']]).toEqual([7, 'F']);
    expect(messages('warn')).toEqual(['heartbeat shortened to the size limit']);
  });

  test('createReporter rejects invalid push variables without printing the key', () => {
    const env = { PLATFORM_URL: 'ftp://plane', PLATFORM_KEY: 'secret-key', PLATFORM_TOKEN_FILE: '/x' };
    const create = (): unknown => createReporter({ manifest: MANIFEST, env });
    expect(create).toThrow('exactly one of PLATFORM_KEY and PLATFORM_TOKEN_FILE is required');
    expect(create).not.toThrow('secret-key');
  });
});
