import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { HealthReport, Check } from '../core/shapes/health.ts';
import {
  startPostgres,
  startRedis,
  whyNoDebianServers,
  type RunningServer,
} from '../testing/machine/debian-server.ts';
import { holdDeadlines } from '../testing/time/held-deadlines.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';
import { until } from '../testing/time/until.ts';
import { startQuestionRelay } from '../testing/http/question-relay.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { stopProcess } from '../testing/machine/stop-process.ts';
import { runCommandLine } from './program.ts';

const MANIFEST = manifestText(`  requires:
    services: [{ name: store, type: redis, address: $env:STORE_URL, critical: true }]
  memory: { longTerm: { backend: postgres, connectionString: $env:MEMORY_URL } }
`);

(whyNoDebianServers() ? describe.skip : describe)('platform health with a real Redis and PostgreSQL', () => {
  let cwd: string;
  let redis: RunningServer;
  let postgres: RunningServer;
  let closed: number;
  const servers = new TestServers();
  afterEach(() => servers.close());

  beforeAll(async () => {
    cwd = mkdtempSync(join(tmpdir(), 'health-'));
    writeFileSync(join(cwd, 'agent.yaml'), MANIFEST);
    [redis, postgres] = await Promise.all([startRedis({ password: 'secret' }), startPostgres()]);
    closed = await servers.closedPort();
    // A starting PostgreSQL accepts connections but rejects the startup packet.
    const deadline = Date.now() + 100_000;
    while (Date.now() < deadline && (await runHealth(redis.port, postgres.port)).memory.status !== 'pass');
  });
  afterAll(async () => {
    await Promise.all([redis?.close(), postgres?.close()]);
    rmSync(cwd, { recursive: true, force: true });
  });

  type Found = Pick<Check, 'status' | 'message'>;

  /** Checks these two ports; the password in the addresses must not be printed. */
  async function runHealth(
    store: number,
    memory: number,
  ): Promise<{ exitCode: number; store: Found; memory: Found }> {
    const env = {
      OPENAI_API_KEY: 'any',
      STORE_URL: `redis://:secret@127.0.0.1:${store}/0`,
      MEMORY_URL: `postgres://app:secret@127.0.0.1:${memory}/memory`,
    };
    const args = ['health', 'agent.yaml', '--json', '--no-model'];
    const context = { env, cwd, now: () => new Date(), color: false, ask: null };
    const { output, errors, exitCode } = await runCommandLine(args, context);
    expect([errors, output.includes('secret')]).toEqual(['', false]);
    const { checks } = JSON.parse(output) as HealthReport;
    const found = (id: string): Found => {
      const { status, message } = checks.find((each) => each.id === id)!;
      return message === undefined ? { status } : { status, message };
    };
    return { exitCode, store: found('service:store'), memory: found('memory:longTerm') };
  }

  /** The same for unresponsive servers: the probe timeout elapses after both requests were sent. */
  async function runHealthUntilTimeout(store: number, memory: number): ReturnType<typeof runHealth> {
    const relays = await Promise.all([store, memory].map((port) => startQuestionRelay(servers, port)));
    using timers = holdDeadlines();
    const running = runHealth(relays[0]!.port, relays[1]!.port);
    await until(() => relays.every(({ questions }) => questions() > 0), 'both questions');
    await timers.pass(5_999);
    return running;
  }

  const PASS = { status: 'pass' };
  const REFUSED = { status: 'fail', message: 'connection refused' };
  const SILENT = { status: 'fail', message: 'connection accepted, but no response within 3 s' };

  test('servers are up: both checks pass without a login', async () => {
    expect(await runHealth(redis.port, postgres.port)).toEqual({ exitCode: 0, store: PASS, memory: PASS });
  });

  test('a server is down: a critical service is an error, memory a warning', async () => {
    expect(await runHealth(closed, postgres.port)).toEqual({ exitCode: 1, store: REFUSED, memory: PASS });
    expect(await runHealth(redis.port, closed)).toEqual({ exitCode: 0, store: PASS, memory: REFUSED });
  });

  test('servers are suspended: both checks fail although connections are accepted', async () => {
    for (const { pid } of [redis, postgres]) await stopProcess(pid);
    try {
      const found = await runHealthUntilTimeout(redis.port, postgres.port);
      expect(found).toEqual({ exitCode: 1, store: SILENT, memory: SILENT });
    } finally {
      for (const { pid } of [redis, postgres]) process.kill(pid, 'SIGCONT');
    }
    expect(await runHealth(redis.port, postgres.port)).toEqual({ exitCode: 0, store: PASS, memory: PASS });
  });

  test('fails if a Redis listens where PostgreSQL is declared', async () => {
    const { memory } = await runHealthUntilTimeout(redis.port, redis.port);
    expect(memory.status).toBe('fail');
  });
});
