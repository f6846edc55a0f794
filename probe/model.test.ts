import { afterEach, describe, expect, test } from '@jest/globals';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../testing/proxy-rig.ts';
import { TestServers } from '../testing/sockets.ts';
import { modelReach } from './model.ts';
import type { ReferenceSources } from './references.ts';

interface Seen {
  url: string | undefined;
  headers: IncomingHttpHeaders;
}

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** An API that answers everything with `status`; 0: never. */
async function api(
  status: number,
  headers: Record<string, string> = {},
): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    seen.push({ url: request.url, headers: request.headers });
    if (status !== 0) response.writeHead(status, headers).end('{"data":[]}');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const sources = (env: Record<string, string>): ReferenceSources => ({
  env: { KEY: 'sk-secret', ...env },
  folder: null,
  secretDir: null,
  now: () => new Date(0),
});

const model = (provider: string, apiKey = '$env:KEY') => ({ provider, apiKey });

describe('modelReach', () => {
  test.each([
    ['openai', 'OPENAI_BASE_URL', '/models', { authorization: 'Bearer sk-secret' }],
    ['OpenAI', 'OPENAI_BASE_URL', '/models', { authorization: 'Bearer sk-secret' }],
    [
      'anthropic',
      'ANTHROPIC_BASE_URL',
      '/v1/models',
      { 'x-api-key': 'sk-secret', 'anthropic-version': '2023-06-01' },
    ],
    ['gemini', 'GOOGLE_BASE_URL', '/v1beta/models', { 'x-goog-api-key': 'sk-secret' }],
    ['mistral', 'MISTRAL_BASE_URL', '/models', { authorization: 'Bearer sk-secret' }],
    ['azure', 'AZURE_OPENAI_ENDPOINT', '/openai/models?api-version=2024-10-21', { 'api-key': 'sk-secret' }],
    ['my-gateway', 'MY_GATEWAY_BASE_URL', '/models', { authorization: 'Bearer sk-secret' }],
  ])('asks %s at %s', async (provider, variable, path, headers) => {
    const { url, seen } = await api(200);
    const reach = await modelReach({ model: model(provider), sources: sources({ [variable]: `${url}/` }) });
    expect(reach).toEqual({ state: 'reachable', latencyMs: expect.any(Number) });
    expect(seen).toEqual([{ url: path, headers: expect.objectContaining(headers) }]);
  });

  const bearer = { authorization: 'Bearer sk-secret' };
  test.each<[string, string, Record<string, string>]>([
    ['openai', 'https://api.openai.com/v1/models', bearer],
    ['anthropic', 'https://api.anthropic.com/v1/models', { 'x-api-key': 'sk-secret' }],
    ['google', 'https://generativelanguage.googleapis.com/v1beta/models', { 'x-goog-api-key': 'sk-secret' }],
    ['mistral', 'https://api.mistral.ai/v1/models', bearer],
    ['groq', 'https://api.groq.com/openai/v1/models', bearer],
    ['cohere', 'https://api.cohere.com/v1/models', bearer],
    ['deepseek', 'https://api.deepseek.com/models', bearer],
    ['grok', 'https://api.x.ai/v1/models', bearer],
    ['together', 'https://api.together.xyz/v1/models', bearer],
    ['openrouter', 'https://openrouter.ai/api/v1/key', bearer],
    ['ollama', 'http://localhost:11434/v1/models', bearer],
  ])('knows the address of %s', async (provider, address, headers) => {
    const asked: unknown[] = [];
    const original = globalThis.fetch;
    // The one thing that a test cannot have for real: the vendor.
    globalThis.fetch = (url, init) => {
      asked.push([url, init?.headers]);
      return Promise.resolve(new Response('{"data":[]}'));
    };
    try {
      expect((await modelReach({ model: model(provider), sources: sources({}) })).state).toBe('reachable');
    } finally {
      globalThis.fetch = original;
    }
    expect(asked).toEqual([[address, expect.objectContaining(headers)]]);
  });

  test.each([
    ['openai', 401, 'the key was rejected: PROVIDER answered 401'],
    ['openai', 403, 'the key was rejected: PROVIDER answered 403'],
    ['google', 400, 'the key was rejected: PROVIDER answered 400'],
    ['openai', 500, 'PROVIDER answered 500'],
    ['openai', 503, 'PROVIDER answered 503'],
  ])('%s that answers %i is unreachable: %s', async (provider, status, reason) => {
    const { url } = await api(status);
    const env = { [`${provider.toUpperCase()}_BASE_URL`]: url };
    expect(await modelReach({ model: model(provider), sources: sources(env) })).toEqual({
      state: 'unreachable',
      reason: reason.replace('PROVIDER', provider),
    });
  });

  test.each([200, 400, 404, 429])('an API that answers %i is there', async (status) => {
    const { url } = await api(status);
    const reach = await modelReach({ model: model('openai'), sources: sources({ OPENAI_BASE_URL: url }) });
    expect(reach.state).toBe('reachable');
  });

  test('gives up after the time-out', async () => {
    const { url } = await api(0);
    const probe = { model: model('openai'), sources: sources({ OPENAI_BASE_URL: url }), timeoutMs: 50 };
    expect(await modelReach(probe)).toEqual({
      state: 'unreachable',
      reason: 'openai did not answer within 50 ms',
    });
  });

  test('names the failure of a connection', async () => {
    const url = `http://127.0.0.1:${await new TestServers().closedPort()}`;
    expect(await modelReach({ model: model('openai'), sources: sources({ OPENAI_BASE_URL: url }) })).toEqual({
      state: 'unreachable',
      reason: 'openai cannot be reached: ECONNREFUSED',
    });
  });

  test('does not carry the key to where a redirect points', async () => {
    const other = await api(200);
    const { url } = await api(302, { location: other.url });
    await modelReach({ model: model('openai'), sources: sources({ OPENAI_BASE_URL: url }) });
    expect(other.seen).toEqual([]);
  });

  test.each<[string, { provider?: string; apiKey?: string; env?: Record<string, string> }, string]>([
    ['the key is not set', { apiKey: '$env:OTHER' }, 'the variable OTHER is not set'],
    [
      'the provider is not known',
      { provider: 'bedrock' },
      'no address is known for the provider bedrock: set BEDROCK_BASE_URL',
    ],
    [
      'azure has no endpoint',
      { provider: 'azure' },
      'no address is known for the provider azure: set AZURE_OPENAI_ENDPOINT',
    ],
    [
      'the provider is a name that every object has',
      { provider: 'constructor' },
      'no address is known for the provider constructor: set CONSTRUCTOR_BASE_URL',
    ],
    [
      'the base URL is none',
      { env: { OPENAI_BASE_URL: 'nowhere' } },
      'OPENAI_BASE_URL is no http: or https: URL',
    ],
    [
      'the base URL holds a password',
      { env: { OPENAI_BASE_URL: 'http://me:pw@localhost' } },
      'OPENAI_BASE_URL holds a user name or password, which cannot be sent',
    ],
  ])('is unknown when %s', async (_when, { provider = 'openai', apiKey, env = {} }, reason) => {
    expect(await modelReach({ model: model(provider, apiKey), sources: sources(env) })).toEqual({
      state: 'unknown',
      reason,
    });
  });

  test('never shows a key that cannot be sent', async () => {
    const { url } = await api(200);
    const reach = await modelReach({
      model: model('openai'),
      sources: sources({ OPENAI_BASE_URL: url, KEY: 'sk-öffentlich\u2028\nzwei' }),
    });
    expect(reach).toEqual({ state: 'unreachable', reason: 'the key cannot be sent: it is no header value' });
  });

  test('ends with its signal', async () => {
    const { url, seen } = await api(0);
    const stop = new AbortController();
    const asked = modelReach({
      model: model('openai'),
      sources: sources({ OPENAI_BASE_URL: url }),
      signal: stop.signal,
    });
    await until(() => seen.length === 1, 'the request');
    stop.abort();
    expect((await asked).state).toBe('unreachable');
  });
});
