import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { HealthReport, Check } from '../core/shapes/health.ts';
import type { ManifestSpec } from '../core/manifest/manifest.ts';
import { holdDeadlines } from '../testing/time/held-deadlines.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { until } from '../testing/time/until.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { createReporter, type Reporter, type ReporterOptions } from './index.ts';

/** The contract's tables for the agent-side reporter, row by row, with the contract's own wording. */

const servers = new TestServers();
let reporters: Reporter[];
/** Handler of the model's API. */
let api: RequestListener;
let keys: (string | undefined)[];
let baseUrl: string;

beforeEach(async () => {
  reporters = [];
  keys = [];
  api = (_request, response) => response.end('{"data":[]}');
  const port = await servers.http((request, response) => {
    keys.push(request.headers.authorization);
    api(request, response);
  });
  baseUrl = `http://127.0.0.1:${port}/v1`;
});
afterEach(async () => {
  await Promise.all(reporters.map((each) => each.stop()));
  await servers.close();
});

function aReporter(spec: Partial<ManifestSpec> = {}, options: Partial<ReporterOptions> = {}): Reporter {
  const reporter = createReporter({
    manifest: {
      apiVersion: 'platform.io/v1',
      kind: 'PlatformAgent',
      metadata: { name: 'fitness-tracker', version: '1.0.0', description: 'counts steps' },
      spec: { model: { provider: 'openai', id: 'gpt', apiKey: '$env:KEY' }, ...spec },
    },
    env: { KEY: 'sk-secret', OPENAI_BASE_URL: baseUrl },
    push: false,
    // A closed port, so that tests do not report to a sidecar on this machine.
    sidecarUrl: 'http://127.0.0.1:9',
    ...options,
  });
  reporters.push(reporter);
  return reporter;
}

async function reportOf(reporter: Reporter): Promise<HealthReport> {
  reporter.start();
  const report = await reporter.getReport();
  if (report === null) throw new Error('no report');
  return report;
}

async function checkOf(id: string, ...given: Parameters<typeof aReporter>): Promise<Check | undefined> {
  return (await reportOf(aReporter(...given))).checks.find((each) => each.id === id);
}

describe('Check semantics (reporter, run inside the agent process)', () => {
  const open = async (): Promise<string> => `127.0.0.1:${await servers.tcp(() => undefined)}`;
  const status =
    (code: number): RequestListener =>
    (_request, response) =>
      response.writeHead(code).end();
  const model = 'model:openai/gpt';
  const env = { OPENAI_BASE_URL: '' };
  const rejected = (code: number): object => ({
    status: 'fail',
    message: `the key was rejected: openai responded with ${code}`,
  });

  test.each<[string, string, () => Promise<Check | undefined>, object]>([
    [
      'env:*',
      'each $env: reference exists in the process environment',
      () => checkOf('env:KEY'),
      { status: 'pass' },
    ],
    [
      'env:*',
      'fail for a missing variable',
      () => checkOf('env:KEY', {}, { env }),
      { status: 'fail', message: 'KEY is not set in the environment', remediation: expect.any(String) },
    ],
    [
      'model:*',
      'the provider API endpoint is reachable',
      () => checkOf(model),
      { status: 'pass', latencyMs: expect.any(Number) },
    ],
    [
      'model:*',
      'skip when the variable is unset',
      () => checkOf(model, {}, { env }),
      { status: 'skip', message: 'requires env:KEY, which failed' },
    ],
    ...[500, 502, 503, 529].map((code): [string, string, () => Promise<Check | undefined>, object] => [
      'model:*',
      `fail on a 5xx response: ${code}`,
      () => {
        api = status(code);
        return checkOf(model);
      },
      { status: 'fail', message: `openai responded with ${code}` },
    ]),
    [
      'model:*',
      'fail on a time-out',
      async () => {
        using timers = holdDeadlines();
        let isRequested = false;
        api = () => (isRequested = true);
        const found = checkOf(model);
        await until(() => isRequested, 'the request');
        await timers.pass(5_000);
        return await found;
      },
      { status: 'fail', message: 'openai did not respond within 5000 ms' },
    ],
    ...[401, 403].map((code): [string, string, () => Promise<Check | undefined>, object] => [
      'model:*',
      `fail on a rejected key: ${code}`,
      () => {
        api = status(code);
        return checkOf(model);
      },
      rejected(code),
    ]),
    [
      'service:*',
      'TCP connectivity of each spec.requires.services entry',
      async () => checkOf('service:db', { requires: { services: [{ name: 'db', address: await open() }] } }),
      { status: 'pass', latencyMs: expect.any(Number) },
    ],
    [
      'service:*',
      'fail for a refused connection',
      async () => {
        const address = `127.0.0.1:${await servers.closedPort()}`;
        return checkOf('service:db', { requires: { services: [{ name: 'db', address }] } });
      },
      { status: 'fail', message: 'connection refused', remediation: expect.any(String) },
    ],
    [
      'tool:*',
      'each spec.tools entry is registered',
      () => checkOf('tool:search', { tools: [{ name: 'search' }] }, { tools: ['search'] }),
      { status: 'pass' },
    ],
    [
      'tool:*',
      'fail when a registry was given that lacks it',
      () => checkOf('tool:search', { tools: [{ name: 'search' }] }, { tools: [] }),
      { status: 'fail' },
    ],
    [
      'tool:*',
      'skip when no registry was given',
      () => checkOf('tool:search', { tools: [{ name: 'search' }] }),
      { status: 'skip' },
    ],
    ...(['backend', 'shortTerm', 'longTerm', 'vector'] as const).map(
      (role): [string, string, () => Promise<Check | undefined>, object] => [
        'memory:*',
        `role ${role}`,
        async () => {
          const address = await open();
          return checkOf(`memory:${role}`, {
            requires: { services: [{ name: 'store', type: 'store', address }] },
            memory: {
              backend: 'store',
              shortTerm: { backend: 'store', connection: address },
              longTerm: { backend: 'store', connectionString: address },
              vector: { backend: 'store', connectionString: address },
            },
          });
        },
        { category: 'memory', severity: 'warning', status: 'pass' },
      ],
    ),
  ])('%s: %s', async (_id, _verifies, runCheck, expected) => {
    const found = await runCheck();
    expect(found).toMatchObject(expected);
    expect(JSON.stringify(found)).not.toContain('sk-secret');
  });

  test('model:*: resolves the $env: key at check time', async () => {
    const changing: Record<string, string> = { KEY: 'first', OPENAI_BASE_URL: baseUrl };
    const clock = new ManualClock('2026-03-01T10:00:00Z');
    const reporter = aReporter({}, { env: changing, clock });
    await reportOf(reporter);
    changing['KEY'] = 'second';
    clock.advance(60_001);
    await reporter.getReport();
    expect(keys).toEqual(['Bearer first', 'Bearer second']);
  });
});

