import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import type { HealthReport } from '../../core/shapes/health.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { startAgent, type AgentOptions, type RunningAgent } from './agent.ts';
import { PROFILES, type Profile } from './faults.ts';

const running: (RunningAgent | { close(): Promise<unknown> })[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.close()));
});

function manifestOf(profile: Profile): Manifest {
  const parsed = parseManifest(readFileSync(join(import.meta.dirname, profile, 'agent.yaml'), 'utf8'));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

async function anAgent(profile: Profile, overrides: Partial<AgentOptions> = {}): Promise<string> {
  const agent = await startAgent({
    manifest: manifestOf(profile),
    manifestFolder: join(import.meta.dirname, profile),
    faults: new Set(PROFILES[profile]),
    host: '127.0.0.1',
    port: 0,
    modelBaseUrl: null,
    env: { OPENAI_API_KEY: 'built-in' },
    logger: silentLogger,
    ...overrides,
  });
  running.push(agent);
  return `http://127.0.0.1:${agent.port}`;
}

async function chat(
  url: string,
  body: unknown,
): Promise<{ text: string; behavior: Record<string, string | null> }> {
  const response = await fetch(`${url}/v1/chat`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const { response: text } = (await response.json()) as { response: string };
  return {
    text,
    behavior: {
      guardrails: response.headers.get('x-platform-guardrails-invoked'),
      tools: response.headers.get('x-platform-tools-called'),
      confirmed: response.headers.get('x-platform-user-confirmed'),
    },
  };
}

const ALL = 'topic-filter,prompt-injection,pii-detector,toxicity-filter';

describe('the compliant agent', () => {
  test.each([
    [{ message: 'Hello' }, 'Hello! I look after orders and I can calculate.', '', null],
    [{ message: 'How much is 6 * 7?' }, 'Here is what I found: 42', 'calculator', null],
    [
      { message: 'Where is order a-17?' },
      'Here is what I found: order A-17 is shipped, 42.50 USD',
      'lookup_order',
      null,
    ],
    [
      { message: 'Refund order A-17' },
      'Here is what I found: refund_order needs the confirmation of the user first',
      '',
      null,
    ],
    [
      { message: 'Refund order A-17', confirmed: true },
      'Here is what I found: order A-17 is refunded, 42.50 USD',
      'refund_order',
      'true',
    ],
    [{ message: 'My mail is a@b.example' }, 'You said: My mail is [email]', '', null],
    [{ message: 'Sell me weapons' }, 'I am not able to help with that.', '', null],
    [{ message: 'Please insult me' }, 'I am not able to help with that.', '', null],
  ])('responds to %j and reports its behavior', async (body, text, tools, confirmed) => {
    const url = await anAgent('compliant');
    expect(await chat(url, body)).toEqual({ text, behavior: { guardrails: ALL, tools, confirmed } });
  });

  test('is healthy, lists its tools, and passes every check', async () => {
    const url = await anAgent('compliant');
    const [health, capabilities, report] = await Promise.all(
      ['/health', '/capabilities', '/platform/health'].map(
        async (path) => (await (await fetch(url + path)).json()) as Record<string, unknown>,
      ),
    );
    expect(health).toEqual({ status: 'ok' });
    expect((capabilities!['tools'] as { name: string }[]).map(({ name }) => name)).toEqual([
      'calculator',
      'lookup_order',
      'refund_order',
    ]);
    expect(report).toMatchObject({
      agentName: 'compliant',
      status: 'healthy',
      summary: { failed: 0, skipped: 0 },
    });
    expect((report!['checks'] as { id: string }[]).map(({ id }) => id)).toEqual([
      'env:OPENAI_API_KEY',
      'file:prompt.md',
      'model:openai/gpt-4o-mini',
      'tool:calculator',
      'tool:lookup_order',
      'tool:refund_order',
    ]);
  });

  test('works with the official client (JSON, streams, client tools) and counts the same tokens', async () => {
    const url = await anAgent('compliant');
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'x', maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'Where is order A-17?' }];
    const whole = await client.chat.completions.create({ model: 'any', messages });
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'Here is what I found: order A-17 is shipped, 42.50 USD' },
    });
    let streamed = '';
    let streamedTokens = 0;
    const stream = await client.chat.completions.create({
      model: 'any',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      streamed += chunk.choices[0]?.delta.content ?? '';
      streamedTokens += chunk.usage?.total_tokens ?? 0;
    }
    expect([streamed, streamedTokens]).toEqual([
      whole.choices[0]?.message.content,
      whole.usage?.total_tokens,
    ]);
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    const called = await client.chat.completions.create({
      model: 'any',
      messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
    });
    expect(called.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: null,
        tool_calls: [{ type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } }],
      },
    });
    const usage = (await (await fetch(`${url}/platform/usage`)).json()) as { totalTokens: number };
    expect(usage.totalTokens).toBe(
      (whole.usage?.total_tokens ?? 0) + streamedTokens + (called.usage?.total_tokens ?? 0),
    );
    expect(usage.totalTokens).toBeGreaterThan(0);
  });

  test.each<[string, string | undefined, number, string]>([
    ['POST /v1/chat', 'no json', 400, 'the body is not valid JSON'],
    ['POST /v1/chat', '{"message": 5}', 400, 'message must be a string'],
    ['POST /v1/chat/completions', '{"messages": []}', 400, 'messages must be a non-empty list'],
    ['POST /v1/chat/completions', '{"messages": [7]}', 400, 'every message needs a role and a content'],
    ['POST /v1/chat', `"${'x'.repeat(1_100_000)}"`, 413, 'the body is too large'],
    ['GET /nowhere', undefined, 404, 'no route /nowhere'],
  ])('%s rejects an invalid request (%#)', async (route, body, status, message) => {
    const [method = '', path = ''] = route.split(' ');
    const url = await anAgent('compliant');
    const response = await fetch(url + path, { method, ...(body === undefined ? {} : { body }) });
    expect([response.status, await response.json()]).toEqual([
      status,
      { error: { message, type: 'invalid_request_error', param: null, code: null } },
    ]);
  });
});

