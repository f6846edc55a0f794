import { afterEach, describe, expect, test } from '@jest/globals';
import type { PolicyEngine } from '../../core/policy/engine.ts';
import { builtinEngine, policyOf } from '../../core/policy/policy.ts';
import { CHAT } from '../../testing/sidecar/chat-vendor.ts';
import {
  laneManifest,
  post,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';

const LANES =
  'openai=vendor/v1,azure=vendor,gemini=vendor,vertex=vendor,anthropic=vendor,ollama=vendor,compatible:gw=vendor';
const RESPONSES = '/openai/v1/responses';
const VERTEX = '/vertex/v1/projects/p/locations/l';

let rig: EgressRig;
afterEach(() => rig.close());

const manifest = laneManifest({ egress: { models: ['gpt-4'] } });
async function start(options: EgressRigOptions = {}): Promise<void> {
  rig = await startEgressRig({ lanes: LANES, manifest, ...options });
  respond({ model: 'gpt-5', choices: [] });
}
function respond(body: object): void {
  rig.vendor.respond = (_seen, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
async function logged(): Promise<unknown> {
  await until(() => rig.egress.log.newest().length === 1, 'the call in the log');
  return rig.egress.log.newest()[0];
}

/** The builtin engine as an engine in another process. */
const remote = (): PolicyEngine => {
  const engine = builtinEngine(() => policyOf(manifest));
  return { evaluate: async (input) => await engine.evaluate(input) };
};

describe.each<[string, (model: string) => string, object]>([
  [
    'a deployment of Azure',
    (model) => `/azure/openai/deployments/${model}/chat/completions?api-version=1`,
    {},
  ],
  [
    'a deployment with extensions',
    (model) => `/azure/openai/deployments/${model}/extensions/chat/completions`,
    {},
  ],
  ['a deployment for embeddings', (model) => `/azure/openai/deployments/${model}/embeddings`, {}],
  ['a deployment of a gateway', (model) => `/compatible/gw/openai/deployments/${model}/chat/completions`, {}],
  ['an engine of a gateway', (model) => `/compatible/gw/engines/${model}/chat/completions`, {}],
  ['a model of Gemini', (model) => `/gemini/v1beta/models/${model}:generateContent`, {}],
  ['a model of Vertex', (model) => `${VERTEX}/publishers/google/models/${model}:generateContent`, {}],
  ['an endpoint of Vertex', (model) => `${VERTEX}/endpoints/${model}:streamGenerateContent`, {}],
  [
    'a model of Anthropic in Vertex',
    (model) => `${VERTEX}/publishers/anthropic/models/${model}:rawPredict`,
    {},
  ],
])('%s in the path', (_what, path, members) => {
  test.each<[string, string, number]>([
    ['other', 'gpt-5', 403],
    ['gpt-5', 'other', 403],
    ['gpt-5', 'gpt-4', 200],
  ])('is %s and the model in the body %s: %s', async (inPath, inBody, status) => {
    await start();
    const { status: received, body } = await post(rig.port, path(inPath), { model: inBody, ...members });
    expect(received).toBe(status);
    if (status === 403) expect(body).toContain('model other');
    expect(rig.vendor.requests).toHaveLength(status === 200 ? 1 : 0);
    expect(await logged()).toMatchObject({ model: inPath, otherModels: [inBody] });
  });
});

describe.each<[string, object, string[]]>([
  ['models', { models: ['gpt-4', 'other'], route: 'fallback' }, ['gpt-4', 'other']],
  ['fallbacks', { fallbacks: ['gpt-5', 'other'] }, ['other']],
  ['fallbacks with parameters', { fallbacks: [{ model: 'other', temperature: 1 }] }, ['other']],
  ['fallbacks by model', { fallbacks: [{ 'gpt-5': ['gpt-4', 'other'] }] }, ['gpt-4', 'other']],
  ['fallbacks of long prompts', { context_window_fallbacks: [{ 'gpt-5': ['other'] }] }, ['other']],
  ['fallbacks of refused prompts', { content_policy_fallbacks: [{ 'gpt-5': ['other'] }] }, ['other']],
  ['models of a gateway', { providerOptions: { gateway: { models: ['other'] } } }, ['other']],
  ['models with commas', { model: 'other, vendor/gpt-5' }, ['other', 'vendor/gpt-5']],
  [
    'too many models',
    { models: [...Array.from({ length: 50 }, (_, index) => `gpt-5-${2000 + index}`), 'other'] },
    [],
  ],
])('a request with %s next to its model', (_what, members, others) => {
  test.each<[string, EgressRigOptions]>([
    ['in this process', {}],
    ['over the network', { engine: remote() }],
  ])('is denied if one is not declared, with the engine %s', async (_engine, options) => {
    await start(options);
    const { status, body } = await post(rig.port, CHAT, { model: 'gpt-5', messages: [], ...members });
    expect(status).toBe(403);
    expect(body).toContain('model other');
    expect(rig.vendor.requests).toEqual([]);
    if (others.length > 0) expect(await logged()).toMatchObject({ otherModels: others });
  });

  test('passes with the violation in the mode track', async () => {
    await start({ mode: 'track' });
    const sent = { model: 'gpt-5', messages: [], ...members };
    const { status, headers } = await post(rig.port, CHAT, sent);
    expect([status, headers['x-platform-policy-violations']]).toEqual([200, 'model_not_declared']);
    expect(rig.vendor.requests[0]?.body).toBe(JSON.stringify(sent));
  });
});

test('members that Ollama reads in any case are evaluated before the call', async () => {
  await start();
  for (const body of [{ Model: 'other' }, { model: 'gpt-5', MODEL: 'other' }])
    expect((await post(rig.port, '/ollama/api/chat', body)).status).toBe(403);
  expect(rig.vendor.requests).toEqual([]);
});

test('the log has the model that ran, of the declared ones', async () => {
  await start();
  respond({ model: 'openai/gpt-4-2024-01-01', choices: [] });
  expect((await post(rig.port, CHAT, { model: 'gpt-5', models: ['gpt-4'], messages: [] })).status).toBe(200);
  expect(await logged()).toMatchObject({ model: 'gpt-4', otherModels: ['gpt-4'] });
});

describe('a model that only the response names', () => {
  const PROMPT = { prompt: { id: 'pmpt_1', version: '2' } };
  const created = (model: string, tools: object[]): object => ({
    id: 'r',
    object: 'response',
    model,
    status: 'completed',
    output: [],
    tools,
  });
  const rows: [string, string, { request: object; response: object }, string][] = [
    [
      'of a request without a model',
      CHAT,
      { request: { messages: [] }, response: { model: 'other', choices: [] } },
      'model_not_declared',
    ],
    [
      'of Anthropic',
      '/anthropic/v1/messages',
      { request: {}, response: { model: 'other', content: [] } },
      'model_not_declared',
    ],
    [
      'of a stored prompt',
      RESPONSES,
      { request: PROMPT, response: created('other', []) },
      'model_not_declared',
    ],
    [
      'of a stored prompt with a tool',
      RESPONSES,
      { request: { ...PROMPT, model: 'gpt-5' }, response: created('gpt-5', [{ type: 'web_search' }]) },
      'tool_not_declared',
    ],
  ];

  test.each(rows)('%s is denied', async (_what, path, { request, response }, code) => {
    for (const engine of [undefined, remote()]) {
      await start(engine && { engine });
      respond(response);
      const { status, headers } = await post(rig.port, path, request);
      expect([status, headers['x-platform-policy-violations']]).toEqual([403, code]);
      expect(await logged()).toMatchObject({ violations: [code], blocked: true });
      await rig.close();
    }
  });

  test.each(rows)('%s passes in the mode track', async (_what, path, { request, response }, code) => {
    await start({ mode: 'track' });
    respond(response);
    const { status, body, headers } = await post(rig.port, path, request);
    expect([status, headers['x-platform-policy-violations']]).toEqual([200, code]);
    expect(body).toBe(JSON.stringify(response));
    expect(await logged()).toMatchObject({ violations: [code], blocked: false });
  });

  test.each<[string, string, object[]]>([
    ['chat', CHAT, [{ model: 'other', choices: [{ delta: { content: 'secret' } }] }]],
    [
      'Responses',
      RESPONSES,
      [
        { type: 'response.created', response: { model: 'other' } },
        { type: 'x', delta: 'secret' },
      ],
    ],
    [
      'Anthropic',
      '/anthropic/v1/messages',
      [{ type: 'message_start', message: { model: 'other' } }, { x: 'secret' }],
    ],
  ])('ends a stream of %s', async (_what, path, events) => {
    await start();
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    rig.vendor.respond = (_seen, response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
    const { body } = await post(rig.port, path, { stream: true });
    expect(body).not.toContain('secret');
    expect(body).toContain('model other');
    expect(await logged()).toMatchObject({
      model: 'other',
      violations: ['model_not_declared'],
      blocked: true,
    });
  });

  test('is not judged if the request names a declared one', async () => {
    await start();
    respond({ model: 'gpt-5-turbo-at-the-vendor', choices: [] });
    expect((await post(rig.port, CHAT, { model: 'gpt-5', messages: [] })).status).toBe(200);
  });
});