describe('HealthReport and check fields', () => {
  test('match the contract, with integers in the summary and a UTC timestamp', async () => {
    const clock = new ManualClock('2026-03-01T10:00:00Z');
    const report = await reportOf(aReporter({ tools: [{ name: 'search' }] }, { clock, tools: [] }));
    expect(report).toEqual({
      agentName: 'fitness-tracker',
      timestamp: '2026-03-01T10:00:00.000Z',
      status: 'healthy',
      summary: { passed: 2, failed: 0, warnings: 1, skipped: 0 },
      checks: [
        { id: 'env:KEY', category: 'env', status: 'pass', severity: 'error' },
        {
          id: 'model:openai/gpt',
          category: 'model',
          status: 'pass',
          severity: 'error',
          latencyMs: expect.any(Number),
        },
        {
          id: 'tool:search',
          category: 'tool',
          status: 'fail',
          severity: 'info',
          message: 'declared but not registered',
          remediation: 'Register a tool named search, or remove it from the manifest.',
        },
      ],
    });
  });
});

describe('Endpoints the agent exposes (agent-side reporter)', () => {
  test.each([
    ['GET /platform/health', 'HealthReport (200)', { agentName: 'fitness-tracker', status: 'healthy' }],
    ['GET /platform/usage', 'usage report with source = agent-sdk', { source: 'agent-sdk', totalTokens: 3 }],
  ])('%s: %s', async (route, _response, body) => {
    const reporter = aReporter();
    reporter.start();
    reporter.recordUsage('gpt', 1, 2);
    const response = await reporter.fetch(new Request(`http://agent${route.replace('GET ', '')}`));
    expect([response.status, await response.json()]).toEqual([200, expect.objectContaining(body)]);
  });
});

describe('Limits', () => {
  test('Reporter refresh interval: 30000 ms default (refreshIntervalMs)', async () => {
    const clock = new ManualClock('2026-03-01T10:00:00Z');
    aReporter({}, { clock }).start();
    expect((await clock.nextSleep()).ms).toBe(30_000);
  });

  test.each([
    [60_000, 1],
    [60_001, 2],
  ])(
    'Reporter staleness: 60000 ms default (staleAfterMs): after %i ms the reporter has run %i checks',
    async (ms, count) => {
      const clock = new ManualClock('2026-03-01T10:00:00Z');
      const reporter = aReporter({}, { clock });
      await reportOf(reporter);
      clock.advance(ms);
      await reporter.getReport();
      expect(keys).toHaveLength(count);
    },
  );
});