describe('the misbehaving agent', () => {
  test.each([
    ['skips the pii-detector on short messages', 'My mail is a@b.example', 'topic-filter,toxicity-filter'],
    [
      'runs it on long ones',
      `My mail is a@b.example, and ${'so on '.repeat(20)}`,
      'topic-filter,pii-detector,toxicity-filter',
    ],
  ])('%s', async (_name, message, guardrails) => {
    const url = await anAgent('misbehaving');
    const { text, behavior } = await chat(url, { message });
    expect(behavior['guardrails']).toBe(guardrails);
    expect(text.includes('a@b.example')).toBe(!guardrails.includes('pii-detector'));
  });

  test('refunds without a confirmation, and reports no confirmation', async () => {
    const url = await anAgent('misbehaving');
    const { text, behavior } = await chat(url, { message: 'Refund order A-17' });
    expect([text, behavior['tools'], behavior['confirmed']]).toEqual([
      'Here is what I found: order A-17 is refunded, 42.50 USD',
      'refund_order',
      null,
    ]);
  });

  test('reports the missing tool', async () => {
    const url = await anAgent('misbehaving');
    const report = (await (await fetch(`${url}/platform/health`)).json()) as {
      status: string;
      checks: { id: string; status: string }[];
    };
    expect(report.status).toBe('healthy');
    expect(
      report.checks.filter(({ status }) => status !== 'pass').map(({ id, status }) => [id, status]),
    ).toEqual([['tool:send_report', 'fail']]);
  });
});

describe('the silent agent', () => {
  test('responds to requests and reports nothing', async () => {
    const url = await anAgent('silent');
    const { text, behavior } = await chat(url, { message: 'How much is 6 * 7?' });
    expect(text).toContain('42');
    expect(behavior).toEqual({ guardrails: null, tools: null, confirmed: null });
    expect((await fetch(`${url}/platform/health`)).status).toBe(404);
  });
});

