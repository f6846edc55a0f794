import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Check } from '../core/health/health.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { createReporter, type Reporter } from '../reporter/index.ts';
import {
  startPostgres,
  startRedis,
  whyNoDebianServers,
  type RunningServer,
} from '../testing/debian-server.ts';
import { fullListener } from '../testing/full-listener.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar-rig.ts';
import { TestServers } from '../testing/sockets.ts';
import { stopProcess } from '../testing/stop-process.ts';
import { stopwatch } from '../testing/stopwatch.ts';

type Found = Pick<Check, 'status'> & { latencyMs?: unknown; message?: string };
interface Ready {
  status: string;
  source: string;
  checks: Check[];
}

const ids = ['service:cache', 'memory:shortTerm', 'service:orders', 'memory:longTerm'] as const;
const passes = (): Found => ({ status: 'pass', latencyMs: expect.any(Number) });
const fails = (message: string): Found => ({ status: 'fail', message });
const REFUSED = fails('connection refused');
const SILENT = fails('it accepts connections but does not answer within 3 s');

(whyNoDebianServers() ? describe.skip : describe)('a real Redis and a real PostgreSQL', () => {
  let redis: RunningServer;
  let postgres: RunningServer;
  let spec: Record<string, unknown>;
  let rig: SidecarRig | null = null;
  let reporter: Reporter | null = null;
  const servers = new TestServers();

  beforeAll(async () => {
    redis = await startRedis();
    postgres = await startPostgres({ password: 'secret' });
    const urls = {
      redis: `redis://127.0.0.1:${redis.port}/0`,
      postgres: `postgres://postgres:secret@127.0.0.1:${postgres.port}/postgres`,
    };
    spec = {
      model: { provider: 'nobody', id: 'm', apiKey: 'literal' },
      requires: {
        services: [
          { name: 'cache', type: 'redis', address: urls.redis },
          { name: 'orders', type: 'postgres', address: urls.postgres, critical: true },
        ],
      },
      memory: {
        shortTerm: { backend: 'redis', connection: urls.redis },
        longTerm: { backend: 'postgres', connectionString: urls.postgres },
      },
    };
  });
  afterEach(async () => {
    await rig?.close();
    await reporter?.stop();
    await servers.close();
    rig = reporter = null;
  });
  afterAll(async () => {
    await redis.close();
    await postgres.close();
  });

  /** A sidecar before an agent, without or with the reporter in it. */
  async function start(mode: 'manifest-static' | 'agent-sdk', more: object = {}): Promise<SidecarRig> {
    const text = manifestText({ ...spec, ...more });
    rig = await startSidecarRig({ manifest: text, agent: { '/health': 200, '/capabilities': 200 } });
    if (mode === 'manifest-static') return rig;
    const inAgent = createReporter({
      manifest: JSON.parse(text) as Manifest,
      env: {},
      push: false,
      staleAfterMs: 1,
    });
    inAgent.start();
    reporter = inAgent;
    rig.agent.otherwise = (request, response) => {
      if (!inAgent.handle(request, response)) response.writeHead(404).end();
    };
    // Whoever asks while the first check runs gets what it found before the test changed anything.
    await inAgent.getReport();
    return rig;
  }

  async function look(from: SidecarRig): Promise<Ready & { ms: number; found: (Found | undefined)[] }> {
    const elapsed = stopwatch();
    const text = await (await from.control('/health/ready')).text();
    const ms = elapsed();
    expect(text).not.toContain('secret');
    const ready = JSON.parse(text) as Ready;
    const found = ids.map((id) => {
      const check = ready.checks.find((each) => each.id === id);
      if (check === undefined) return undefined;
      const { status, latencyMs, message } = check;
      return {
        status,
        ...(latencyMs === undefined ? {} : { latencyMs }),
        ...(message === undefined ? {} : { message }),
      };
    });
    return { ...ready, ms, found };
  }

  async function whileStopped<T>(stopped: readonly RunningServer[], work: () => Promise<T>): Promise<T> {
    for (const { pid } of stopped) await stopProcess(pid);
    try {
      return await work();
    } finally {
      for (const { pid } of stopped) process.kill(pid, 'SIGCONT');
    }
  }

  test.each(['manifest-static', 'agent-sdk'] as const)('up, as %s', async (mode) => {
    const ready = await look(await start(mode));
    expect([ready.source, ready.found]).toEqual([mode, ids.map(passes)]);
    // What takes longer is no pass.
    for (const { latencyMs = 0 } of ready.checks) expect(latencyMs).toBeLessThan(3000);
  });

  test.each(['manifest-static', 'agent-sdk'] as const)('down and back again, as %s', async (mode) => {
    const from = await start(mode);
    const { port } = redis;
    await redis.close();
    const down = await look(from);
    redis = await startRedis({ port });
    expect(down.found).toEqual([REFUSED, REFUSED, passes(), passes()]);
    expect(down.status).toBe('degraded');
    expect((await look(from)).found).toEqual(ids.map(passes));
  });

  test('a critical one that is down makes the agent not ready', async () => {
    const from = await start('manifest-static', {
      requires: {
        services: [{ name: 'orders', address: `127.0.0.1:${await servers.closedPort()}`, critical: true }],
      },
    });
    const { status, checks } = await look(from);
    expect([status, checks.find(({ id }) => id === 'service:orders')?.severity]).toEqual([
      'not-ready',
      'error',
    ]);
  });

  test('stopped by a signal: the agent’s own protocol finds it, and the report is there in time', async () => {
    const from = await start('agent-sdk');
    const hung = await whileStopped([redis, postgres], () => look(from));
    expect([hung.source, hung.found]).toEqual(['agent-sdk', [SILENT, SILENT, SILENT, SILENT]]);
    expect(hung.ms).toBeLessThan(6000);
    expect((await look(from)).found).toEqual(ids.map(passes));
  });

  test('slow: the latency is that of its answer', async () => {
    let onAnswer = (): void => undefined;
    const relay = await servers.tcp((socket) => {
      const upstream = connect(postgres.port, '127.0.0.1').on('error', () => socket.destroy());
      socket.pipe(upstream).pipe(socket);
      socket.once('close', () => onAnswer());
    });
    const orders = { name: 'orders', type: 'postgres', address: `postgres://127.0.0.1:${relay}/postgres` };
    const { services } = spec['requires'] as { services: object[] };
    const from = await start('agent-sdk', { requires: { services: [services[0], orders] } });
    const slow = await whileStopped([redis], async () => {
      // Both are asked at once, and Redis says nothing until PostgreSQL has answered and this is over.
      onAnswer = () => void setTimeout(() => process.kill(redis.pid, 'SIGCONT'), 600);
      return look(from);
    });
    const latencies = slow.checks.flatMap(({ id, latencyMs }) =>
      id === 'service:cache' || id === 'service:orders' ? [latencyMs ?? 0] : [],
    );
    expect(slow.found).toEqual(ids.map(passes));
    expect(latencies[0]).toBeGreaterThan(500);
    expect(latencies[1]).toBeLessThan(latencies[0]!);
  });

  test('everything hangs at once: a hundred requests get their answer from one run, within six seconds', async () => {
    await using full = await fullListener();
    const silent = await servers.tcp(() => undefined);
    const address = `127.0.0.1:${full.port}`;
    const from = await start('manifest-static', {
      requires: { services: [{ name: 'full', address }, ...(spec['requires'] as { services: [] }).services] },
      mcp: { servers: [{ name: 'm', url: `http://127.0.0.1:${silent}/mcp` }] },
      memory: {
        ...(spec['memory'] as object),
        vector: { backend: 'qdrant', connectionString: `http://${address}` },
      },
      observability: { tracing: { backend: 'otlp', endpoint: `http://${address}` } },
    });
    const { agent } = from;
    agent.answers = {};
    agent.otherwise = () => undefined;
    agent.asked = {};
    const elapsed = stopwatch();
    const answers = await whileStopped([redis, postgres], () =>
      Promise.all(Array.from({ length: 100 }, async () => (await from.control('/health/ready')).text())),
    );
    expect(elapsed()).toBeLessThan(6000);
    expect(new Set(answers).size).toBe(1);
    expect(agent.asked).toEqual({ '/health': 1, '/capabilities': 1, '/platform/health': 1 });
    const { checks } = JSON.parse(answers[0] ?? '') as Ready;
    const failed = checks.filter(({ status }) => status === 'fail').map(({ id }) => id);
    expect(failed).toEqual(['service:full', 'mcp:m', 'memory:vector', 'tracing:otlp', 'agent:upstream']);
  });
});
