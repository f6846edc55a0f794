import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Check } from '../core/shapes/health.ts';
import {
  startPostgres,
  startRedis,
  whyNoDebianServers,
  type RunningServer,
} from '../testing/machine/debian-server.ts';
import { holdDeadlines } from '../testing/time/held-deadlines.ts';
import { until } from '../testing/time/until.ts';
import { startQuestionRelay, type QuestionRelay } from '../testing/http/question-relay.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { stopProcess } from '../testing/machine/stop-process.ts';
import { createReporter, type ManifestSpec } from './index.ts';

const servers = new TestServers();
afterEach(() => servers.close());

const pass = { status: 'pass', latencyMs: expect.any(Number) };
const fail = (message: string): unknown => ({ status: 'fail', message });

/**
 * The checks of a reporter whose agent has this URL in a variable. Timers do not advance, unless `hung` is a relay in front of
 * a server that hangs. Then the timers advance by almost the six seconds of a report after all probes have sent their request.
 */
async function checksFor(
  url: string,
  spec: Partial<ManifestSpec>,
  hung?: { relay: QuestionRelay; probes: number },
): Promise<Map<string, Partial<Check>>> {
  using timers = holdDeadlines();
  const reporter = createReporter({
    manifest: {
      apiVersion: 'platform.io/v1',
      kind: 'PlatformAgent',
      metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
      spec: { model: { provider: 'unknown-provider', id: 'm', apiKey: 'k' }, ...spec },
    },
    env: { STORE_URL: url },
    push: false,
  });
  reporter.start();
  const reporting = reporter.getReport();
  if (hung !== undefined) {
    await until(() => hung.relay.questions() === hung.probes, 'the requests of all probes');
    await timers.pass(5_999);
  }
  const report = await reporting;
  await reporter.stop();
  // No report may contain a password.
  expect(JSON.stringify(report)).not.toContain('secret');
  return new Map(
    report?.checks.map(({ id, status, latencyMs, message }) => [
      id,
      {
        status,
        ...(latencyMs === undefined ? {} : { latencyMs }),
        ...(message === undefined ? {} : { message }),
      },
    ]),
  );
}

const NO_RESPONSE = fail('connection accepted, but no response within 3 s');
const REFUSED = fail('connection refused');

(whyNoDebianServers() ? describe.skip : describe)('the service checks of the reporter', () => {
  describe('Redis', () => {
    let redis: RunningServer;
    let guarded: RunningServer;
    const spec: Partial<ManifestSpec> = {
      requires: { services: [{ name: 'cache', type: 'redis', address: '$env:STORE_URL' }] },
      memory: { backend: 'redis', shortTerm: { backend: 'redis', connection: '$env:STORE_URL' } },
    };
    const found = async (url: string, relay?: QuestionRelay): Promise<unknown[]> => {
      const checks = await checksFor(url, spec, relay && { relay, probes: 3 });
      return ['service:cache', 'memory:backend', 'memory:shortTerm'].map((id) => checks.get(id));
    };
    beforeAll(async () => {
      redis = await startRedis();
      guarded = await startRedis({ password: 'secret' });
    });
    afterAll(() => Promise.all([redis.close(), guarded.close()]));

    test.each<[string, () => string]>([
      ['running', () => `redis://127.0.0.1:${redis.port}/0`],
      ['running, by host and port', () => `127.0.0.1:${redis.port}`],
      ['with a password, correct in the URL', () => `redis://:secret@127.0.0.1:${guarded.port}`],
      ['with a password, missing in the URL', () => `redis://127.0.0.1:${guarded.port}`],
      ['with a password, wrong in the URL', () => `redis://:secret-no@127.0.0.1:${guarded.port}`],
    ])('%s: pass', async (_name, url) => {
      expect(await found(url())).toEqual([pass, pass, pass]);
    });

    test('stopped: fail with connection refused', async () => {
      const port = await servers.closedPort();
      expect(await found(`redis://:secret@127.0.0.1:${port}`)).toEqual([REFUSED, REFUSED, REFUSED]);
    });

    test('hanging after SIGSTOP: fail with a timeout, then pass after SIGCONT', async () => {
      const relay = await startQuestionRelay(servers, redis.port);
      await stopProcess(redis.pid);
      try {
        expect(await found(`redis://127.0.0.1:${relay.port}`, relay)).toEqual([
          NO_RESPONSE,
          NO_RESPONSE,
          NO_RESPONSE,
        ]);
      } finally {
        process.kill(redis.pid, 'SIGCONT');
      }
      expect(await found(`redis://127.0.0.1:${redis.port}`)).toEqual([pass, pass, pass]);
    });
  });

  describe('PostgreSQL', () => {
    let postgres: RunningServer;
    const spec: Partial<ManifestSpec> = {
      requires: { services: [{ name: 'orders', type: 'postgres', address: '$env:STORE_URL' }] },
      memory: { longTerm: { backend: 'postgres', connectionString: '$env:STORE_URL' } },
    };
    const found = async (url: string, relay?: QuestionRelay): Promise<(Partial<Check> | undefined)[]> => {
      const checks = await checksFor(url, spec, relay && { relay, probes: 2 });
      return ['service:orders', 'memory:longTerm'].map((id) => checks.get(id));
    };
    beforeAll(async () => {
      postgres = await startPostgres({ password: 'secret' });
      // During startup the server accepts connections without a response, so the checks fail until startup is complete.
      const url = `postgres://127.0.0.1:${postgres.port}`;
      const deadline = Date.now() + 100_000;
      while (Date.now() < deadline && (await found(url)).some((check) => check?.status !== 'pass'));
    });
    afterAll(() => postgres.close());

    test.each([
      ['running', 'postgres:secret', 'postgres'],
      ['with a wrong password', 'postgres:secret-no', 'postgres'],
      ['with an unknown user', 'unknown:secret', 'postgres'],
      ['with an unknown database', 'postgres:secret', 'none'],
    ])('%s: pass', async (_name, user, database) => {
      expect(await found(`postgresql://${user}@127.0.0.1:${postgres.port}/${database}`)).toEqual([
        pass,
        pass,
      ]);
    });

    test('stopped: fail with connection refused', async () => {
      const port = await servers.closedPort();
      expect(await found(`postgres://postgres:secret@127.0.0.1:${port}`)).toEqual([REFUSED, REFUSED]);
    });

    test('hanging after SIGSTOP: fail with a timeout, then pass after SIGCONT', async () => {
      const relay = await startQuestionRelay(servers, postgres.port);
      await stopProcess(postgres.pid);
      try {
        expect(await found(`postgres://127.0.0.1:${relay.port}`, relay)).toEqual([NO_RESPONSE, NO_RESPONSE]);
      } finally {
        process.kill(postgres.pid, 'SIGCONT');
      }
      expect(await found(`postgres://127.0.0.1:${postgres.port}`)).toEqual([pass, pass]);
    });

    test('with Redis on the port of PostgreSQL: fail', async () => {
      const redis = await startRedis();
      const wrongProtocol = fail('the server does not speak the PostgreSQL protocol');
      // Redis treats the startup packet as the start of a command, and waits for the rest or closes the connection.
      const relay = await startQuestionRelay(servers, redis.port);
      const [service] = await found(`postgres://127.0.0.1:${relay.port}`, relay);
      await redis.close();
      expect([wrongProtocol, NO_RESPONSE, fail('connection closed without a response')]).toContainEqual(
        service,
      );
    });
  });
});