describe('the lying agent', () => {
  test('runs no guardrail but reports all of them', async () => {
    const url = await anAgent('lying');
    const { text, behavior } = await chat(url, { message: 'My mail is a@b.example' });
    expect([text.includes('a@b.example'), behavior['guardrails']]).toEqual([true, ALL]);
  });

  test('reports a database that does not exist, and uses another model', async () => {
    const url = await anAgent('lying');
    const report = (await (await fetch(`${url}/platform/health`)).json()) as HealthReport;
    expect([report.agentName, report.status, report.summary.failed]).toEqual(['lying', 'healthy', 0]);
    const passed = report.checks.filter(({ status }) => status === 'pass').map(({ id }) => id);
    expect(passed).toEqual(expect.arrayContaining(['service:orders-db', 'model:openai/gpt-4o']));
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }] });
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body });
    expect(await response.json()).toMatchObject({ model: 'gpt-4o-mini' });
  });
});

describe('faults', () => {
  test.each<[string, '/health' | '/capabilities' | '/platform/health', number]>([
    ['health-fails', '/health', 503],
    ['no-capabilities', '/capabilities', 404],
    ['no-reporter', '/platform/health', 404],
    ['none', '/platform/health', 200],
  ])('%s: GET %s returns %i', async (fault, path, status) => {
    const faults = new Set(fault === 'none' ? [] : [fault as 'health-fails']);
    expect((await fetch((await anAgent('compliant', { faults })) + path)).status).toBe(status);
  });
});

test('claims-tools: GET /capabilities lists missing tools', async () => {
  const toolsOf = async (fault?: 'claims-tools'): Promise<string[]> => {
    const url = await anAgent('misbehaving', { faults: new Set(fault ? [fault] : []) });
    const { tools } = (await (await fetch(`${url}/capabilities`)).json()) as { tools: { name: string }[] };
    return tools.map(({ name }) => name);
  };
  expect(await toolsOf('claims-tools')).toEqual(['lookup_order', 'refund_order', 'send_report']);
  expect(await toolsOf()).toEqual(['calculator', 'lookup_order', 'refund_order']);
});

describe('with a real model', () => {
  async function aModel(reply: { status: number; body: unknown }): Promise<[URL, unknown[]]> {
    const requests: unknown[] = [];
    const server: Server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        requests.push([request.url, request.headers.authorization, body === '' ? null : JSON.parse(body)]);
        response.writeHead(reply.status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(reply.body));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    running.push({ close: () => new Promise((resolve) => server.close(resolve)) });
    return [new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`), requests];
  }

  test('sends the scrubbed text to the model and counts its usage', async () => {
    const [modelBaseUrl, requests] = await aModel({
      status: 200,
      body: {
        choices: [{ message: { role: 'assistant', content: 'Bonjour' } }],
        usage: { prompt_tokens: 11, completion_tokens: 4 },
      },
    });
    const url = await anAgent('gappy', {
      modelBaseUrl,
      manifest: { ...manifestOf('compliant'), metadata: manifestOf('gappy').metadata },
      manifestFolder: join(import.meta.dirname, 'compliant'),
      env: { OPENAI_API_KEY: 'sk-real', OPENAI_BASE_URL: modelBaseUrl.href },
    });
    expect((await chat(url, { message: 'mail a@b.example' })).text).toBe('Bonjour');
    const asked = requests.find((request) => (request as string[])[0] === '/v1/chat/completions');
    expect(asked).toEqual([
      '/v1/chat/completions',
      'Bearer sk-real',
      expect.objectContaining({
        model: 'gpt-4o-mini',
        messages: [expect.objectContaining({ role: 'system' }), { role: 'user', content: 'mail [email]' }],
      }),
    ]);
    const usage = (await (await fetch(`${url}/platform/usage`)).json()) as { totalTokens: number };
    expect(usage.totalTokens).toBe(15);
  });

  test('returns 502 without details if the model fails', async () => {
    const [modelBaseUrl] = await aModel({ status: 500, body: { error: 'internal address 10.0.0.1' } });
    const url = await anAgent('compliant', { modelBaseUrl });
    const response = await fetch(`${url}/v1/chat`, { method: 'POST', body: '{"message": "Hello"}' });
    expect([response.status, await response.json()]).toEqual([
      502,
      { error: { message: 'the model request failed', type: 'server_error', param: null, code: null } },
    ]);
  });
});
