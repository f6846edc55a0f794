import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Check } from '../core/shapes/health.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { createReporter, type Reporter } from '../reporter/index.ts';
import {
  startPostgres,
  startRedis,
  whyNoDebianServers,
  type RunningServer,
} from '../testing/machine/debian-server.ts';
import { holdDeadlines } from '../testing/time/held-deadlines.ts';
import { until } from '../testing/time/until.ts';
import { startQuestionRelay, type QuestionRelay } from '../testing/http/question-relay.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../testing/sidecar/sidecar-rig.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { stopProcess } from '../testing/machine/stop-process.ts';

type Result = Pick<Check, 'status'> & { latencyMs?: unknown; message?: string };
interface Ready {
  status: string;
  source: string;
  checks: Check[];
}

const ids = ['service:cache', 'memory:shortTerm', 'service:orders', 'memory:longTerm'] as const;
const passes = (): Result => ({ status: 'pass', latencyMs: expect.any(Number) });
const fails = (message: string): Result => ({ status: 'fail', message });
const REFUSED = fails('connection refused');
const SILENT = fails('connection accepted, but no response within 3 s');

(whyNoDebianServers() ? describe.skip : describe)('checks of a real Redis and a real PostgreSQL', () => {
  let redis: RunningServer;
  let postgres: RunningServer;
  let spec: Record<string, object>;
  let rig: SidecarRig | null = null;
  let reporter: Reporter | null = null;
  const servers = new TestServers();

  beforeAll(async () => {
    redis = await startRedis();
    postgres = await startPostgres({ password: 'secret' });
    spec = specOf(redis.port, postgres.port);
  });

  function specOf(redisPort: number, postgresPort: number): Record<string, object> {
    const urls = {
      redis: `redis://127.0.0.1:${redisPort}/0`,
      postgres: `postgres://postgres:secret@127.0.0.1:${postgresPort}/postgres`,
    };
    return {
      model: { provider: 'unknown', id: 'm', apiKey: 'literal' },
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
  }

  /** Puts both servers behind relays and returns a manifest spec with the relays. */
  async function behindRelays(): Promise<{ relays: QuestionRelay[]; relayed: Record<string, object> }> {
    const relays = await Promise.all([redis, postgres].map(({ port }) => startQuestionRelay(servers, port)));
    return { relays, relayed: specOf(relays[0]!.port, relays[1]!.port) };
  }

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

  /** Starts a sidecar and an agent, with or without the reporter. */
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
    // A report requested during the first check would return results from before the changes of the test.
    await inAgent.getReport();
    return rig;
  }

  async function requestReady(from: SidecarRig): Promise<Ready & { found: (Result | undefined)[] }> {
    const text = await (await from.control('/health/ready')).text();
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
    return { ...ready, found };
  }

  async function whileStopped<T>(stopped: readonly RunningServer[], work: () => Promise<T>): Promise<T> {
    for (const { pid } of stopped) await stopProcess(pid);
    try {
      return await work();
    } finally {
      for (const { pid } of stopped) process.kill(pid, 'SIGCONT');
    }
  }

  test.each(['manifest-static', 'agent-sdk'] as const)('pass while both are up, as %s', async (mode) => {
    const startedAtMs = performance.now();
    const ready = await requestReady(await start(mode));
    const elapsedMs = performance.now() - startedAtMs;
    expect([ready.source, ready.found]).toEqual([mode, ids.map(passes)]);
    // A latency is at most the duration of the whole request, on the same clock.
    for (const { latencyMs = 0 } of ready.checks) expect(latencyMs).toBeLessThanOrEqual(Math.ceil(elapsedMs));
  });

  test.each(['manifest-static', 'agent-sdk'] as const)(
    'fail while Redis is down and pass after its restart, as %s',
    async (mode) => {
      const from = await start(mode);
      const { port } = redis;
      await redis.close();
      const down = await requestReady(from);
      redis = await startRedis({ port });
      expect(down.found).toEqual([REFUSED, REFUSED, passes(), passes()]);
      expect(down.status).toBe('degraded');
      expect((await requestReady(from)).found).toEqual(ids.map(passes));
    },
  );

  test('detect suspended servers by protocol-level pings, and the report is ready in time', async () => {
    const { relays, relayed } = await behindRelays();
    const from = await start('agent-sdk', relayed);
    const before = relays.map(({ questions }) => questions());
    const hung = await whileStopped([redis, postgres], async () => {
      using timers = holdDeadlines();
      const pending = requestReady(from);
      await until(
        () => relays.every(({ questions }, index) => questions() === before[index]! + 2),
        'the pings of the reporter',
      );
      // The time-out of the reporter's probes. The sidecar waits 5 s for the reporter, so no other limit ends here.
      await timers.pass(3_000);
      return pending;
    });
    expect([hung.source, hung.found]).toEqual(['agent-sdk', [SILENT, SILENT, SILENT, SILENT]]);
    expect((await requestReady(from)).found).toEqual(ids.map(passes));
  });

  test('report the latency of a slow response', async () => {
    const { relays, relayed } = await behindRelays();
    const [cache, orders] = relays as [QuestionRelay, QuestionRelay];
    const from = await start('agent-sdk', { requires: relayed['requires']! });
    const [firstCache, firstOrders] = [cache.clients.length, orders.clients.length];
    // Only a client that sends data is a probe of the reporter: the sidecar connects without sending data.
    const probeOf = ({ clients }: QuestionRelay, first: number) =>
      clients.slice(first).find(({ askedAtMs }) => askedAtMs !== null);
    // No probe times out, even on a busy machine.
    using _timers = holdDeadlines();
    const requestedAtMs = performance.now();
    let releasedAtMs = 0;
    const slow = await whileStopped([redis], async () => {
      const pending = requestReady(from);
      await until(
        () =>
          probeOf(cache, firstCache) !== undefined &&
          (probeOf(orders, firstOrders)?.closedAtMs ?? null) !== null,
        'the ping to Redis and the response of PostgreSQL',
      );
      await sleep(50);
      releasedAtMs = performance.now();
      process.kill(redis.pid, 'SIGCONT');
      return pending;
    });
    const endedAtMs = performance.now();
    const latencyOf = (wanted: string): number =>
      slow.checks.find(({ id }) => id === wanted)?.latencyMs ?? NaN;
    expect(slow.found).toEqual(ids.map(passes));
    // Redis: at least from the ping until Redis was resumed. PostgreSQL: at most until its connection was closed. Reported
    // latencies are rounded to a millisecond.
    const heldMs = releasedAtMs - probeOf(cache, firstCache)!.askedAtMs!;
    expect(latencyOf('service:cache')).toBeGreaterThanOrEqual(Math.floor(heldMs));
    expect(latencyOf('service:cache')).toBeLessThanOrEqual(Math.ceil(endedAtMs - requestedAtMs));
    const responseMs = probeOf(orders, firstOrders)!.closedAtMs! - requestedAtMs;
    expect(latencyOf('service:orders')).toBeLessThanOrEqual(Math.ceil(responseMs));
  });
});
