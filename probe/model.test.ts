import { afterEach, describe, expect, test } from '@jest/globals';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../testing/time/until.ts';
import { TestServers } from '../testing/http/sockets.ts';
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

/** An API that returns `status` for every request; 0: it never responds. */
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
    ['google', 'GOOGLE_GEMINI_BASE_URL', '/v1beta/models', { 'x-goog-api-key': 'sk-secret' }],
    ['cohere', 'CO_API_URL', '/v1/models', { authorization: 'Bearer sk-secret' }],
    ['mistral', 'MISTRAL_BASE_URL', '/models', { authorization: 'Bearer sk-secret' }],
    ['azure', 'AZURE_OPENAI_ENDPOINT', '/openai/models?api-version=2024-10-21', { 'api-key': 'sk-secret' }],
    ['my-gateway', 'MY_GATEWAY_BASE_URL', '/models', { authorization: 'Bearer sk-secret' }],
  ])('calls %s at the URL in %s', async (provider, variable, path, headers) => {
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
  ])('uses the known address of %s', async (provider, address, headers) => {
    const calls: unknown[] = [];
    const original = globalThis.fetch;
    // Only the vendor's API is replaced, because a test cannot call it.
    globalThis.fetch = (url, init) => {
      calls.push([url, init?.headers]);
      return Promise.resolve(new Response('{"data":[]}'));
    };
    try {
      expect((await modelReach({ model: model(provider), sources: sources({}) })).state).toBe('reachable');
    } finally {
      globalThis.fetch = original;
    }
    expect(calls).toEqual([[address, expect.objectContaining(headers)]]);
  });

  test.each([
    ['openai', 401, 'the key was rejected: PROVIDER responded with 401'],
    ['openai', 403, 'the key was rejected: PROVIDER responded with 403'],
    ['google', 400, 'the key was rejected: PROVIDER responded with 400'],
    ['openai', 500, 'PROVIDER responded with 500'],
    ['openai', 503, 'PROVIDER responded with 503'],
  ])('%s is unreachable with status %i: %s', async (provider, status, reason) => {
    const { url } = await api(status);
    const env = { [`${provider.toUpperCase()}_BASE_URL`]: url };
    expect(await modelReach({ model: model(provider), sources: sources(env) })).toEqual({
      state: 'unreachable',
      reason: reason.replace('PROVIDER', provider),
    });
  });

  test.each([200, 400, 404, 429])('an API is reachable with status %i', async (status) => {
    const { url } = await api(status);
    const reach = await modelReach({ model: model('openai'), sources: sources({ OPENAI_BASE_URL: url }) });
    expect(reach.state).toBe('reachable');
  });

  test('is unreachable after the time-out', async () => {
    const { url } = await api(0);
    const probe = { model: model('openai'), sources: sources({ OPENAI_BASE_URL: url }), timeoutMs: 50 };
    expect(await modelReach(probe)).toEqual({
      state: 'unreachable',
      reason: 'openai did not respond within 50 ms',
    });
  });

  test('reports the error code of a failed connection', async () => {
    const url = `http://127.0.0.1:${await new TestServers().closedPort()}`;
    expect(await modelReach({ model: model('openai'), sources: sources({ OPENAI_BASE_URL: url }) })).toEqual({
      state: 'unreachable',
      reason: 'openai cannot be reached: ECONNREFUSED',
    });
  });

  test('does not send the key to the target of a redirect', async () => {
    const other = await api(200);
    const { url } = await api(302, { location: other.url });
    await modelReach({ model: model('openai'), sources: sources({ OPENAI_BASE_URL: url }) });
    expect(other.seen).toEqual([]);
  });

  test.each<[string, { provider?: string; apiKey?: string; env?: Record<string, string> }, string]>([
    ['the key variable is not set', { apiKey: '$env:OTHER' }, 'the variable OTHER is not set'],
    [
      'the provider is unknown',
      { provider: 'bedrock' },
      'no API address is known for provider bedrock: set BEDROCK_BASE_URL',
    ],
    [
      'azure has no endpoint',
      { provider: 'azure' },
      'no API address is known for provider azure: set AZURE_OPENAI_ENDPOINT',
    ],
    [
      'the provider is the name of an inherited object property',
      { provider: 'constructor' },
      'no API address is known for provider constructor: set CONSTRUCTOR_BASE_URL',
    ],
    [
      'the base URL is invalid',
      { env: { OPENAI_BASE_URL: 'nowhere' } },
      'OPENAI_BASE_URL is not an http(s) URL',
    ],
    [
      'the base URL contains a password',
      { env: { OPENAI_BASE_URL: 'http://me:pw@localhost' } },
      'OPENAI_BASE_URL contains a user name or password, which is not supported',
    ],
  ])('is unknown when %s', async (_when, { provider = 'openai', apiKey, env = {} }, reason) => {
    expect(await modelReach({ model: model(provider, apiKey), sources: sources(env) })).toEqual({
      state: 'unknown',
      reason,
    });
  });

  test('does not reveal a key that cannot be sent', async () => {
    const { url } = await api(200);
    const reach = await modelReach({
      model: model('openai'),
      sources: sources({ OPENAI_BASE_URL: url, KEY: 'sk-öffentlich\u2028\nzwei' }),
    });
    expect(reach).toEqual({
      state: 'unreachable',
      reason: 'the key cannot be sent: it is not a valid header value',
    });
  });

  test('is unreachable when its signal aborts', async () => {
    const { url, seen } = await api(0);
    const stop = new AbortController();
    const probing = modelReach({
      model: model('openai'),
      sources: sources({ OPENAI_BASE_URL: url }),
      signal: stop.signal,
    });
    await until(() => seen.length === 1, 'the request');
    stop.abort();
    expect((await probing).state).toBe('unreachable');
  });
});
