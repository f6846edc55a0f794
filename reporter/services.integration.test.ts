import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Check } from '../core/health/health.ts';
import {
  startPostgres,
  startRedis,
  whyNoDebianServers,
  type RunningServer,
} from '../testing/debian-server.ts';
import { holdDeadlines } from '../testing/held-deadlines.ts';
import { until } from '../testing/proxy-rig.ts';
import { startQuestionRelay, type QuestionRelay } from '../testing/question-relay.ts';
import { TestServers } from '../testing/sockets.ts';
import { stopProcess } from '../testing/stop-process.ts';
import { createReporter, type ManifestSpec } from './index.ts';

const servers = new TestServers();
afterEach(() => servers.close());

const pass = { status: 'pass', latencyMs: expect.any(Number) };
const fail = (message: string): unknown => ({ status: 'fail', message });

/**
 * What a reporter of an agent with this URL in its variable finds. No time passes meanwhile, unless `hung` is a relay in
 * front of a server that hangs: then the six seconds pass that a report has, once all probes have asked.
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
      spec: { model: { provider: 'nobody', id: 'm', apiKey: 'k' }, ...spec },
    },
    env: { STORE_URL: url },
    push: false,
  });
  reporter.start();
  const reporting = reporter.getReport();
  if (hung !== undefined) {
    await until(() => hung.relay.questions() === hung.probes, 'the questions of all probes');
    await timers.pass(5_999);
  }
  const report = await reporting;
  await reporter.stop();
  // Whatever it finds, a password is not in it.
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

const NO_ANSWER = fail('it accepts connections but does not answer within 3 s');
const REFUSED = fail('connection refused');

(whyNoDebianServers() ? describe.skip : describe)('the reporter asks a real', () => {
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
      ['up', () => `redis://127.0.0.1:${redis.port}/0`],
      ['up, by host and port', () => `127.0.0.1:${redis.port}`],
      ['with a password, and the right one', () => `redis://:secret@127.0.0.1:${guarded.port}`],
      ['with a password, and none', () => `redis://127.0.0.1:${guarded.port}`],
      ['with a password, and a wrong one', () => `redis://:secret-no@127.0.0.1:${guarded.port}`],
    ])('%s: it answers', async (_name, url) => {
      expect(await found(url())).toEqual([pass, pass, pass]);
    });

    test('that is down: connection refused', async () => {
      const port = await servers.closedPort();
      expect(await found(`redis://:secret@127.0.0.1:${port}`)).toEqual([REFUSED, REFUSED, REFUSED]);
    });

    test('that hangs, stopped by a signal: ends by time-out, and is well again after it', async () => {
      const relay = await startQuestionRelay(servers, redis.port);
      await stopProcess(redis.pid);
      try {
        expect(await found(`redis://127.0.0.1:${relay.port}`, relay)).toEqual([
          NO_ANSWER,
          NO_ANSWER,
          NO_ANSWER,
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
      // It accepts connections before it takes them: that is a failure of the check too, until it has come up.
      const url = `postgres://127.0.0.1:${postgres.port}`;
      const deadline = Date.now() + 100_000;
      while (Date.now() < deadline && (await found(url)).some((check) => check?.status !== 'pass'));
    });
    afterAll(() => postgres.close());

    test.each([
      ['up', 'postgres:secret', 'postgres'],
      ['and a wrong password', 'postgres:secret-no', 'postgres'],
      ['and an unknown user', 'nobody:secret', 'postgres'],
      ['and an unknown database', 'postgres:secret', 'none'],
    ])('%s: it answers', async (_name, user, database) => {
      expect(await found(`postgresql://${user}@127.0.0.1:${postgres.port}/${database}`)).toEqual([
        pass,
        pass,
      ]);
    });

    test('that is down: connection refused', async () => {
      const port = await servers.closedPort();
      expect(await found(`postgres://postgres:secret@127.0.0.1:${port}`)).toEqual([REFUSED, REFUSED]);
    });

    test('that hangs, stopped by a signal: ends by time-out, and is well again after it', async () => {
      const relay = await startQuestionRelay(servers, postgres.port);
      await stopProcess(postgres.pid);
      try {
        expect(await found(`postgres://127.0.0.1:${relay.port}`, relay)).toEqual([NO_ANSWER, NO_ANSWER]);
      } finally {
        process.kill(postgres.pid, 'SIGCONT');
      }
      expect(await found(`postgres://127.0.0.1:${postgres.port}`)).toEqual([pass, pass]);
    });

    test('that is a Redis: it speaks another protocol', async () => {
      const redis = await startRedis();
      const stranger = fail('it does not speak the protocol of PostgreSQL');
      // Redis takes the startup packet for the beginning of a command, and waits for its end or hangs up.
      const relay = await startQuestionRelay(servers, redis.port);
      const [service] = await found(`postgres://127.0.0.1:${relay.port}`, relay);
      await redis.close();
      expect([stranger, NO_ANSWER, fail('connection closed without an answer')]).toContainEqual(service);
    });
  });
});
