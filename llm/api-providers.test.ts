import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Secret } from '../runtime/secret.ts';
import {
  responds,
  sends,
  startLlmVendor,
  streams,
  streamsOnly,
  VENDOR_TOKENS,
  type VendorReply,
} from '../testing/sidecar/llm-vendor.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { anthropicProvider } from './anthropic.ts';
import { LIMITS, type Limits } from './attempt.ts';
import { openaiProvider } from './openai.ts';
import type { CompletionRequest, Provider } from './provider.ts';

const KEY = 'test-key-0123456789';
const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: { type: 'string' } },
};
const REQUEST: CompletionRequest = {
  system: 'Name the agent.',
  prompt: 'It answers questions about orders.',
  schema: { name: 'agent', schema: SCHEMA },
  maxTokens: 200,
};
const RESPONSE = '{"name": "order desk"}';

let servers: TestServers;
beforeEach(() => {
  servers = new TestServers();
});
afterEach(() => servers.close());

interface Api {
  vendor: (url: string) => string;
  keyName: string;
  provider: (url: string, limits: Limits) => Provider;
  path: string;
  inputTokens: number;
  /** Members of a request that asks for the schema. */
  structured: object;
  /** Requests until everything optional is gone. */
  forms: number;
  systemOf: (body: Readonly<Record<string, unknown>>) => unknown;
  ends: { cut: string; refused: string };
  /** An event whose text is not a text. */
  wrongEvent: string;
  brokenEvent: string;
  errorEvent: string;
}

const settings = (limits: Limits) => ({ key: new Secret(KEY), model: 'model-x', limits });

const ANTHROPIC: Api = {
  vendor: () => 'Anthropic',
  keyName: 'ANTHROPIC_API_KEY',
  provider: (url, limits) => anthropicProvider({ ...settings(limits), baseUrl: new URL(url) }),
  path: '/v1/messages',
  inputTokens: VENDOR_TOKENS.prompt - 16,
  structured: { max_tokens: 200, output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
  forms: 2,
  systemOf: ({ system }) => system,
  ends: { cut: 'max_tokens', refused: 'refusal' },
  wrongEvent:
    'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":5}}\n\n',
  brokenEvent: 'event: content_block_delta\ndata: {"type":\n\n',
  errorEvent:
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
};

const COMPATIBLE: Api = {
  vendor: (url) => `the endpoint ${new URL(url).host}`,
  keyName: 'PLATFORM_LLM_API_KEY',
  provider: (url, limits) =>
    openaiProvider({
      ...settings(limits),
      name: 'openai-compatible',
      keyName: 'PLATFORM_LLM_API_KEY',
      baseUrl: new URL(`${url}/v1`),
    }),
  path: '/v1/chat/completions',
  inputTokens: VENDOR_TOKENS.prompt,
  structured: {
    max_tokens: 200,
    stream_options: { include_usage: true },
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'agent', schema: SCHEMA, strict: true },
    },
  },
  forms: 3,
  systemOf: ({ messages }) => (messages as { content: unknown }[])[0]!.content,
  ends: { cut: 'length', refused: 'content_filter' },
  wrongEvent: 'data: {"choices":[{"index":0,"delta":{"content":5},"finish_reason":null}]}\n\n',
  brokenEvent: 'data: {"choices":\n\n',
  errorEvent: 'data: {"error":{"message":"Overloaded"}}\n\n',
};

const APIS: [name: string, api: Api][] = [
  ['anthropic-api', ANTHROPIC],
  ['openai-compatible', COMPATIBLE],
];

