import { afterEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RequestListener } from 'node:http';
import type { CheckCategory } from '../core/shapes/values.ts';
import { aManifest, NOON } from '../testing/fleet/facts.ts';
import { holdDeadlines } from '../testing/time/held-deadlines.ts';
import { holdTimers } from '../testing/time/held-timers.ts';
import { until } from '../testing/time/until.ts';
import { TestServers } from '../testing/http/sockets.ts';
import type { PolicyFacts } from '../core/facts/facts.ts';
import { check } from '../core/health/check.ts';
import type { ManifestSpec } from '../core/manifest/manifest.ts';
import { gather, type AgentEnvironment, type GatherInput } from './gather.ts';

const servers = new TestServers();
afterEach(() => servers.close());

const own = (
  variables: Record<string, string> = {},
  rest: Partial<AgentEnvironment> = {},
): AgentEnvironment =>
  ({
    kind: 'own',
    variables,
    folder: null,
    secretDir: null,
    ...rest,
  }) as AgentEnvironment;
const inputOf = (spec: Partial<ManifestSpec>, rest: Partial<GatherInput> = {}): GatherInput => ({
  manifest: aManifest(spec),
  upstreamUrl: null,
  environment: own(),
  now: () => NOON,
  ...rest,
});
const latencyMs = expect.any(Number);
const mcpServer: RequestListener = (_request, response) =>
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end('{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}');

