import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Heartbeat } from '../core/shapes/heartbeat.ts';
import { parseHeartbeat } from '../core/observation/parse-heartbeat.ts';
import type { Manifest, ManifestSpec } from '../core/manifest/manifest.ts';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { createReporter, type Reporter, type ReporterOptions } from './index.ts';

const closing: (() => Promise<unknown>)[] = [];
let log: unknown[];
const logger = {
  warn: (...entry: unknown[]) => void log.push(entry),
  info: () => undefined,
  debug: () => undefined,
};

beforeEach(() => {
  log = [];
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function serve(listener: RequestListener): Promise<number> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function aManifest(spec: Partial<ManifestSpec> = {}): Manifest {
  return {
    apiVersion: 'platform.io/v1',
    kind: 'PlatformAgent',
    metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
    spec: { model: { provider: 'openai', id: 'gpt', apiKey: '$env:OPENAI_API_KEY' }, ...spec },
  };
}

function aReporter(options: Partial<ReporterOptions> = {}): Reporter {
  const sidecarUrl = 'http://127.0.0.1:9';
  const reporter = createReporter({ manifest: aManifest(), env: {}, logger, sidecarUrl, ...options });
  closing.push(() => reporter.stop());
  return reporter;
}

describe('the checks of the reporter', () => {
  test('cover variables, files, tools, services and the model', async () => {
    const modelPort = await serve((_request, response) => response.end('{"data":[]}'));
    const reporter = aReporter({
      manifest: aManifest({
        requires: {
          envVars: ['REGION', 'ZONE'],
          services: [
            { name: 'db', address: `127.0.0.1:${modelPort}` },
            { name: 'gone', address: '127.0.0.1:9', critical: true },
          ],
        },
        tools: [{ name: 'search' }, { name: 'mail' }],
        prompts: { system: '$file:dependencies.test.ts' },
      }),
      manifestFolder: import.meta.dirname,
      tools: () => ['search'],
      env: {
        OPENAI_API_KEY: 'k',
        OPENAI_BASE_URL: `http://127.0.0.1:${modelPort}/v1`,
        REGION: 'eu',
        ZONE: '',
      },
    });
    reporter.start();
    const report = await reporter.getReport();
    expect(report?.checks.map(({ id, status, severity }) => [id, status, severity])).toEqual([
      ['env:OPENAI_API_KEY', 'pass', 'error'],
      ['env:REGION', 'pass', 'error'],
      ['env:ZONE', 'fail', 'error'],
      ['file:dependencies.test.ts', 'pass', 'warning'],
      ['model:openai/gpt', 'pass', 'error'],
      ['service:db', 'pass', 'warning'],
      ['service:gone', 'fail', 'error'],
      ['tool:search', 'pass', 'info'],
      ['tool:mail', 'fail', 'info'],
    ]);
    expect(report).toMatchObject({
      agentName: 'shop',
      status: 'unhealthy',
      summary: { passed: 6, failed: 2, skipped: 0 },
    });
  });

  test('skip a model without its key and tools without a registry', async () => {
    const reporter = aReporter({ manifest: aManifest({ tools: [{ name: 'search' }] }) });
    reporter.start();
    const report = await reporter.getReport();
    expect(report?.checks.map(({ id, status }) => [id, status])).toEqual([
      ['env:OPENAI_API_KEY', 'fail'],
      ['model:openai/gpt', 'skip'],
      ['tool:search', 'skip'],
    ]);
  });

  test('use the current content of the tool registry', async () => {
    const tools = new Set<string>();
    const reporter = aReporter({
      manifest: aManifest({ tools: [{ name: 'search' }] }),
      tools: () => tools,
      staleAfterMs: 1,
    });
    const statusOfTool = async (): Promise<string | undefined> =>
      (await reporter.getReport())?.checks.find(({ id }) => id === 'tool:search')?.status;
    reporter.start();
    const before = await statusOfTool();
    tools.add('search');
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect([before, await statusOfTool()]).toEqual(['fail', 'pass']);
  });
});

describe('recordUsage', () => {
  test('never throws, and logs each kind of mistake once', () => {
    const reporter = aReporter();
    const record = reporter.recordUsage.bind(reporter) as unknown as (...call: unknown[]) => boolean;
    const results = [
      record('gpt', 3, 4),
      record('gpt', undefined, 4),
      record('gpt', -1, 4),
      record(null, 1, 1),
    ];
    expect([results, reporter.getUsage().totalTokens]).toEqual([[true, false, false, false], 7]);
    expect(log).toEqual([
      [
        'invalid usage arguments, usage not counted',
        { reason: 'promptTokens must be a whole number from 0 to 1000000000' },
      ],
      ['invalid usage arguments, usage not counted', { reason: 'modelId must be a non-empty string' }],
    ]);
  });

  test('still counts when the event queue is full, and logs once that the sidecar misses usage', async () => {
    const hung = await serve(() => undefined);
    const reporter = aReporter({ sidecarUrl: `http://127.0.0.1:${hung}` });
    const results = Array.from({ length: 1_010 }, () => reporter.recordUsage('gpt', 1, 0));
    expect([results.every(Boolean), reporter.getUsage().totalTokens]).toEqual([true, 1_010]);
    expect(reporter.events.counts()).toEqual({ delivered: 0, dropped: 10, queued: 1_000 });
    expect(log).toEqual([['usage not sent to sidecar', { reason: 'event queue full' }]]);
    await reporter.events.close(0);
  });
});

describe('invalid options', () => {
  test.each<[string, Partial<ReporterOptions>, string]>([
    ['refreshIntervalMs', { refreshIntervalMs: 0 }, 'refreshIntervalMs must be a whole number'],
    ['staleAfterMs', { staleAfterMs: 1.5 }, 'staleAfterMs must be a whole number'],
    ['a manifest path', { manifest: 'agent.yaml' }, 'is not a .json file'],
    ['push', { push: { url: 'nowhere', key: 'k' } }, 'push.url must be a URL'],
    ['sidecarUrl', { sidecarUrl: '127.0.0.1:4001' }, 'sidecarUrl must be a URL with the http: or https:'],
    ['an empty sidecarUrl', { sidecarUrl: '' }, 'sidecarUrl must be a URL'],
    [
      'PLATFORM_SIDECAR_URL',
      { env: { PLATFORM_SIDECAR_URL: 'nowhere' } },
      'PLATFORM_SIDECAR_URL must be a URL',
    ],
    ['policy.url', { policy: { url: 'ftp://opa' } }, 'policy.url must be a URL with the http: or https:'],
    ['POLICY_URL', { env: { POLICY_URL: 'opa:8181' } }, 'POLICY_URL must be a URL with the http: or https:'],
    ['policy.timeoutMs', { policy: { timeoutMs: 0 } }, 'policy.timeoutMs must be a whole number'],
    [
      'policy.failClosed',
      { policy: { failClosed: 'yes' as unknown as boolean } },
      'policy.failClosed must be true or false',
    ],
    ['the environment', { env: { PLATFORM_URL: 'http://plane' } }, 'PLATFORM_KEY'],
  ])('%s: createReporter throws', (_name, options, message) => {
    expect(() => createReporter({ manifest: aManifest(), env: {}, ...options })).toThrow(message);
  });
});

describe('push mode', () => {
  let received: unknown[];
  let port: number;
  let clock: ManualClock;

  beforeEach(async () => {
    clock = new ManualClock(new Date().toISOString());
    received = [];
    port = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        received.push(JSON.parse(Buffer.concat(chunks).toString()));
        response.writeHead(204).end();
      });
    });
  });

  const pushed = async (count: number): Promise<Heartbeat[]> => {
    const deadline = Date.now() + 120_000;
    while (received.length < count) {
      if (Date.now() > deadline) throw new Error(`only ${received.length} heartbeats arrived`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return received.map((body) => {
      const parsed = parseHeartbeat(body, { agentName: 'shop', at: new Date() });
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
      return parsed.heartbeat;
    });
  };
  /** Waits until this many tokens are unshipped. A window leaves the ledger only with the response to its heartbeat. */
  const leftToShip = async (reporter: Reporter, tokens: number): Promise<void> => {
    const deadline = Date.now() + 120_000;
    while (reporter.getUsage().totalTokens !== tokens) {
      if (Date.now() > deadline) throw new Error(`${reporter.getUsage().totalTokens} tokens are left`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const aPushingReporter = (options: Partial<ReporterOptions> = {}): Reporter =>
    aReporter({
      ...options,
      clock,
      manifest: aManifest({
        model: {
          provider: 'openai',
          id: 'gpt',
          apiKey: '$env:OPENAI_API_KEY',
          costControls: { usdPerMillionTokens: { input: 1_000_000, output: 0 } },
        },
        tools: [{ name: 'search' }],
      }),
      tools: [],
      env: { PLATFORM_URL: `http://127.0.0.1:${port}`, PLATFORM_KEY: 'k' },
    });

  test('sends a valid heartbeat with health, the gap from its own checks, and usage', async () => {
    const reporter = aPushingReporter();
    reporter.recordUsage('gpt', 3, 4);
    reporter.start();
    reporter.start();
    const [heartbeat] = await pushed(1);
    expect(heartbeat).toMatchObject({
      version: 1,
      seq: 1,
      intervalSeconds: 30,
      source: 'agent-sdk',
      health: { agentName: 'shop', status: 'unhealthy' },
      gap: {
        source: 'agent-sdk',
        score: 40,
        issues: expect.arrayContaining([
          expect.objectContaining({ property: 'env:OPENAI_API_KEY' }),
          expect.objectContaining({ property: 'model.apiKey', severity: 'high' }),
          expect.objectContaining({ property: 'tool:search' }),
          expect.objectContaining({ property: 'auditable' }),
        ]),
      },
      // The agent reports all of this itself.
      evidence: {
        ...{ shown: 0.5, declared: 2, reported: 1 },
        items: [
          { kind: 'model', name: 'gpt', tier: 'reported' },
          { kind: 'tool', name: 'search', tier: 'none' },
        ],
      },
      audit: null,
      usage: { totalTokens: 7, totalCalls: 1 },
      totals: { tokensToday: 7, costTodayUsd: 3 },
      outcomes: null,
      model: { provider: 'openai', id: 'gpt' },
    });
    expect(heartbeat?.gap.issues).toHaveLength(4);
  });

  test('reports usage only with heartbeats, also within a request, so that it is not counted twice', async () => {
    let events = 0;
    const sidecar = await serve((_request, response) => response.end(String((events += 1))));
    const reporter = aPushingReporter({ sidecarUrl: `http://127.0.0.1:${sidecar}` });
    const agent = await serve((request, response) => {
      const recorded = [reporter.recordUsage('gpt', 60, 0), reporter.behavior(request).model('gpt', 40, 0)];
      response.end(JSON.stringify(recorded));
    });
    const response = await fetch(`http://127.0.0.1:${agent}`, { headers: { 'x-request-id': 'a' } });
    expect([await response.json(), reporter.recordUsage('gpt', 94, 0)]).toEqual([[true, true], true]);
    reporter.start();
    const [heartbeat] = await pushed(1);
    expect(heartbeat).toMatchObject({
      usage: { totalTokens: 194, totalCalls: 3 },
      totals: { tokensToday: 194 },
    });
    await reporter.events.flush(60_000);
    expect([events, reporter.events.counts()]).toEqual([0, { delivered: 0, dropped: 0, queued: 0 }]);
  });

  test('restarts the sequence with a new startedAt on each start', async () => {
    const reporter = aPushingReporter();
    reporter.recordUsage('gpt', 1, 0);
    reporter.start();
    await leftToShip(reporter, 0);
    await reporter.stop();
    await pushed(2);
    clock.advance(1);
    reporter.start();
    const [first, last, again] = await pushed(3);
    expect([first?.seq, last?.seq, again?.seq]).toEqual([1, 2, 1]);
    expect([last?.startedAt === first?.startedAt, again?.startedAt === first?.startedAt]).toEqual([
      true,
      false,
    ]);
  });
});

test('an agent goes on when a warning of the reporter cannot be written, or its logger throws', async () => {
  const program = `
    import { createReporter } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))};
    const manifest = ${JSON.stringify(aManifest())};
    const own = createReporter({ manifest, env: {}, logger: { warn: () => { throw new Error('full'); } } });
    own.recordUsage('gpt', -1, 0);
    const reporter = createReporter({ manifest, env: {} });
    await new Promise((resolve) => process.stdin.once('data', resolve));
    reporter.recordUsage('gpt', -1, 0);
    // Each warning is written in a later turn, and its error comes in a turn after that.
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    reporter.recordUsage('', 0, 0);
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
    process.stdout.write('still here');
    process.exit(0);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.destroy();
  child.stdin.write('go');
  await once(child, 'close');
  expect(output).toBe('still here');
});

test('a started reporter does not keep the process alive', async () => {
  const program = `
    import { createReporter } from ${JSON.stringify(join(import.meta.dirname, 'index.ts'))};
    const reporter = createReporter({ manifest: ${JSON.stringify(aManifest())}, push: { url: 'http://127.0.0.1:9', key: 'k' } });
    reporter.start();
    process.stdout.write(JSON.stringify((await reporter.getReport()).agentName));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 60_000,
  });
  expect(stdout).toBe('"shop"');
});