describe.each(APIS)('%s', (name, api) => {
  const idle = () => new AbortController().signal;
  const start = async (reply: VendorReply, ...more: VendorReply[]) => {
    const vendor = await startLlmVendor(servers, reply, ...more);
    const complete = (limits: Partial<Limits> = {}) =>
      api.provider(vendor.url, { ...LIMITS, ...limits }).complete(REQUEST, { signal: idle() });
    return { vendor, complete, vendorName: api.vendor(vendor.url) };
  };

  test('sends the request with the schema, and streams the response', async () => {
    const { vendor } = await start(streams(RESPONSE));
    const provider = api.provider(vendor.url, LIMITS);
    expect(provider).toMatchObject({ name, model: 'model-x' });
    const pieces: string[] = [];
    const result = await provider.complete(REQUEST, {
      signal: idle(),
      onText: (piece) => pieces.push(piece),
    });
    expect(result).toEqual({
      ok: true,
      text: RESPONSE,
      model: 'model-x-0001',
      usage: { inputTokens: api.inputTokens, outputTokens: VENDOR_TOKENS.completion },
    });
    expect(pieces.join('')).toBe(RESPONSE);
    expect(pieces.length).toBeGreaterThan(1);
    const [request] = vendor.requests;
    expect(request).toMatchObject({
      path: api.path,
      body: { model: 'model-x', stream: true, ...api.structured },
    });
    expect(request!.headers).toMatchObject({ authorization: `Bearer ${KEY}` });
    expect(api.systemOf(request!.body)).toBe(REQUEST.system);
    expect(request!.body['messages']).toContainEqual({ role: 'user', content: REQUEST.prompt });
  });

  test.each<[what: string, reply: (api: Api) => VendorReply, reason: (vendor: string) => string]>([
    [
      'a rejected key',
      ({ keyName }) => responds(401, { error: { message: `${KEY} in ${keyName} is wrong` } }),
      (vendor) => `${vendor} rejected the key in ${api.keyName} (status 401)`,
    ],
    [
      'a reason that repeats keys',
      () => responds(403, { error: { message: `no access\nfor ${KEY} or sk-proj-abc***xyz` } }),
      (vendor) => `${vendor} responded with status 403: no access for [key] or [key]`,
    ],
    [
      'a missing model',
      () => responds(404, { error: { message: 'model-x does not exist' } }),
      (vendor) => `${vendor} responded with status 404: model-x does not exist`,
    ],
    [
      'a long reason',
      () => responds(404, { error: { message: 'x'.repeat(5_000) } }),
      (vendor) => `${`${vendor} responded with status 404: ${'x'.repeat(400)}`.slice(0, 400)}…`,
    ],
    ['a status without a reason', () => responds(418, {}), (vendor) => `${vendor} responded with status 418`],
    [
      'a response that is cut',
      ({ ends }) => streams(RESPONSE, ends.cut),
      () => 'the response was cut at the token limit',
    ],
    ['a refusal', ({ ends }) => streams(RESPONSE, ends.refused), () => 'the model refused the request'],
    ['an empty response', () => streams(''), () => 'the response of the model is empty'],
    [
      'a response that ends early',
      () => streamsOnly(4, RESPONSE, (response) => response.end()),
      (vendor) => `the response of ${vendor} ended before it was complete`,
    ],
    [
      'a web page',
      () => sends('<!doctype html><title>Sign in</title>'),
      (vendor) => `the response of ${vendor} ended before it was complete`,
    ],
    [
      'an invalid event',
      ({ brokenEvent }) => sends(brokenEvent),
      (vendor) => `the response of ${vendor} is not valid`,
    ],
    [
      'an event with a wrong type',
      ({ wrongEvent }) => sends(wrongEvent),
      (vendor) => `the response of ${vendor} is not valid`,
    ],
    [
      'an error in the stream',
      ({ errorEvent }) => sends(errorEvent),
      (vendor) => `${vendor} reported an error: Overloaded`,
    ],
  ])('%s is a failure', async (_what, reply, reason) => {
    const { complete, vendorName, vendor } = await start(reply(api));
    expect(await complete()).toEqual({ ok: false, reason: reason(vendorName) });
    expect(vendor.requests).toHaveLength(1);
  });

  test('a connection that breaks is a failure', async () => {
    const { complete, vendorName } = await start(streamsOnly(4, RESPONSE, (response) => response.destroy()));
    expect(await complete()).toEqual({
      ok: false,
      reason: expect.stringContaining(`the connection to ${vendorName} failed: `),
    });
  });

  test('an unreachable vendor is a failure', async () => {
    const url = `http://127.0.0.1:${await servers.closedPort()}`;
    const provider = api.provider(url, { ...LIMITS, retries: 0 });
    expect(await provider.complete(REQUEST, { signal: idle() })).toEqual({
      ok: false,
      reason: `the connection to ${api.vendor(url)} failed: connection refused`,
    });
  });

  test('the text and the whole response have a limit', async () => {
    const { complete } = await start(streams(RESPONSE));
    expect(await complete({ responseBytes: 10 })).toEqual({
      ok: false,
      reason: 'the text of the response is larger than the limit of 10 bytes',
    });
    const endless = await start(sends('x'.repeat(20_000)));
    expect(await endless.complete({ transferBytes: 1_000 })).toEqual({
      ok: false,
      reason: 'the response is larger than the limit of 1000 bytes',
    });
    const error = await start(responds(403, { error: { message: 'x'.repeat(20_000) } }));
    expect(await error.complete({ transferBytes: 1_000 })).toEqual({
      ok: false,
      reason: `${error.vendorName} responded with status 403`,
    });
  });

  test('errors that may be temporary are retried, with a limit', async () => {
    const recovering = await start(responds(500, {}), streams(RESPONSE));
    expect(await recovering.complete()).toMatchObject({ ok: true, text: RESPONSE });
    const busy = await start(responds(429, { error: { message: 'slow down' } }));
    expect(await busy.complete()).toEqual({
      ok: false,
      reason: `${busy.vendorName} responded with status 429: slow down`,
    });
    expect(busy.vendor.requests).toHaveLength(1 + LIMITS.retries);
  });

  test('a redirect is not followed, because the request has the key', async () => {
    const other = await startLlmVendor(servers, streams(RESPONSE));
    const redirect = responds(307, {}, { location: `${other.url}${api.path}` });
    const { complete, vendorName } = await start(redirect);
    expect(await complete()).toEqual({ ok: false, reason: `${vendorName} responded with status 307` });
    expect(other.requests).toEqual([]);
  });

  test('a model that rejects the schema gets it as text, from then on at once', async () => {
    const { vendor } = await start(
      responds(400, { error: { message: 'unknown member' } }),
      streams(RESPONSE),
    );
    const provider = api.provider(vendor.url, LIMITS);
    for (let round = 0; round < 2; round++)
      expect(await provider.complete(REQUEST, { signal: idle() })).toMatchObject({
        ok: true,
        text: RESPONSE,
      });
    expect(vendor.requests).toHaveLength(3);
    for (const { body } of vendor.requests.slice(1)) {
      expect(Object.keys(body)).not.toContain('output_config');
      expect(Object.keys(body)).not.toContain('response_format');
      expect(api.systemOf(body)).toContain(`${REQUEST.system}\n\n`);
      expect(api.systemOf(body)).toContain(JSON.stringify(SCHEMA));
    }
  });

  test('a request that is rejected in every form is a failure, and the next one has the schema', async () => {
    const { vendor } = await start(responds(400, { error: { message: 'too long' } }));
    const provider = api.provider(vendor.url, LIMITS);
    expect(await provider.complete(REQUEST, { signal: idle() })).toEqual({
      ok: false,
      reason: `${api.vendor(vendor.url)} responded with status 400: too long`,
    });
    expect(vendor.requests).toHaveLength(api.forms);
    vendor.replies = [streams(RESPONSE)];
    await provider.complete(REQUEST, { signal: idle() });
    expect(vendor.requests.at(-1)!.body).toMatchObject(api.structured);
  });

  test('a vendor that does not respond is a failure', async () => {
    const { complete, vendorName } = await start(() => undefined);
    expect(await complete({ timeoutMs: 50 })).toEqual({
      ok: false,
      reason: `${vendorName} did not complete the response within 0.05 s`,
    });
  });

  test('an interruption ends the request', async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const { vendor } = await start((response, events) => {
      response.once('close', () => closed.resolve());
      streamsOnly(5, RESPONSE, () => undefined)(response, events);
    });
    const provider = api.provider(vendor.url, LIMITS);
    const result = await provider.complete(REQUEST, {
      signal: controller.signal,
      onText: () => controller.abort(),
    });
    expect(result).toEqual({ ok: false, reason: 'the request was interrupted' });
    await closed.promise;
    expect(await provider.complete(REQUEST, { signal: controller.signal })).toEqual(result);
    expect(vendor.requests).toHaveLength(1);
  });
});