describe('gathered facts', () => {
  test('are empty when only a manifest is given', async () => {
    expect(await gather(inputOf({}))).toEqual({
      at: NOON,
      agentReport: null,
      invalidReport: null,
      upstream: null,
      health: null,
      capabilities: null,
      agentCard: null,
      environment: { kind: 'own', names: new Set() },
      secrets: { backend: 'env', found: new Set() },
      files: new Map(),
      reach: new Map(),
      behavior: { sampled: 0, guardrailsInvoked: new Map() },
      policy: { state: 'none' },
      proofs: [],
      podAgentName: null,
      manifestInvalid: null,
    });
  });

  test('include the facts that the caller passes', async () => {
    const known = {
      proofs: [{ ruleId: 'EVAL-01', verifiedBy: 'ci', method: 'm', verifiedAt: NOON.toISOString() }],
      podAgentName: 'shop',
      manifestInvalid: 'line 3',
      registeredTools: null,
    };
    const behavior = { sampled: 1, guardrailsInvoked: new Map([['pii-detector', 1]]) };
    const observed = () => ({ behavior });
    expect(await gather(inputOf({}, { ...known, observed }))).toMatchObject({ ...known, behavior });
  });

  test('cover variables, files, secrets and all addresses when this process shares the environment', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gather-'));
    try {
      await writeFile(join(folder, 'prompt.md'), 'You sell things.');
      const up = await servers.tcp(() => undefined);
      const closed = await servers.closedPort();
      const spec: Partial<ManifestSpec> = {
        prompts: { system: '$file:prompt.md', fallback: '$file:missing.md' },
        requires: {
          services: [
            { name: 'db', address: '$env:DB_URL' },
            { name: 'cache', type: 'redis', address: `127.0.0.1:${closed}` },
            { name: 'queue', address: '$env:QUEUE_URL' },
            { name: 'disk', address: 'sqlite:///data.db' },
            { name: 'vault', address: '$secret:vault-url' },
          ],
        },
        mcp: { servers: [{ name: 'maps', host: '$env:MAPS_HOST', port: await servers.http(mcpServer) }] },
      };
      const environment = own(
        {
          DB_URL: `postgres://u:secret@127.0.0.1:${up}/db`,
          MAPS_HOST: '127.0.0.1',
          EMPTY: '',
          PLATFORM_SECRET_VAULT_URL: `127.0.0.1:${up}`,
        },
        { folder },
      );
      const facts = await gather(inputOf(spec, { environment }));
      expect(facts.environment.names).toEqual(new Set(['DB_URL', 'MAPS_HOST', 'PLATFORM_SECRET_VAULT_URL']));
      expect(facts.files).toEqual(
        new Map([
          ['prompt.md', 'readable'],
          ['missing.md', 'unreadable'],
        ]),
      );
      expect(facts.secrets).toEqual({ backend: 'env', found: new Set(['vault-url']) });
      expect(facts.reach).toEqual(
        new Map<string, unknown>([
          ['service:db', { state: 'reachable', latencyMs }],
          ['service:cache', { state: 'unreachable', reason: 'connection refused' }],
          ['service:queue', { state: 'unknown', reason: 'the variable QUEUE_URL is not set' }],
          ['service:disk', { state: 'unknown', reason: 'the address has no host and port' }],
          ['service:vault', { state: 'reachable', latencyMs }],
          ['mcp:maps', { state: 'reachable', latencyMs }],
        ]),
      );
      expect(JSON.stringify(check(aManifest(spec), facts))).not.toContain('secret@');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("do not use the sidecar's own variables when only the names of the agent's variables are known", async () => {
    const spec: Partial<ManifestSpec> = {
      prompts: { system: '$file:prompt.md' },
      requires: {
        services: [
          { name: 'db', address: '$env:PATH' },
          { name: 'near', address: `127.0.0.1:${await servers.tcp(() => undefined)}` },
        ],
      },
    };
    const environment: AgentEnvironment = { kind: 'declared', names: new Set(['PATH']), partial: false };
    const facts = await gather(inputOf(spec, { environment }));
    expect(check(aManifest(spec), facts).checks.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'env:PATH pass',
      'file:prompt.md skip',
      'service:db skip',
      'service:near pass',
    ]);
  });

  test.each<[string, string[], boolean, unknown]>([
    [
      'one of two is listed and all variables are known',
      ['PLATFORM_SECRET_A'],
      false,
      { backend: 'env', found: new Set(['a']) },
    ],
    ['one of two is listed and others may be hidden', ['PLATFORM_SECRET_A'], true, { backend: 'none' }],
    [
      'both are listed',
      ['PLATFORM_SECRET_A', 'PLATFORM_SECRET_B_C'],
      true,
      { backend: 'env', found: new Set(['a', 'b-c']) },
    ],
    [
      'one is listed and the others are in files',
      ['PLATFORM_SECRET_A', 'PLATFORM_SECRET_DIR'],
      false,
      { backend: 'none' },
    ],
    ['none is listed', ['OTHER'], false, { backend: 'none' }],
  ])('contain the secret backend when %s', async (_name, names, partial, expected) => {
    const spec = { prompts: { system: '$secret:a', fallback: '$secret:b-c' } };
    const environment: AgentEnvironment = { kind: 'declared', names: new Set(names), partial };
    expect((await gather(inputOf(spec, { environment }))).secrets).toEqual(expected);
  });

  test.each<[CheckCategory[], string[], number]>([
    [[], ['service:db', 'mcp:maps', 'memory:shortTerm'], 1],
    [['mcp'], ['service:db', 'memory:shortTerm'], 0],
    [['memory'], ['service:db', 'mcp:maps'], 1],
    [['mcp', 'memory'], ['service:db'], 0],
  ])('with skippedCategories %j contain no probe of these', async (skippedCategories, probed, requests) => {
    const port = await servers.tcp(() => undefined);
    let seen = 0;
    const mcp = await servers.http((request, response) => {
      seen += 1;
      mcpServer(request, response);
    });
    const address = `127.0.0.1:${port}`;
    const spec: Partial<ManifestSpec> = {
      requires: { services: [{ name: 'db', address }] },
      mcp: { servers: [{ name: 'maps', url: `http://127.0.0.1:${mcp}/mcp` }] },
      memory: { shortTerm: { connection: `redis://${address}` } },
    };
    const facts = await gather(inputOf(spec, { skippedCategories }));
    expect([[...facts.reach.keys()], seen]).toEqual([probed, requests]);
  });

  test('include the model and its fallback with checksModel', async () => {
    const port = await servers.http((request, response) => {
      response.writeHead(request.headers.authorization === 'Bearer good' ? 200 : 401).end();
    });
    const model = {
      provider: 'openai',
      id: 'gpt-4o',
      apiKey: '$env:KEY',
      fallback: { provider: 'openai', id: 'small', apiKey: 'bad' },
    };
    const environment = own({ KEY: 'good', OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` });
    const facts = await gather(inputOf({ model }, { environment, checksModel: true }));
    expect(facts.reach).toEqual(
      new Map<string, unknown>([
        ['model:openai/gpt-4o', { state: 'reachable', latencyMs }],
        ['model:openai/small', { state: 'unreachable', reason: expect.stringContaining('rejected') }],
      ]),
    );
  });
});

describe('a policy engine', () => {
  test.each<[string, () => Promise<PolicyFacts>, PolicyFacts]>([
    [
      'that responds sets its denials',
      () => Promise.resolve({ state: 'answered', denials: ['x'] }),
      { state: 'answered', denials: ['x'] },
    ],
    ['that fails is unreachable', () => Promise.reject(new Error('refused')), { state: 'unreachable' }],
  ])('%s', async (_name, policy, expected) => {
    // No deadline passes.
    using _deadlines = holdDeadlines();
    expect((await gather(inputOf({}, { policy }))).policy).toEqual(expected);
  });

  test('that hangs is unreachable after its own time limit, before the total limit', async () => {
    using deadlines = holdDeadlines();
    const gathering = gather(inputOf({}, { policy: () => new Promise(() => undefined) }));
    await deadlines.pass(1_000);
    expect((await gathering).policy).toEqual({ state: 'unreachable' });
  });
});

describe('gathering', () => {
  test('takes less than six seconds when the agent and all services hang', async () => {
    using timers = holdTimers();
    let connections = 0;
    const hanging = await servers.tcp((socket) => {
      connections += 1;
      socket.resume();
    });
    const spec = { requires: { services: [{ name: 'db', address: `127.0.0.1:${hanging}` }] } };
    const gathering = gather(inputOf(spec, { upstreamUrl: new URL(`http://127.0.0.1:${hanging}`) }));
    // One connection to the service and five to the agent.
    await until(() => connections === 6, 'the connections');
    await timers.pass(5_999);
    const facts = await gathering;
    expect(facts.health).toEqual({ answered: false, reason: 'no response within 5 s', path: '/health' });
    expect(facts.upstream).toEqual({
      state: 'unreachable',
      reason: 'connection accepted, but no response to any HTTP request',
    });
  });

  test('rejects when it is aborted', async () => {
    const hanging = await servers.tcp(() => undefined);
    const upstreamUrl = new URL(`http://127.0.0.1:${hanging}`);
    await expect(gather(inputOf({}, { upstreamUrl, signal: AbortSignal.timeout(50) }))).rejects.toThrow(
      'timeout',
    );
    await expect(
      gather(inputOf({}, { upstreamUrl, signal: AbortSignal.abort(new Error('closing')) })),
    ).rejects.toThrow('closing');
  });
});