describe('members that a compatible endpoint rejects', () => {
  const complete = async (...replies: VendorReply[]) => {
    const vendor = await startLlmVendor(servers, ...replies);
    const provider = COMPATIBLE.provider(vendor.url, LIMITS);
    const result = await provider.complete(REQUEST, { signal: new AbortController().signal });
    return { result, bodies: vendor.requests.map(({ body }) => body) };
  };

  test('max_tokens becomes max_completion_tokens', async () => {
    const { result, bodies } = await complete(
      responds(400, { error: { message: "Use 'max_completion_tokens' instead." } }),
      streams(RESPONSE),
    );
    expect(result).toMatchObject({ ok: true });
    expect(bodies[1]).toMatchObject({ max_completion_tokens: 200, response_format: { type: 'json_schema' } });
    expect(Object.keys(bodies[1]!)).not.toContain('max_tokens');
  });

  test('an endpoint that does not stream sends a whole response', async () => {
    const completion = (choice: object) => ({
      model: 'model-y',
      choices: [choice],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    });
    const whole = (choice: object) => responds(200, completion(choice));
    const message = { role: 'assistant', content: RESPONSE };
    const { result } = await complete(whole({ finish_reason: 'stop', message }));
    expect(result).toEqual({
      ok: true,
      ...{ text: RESPONSE, model: 'model-y', usage: { inputTokens: 3, outputTokens: 2 } },
    });
    const cut = await complete(whole({ finish_reason: 'length', message }));
    expect(cut.result).toEqual({ ok: false, reason: 'the response was cut at the token limit' });
    const empty = await complete(responds(200, { choices: null }));
    expect(empty.result).toMatchObject({ ok: false, reason: expect.stringContaining('ended before') });
  });

  test('without stream_options, the usage is unknown', async () => {
    const { result, bodies } = await complete(
      responds(400, { error: { message: 'stream_options: extra inputs are not permitted' } }),
      streams(RESPONSE),
    );
    expect(result).toMatchObject({ ok: true, text: RESPONSE, usage: null });
    expect(bodies[1]).toMatchObject({ response_format: { type: 'json_schema' } });
    expect(Object.keys(bodies[1]!)).not.toContain('stream_options');
  });
});
