// Clients of an agent that stores and returns what they send. None of it may become usage of the agent.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { brotliDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { MatrixReport } from '../../core/shapes/explore.ts';
import type { EvidenceReport } from '../../core/shapes/evidence.ts';
import type { GapReport } from '../../core/shapes/gap.ts';
import { ask } from '../../testing/sidecar/proxy-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';

const FORGED = { prompt_tokens: 1_000_000, completion_tokens: 234_567, total_tokens: 1_234_567 };
const NOTE = { text: 'buy milk', model: 'forged-1', usage: FORGED };
const COMPLETION = {
  ...{ id: 'chatcmpl-forged', object: 'chat.completion', created: 1, model: 'forged-1' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  usage: FORGED,
};
const MESSAGE = {
  ...{ id: 'msg_forged', type: 'message', role: 'assistant', model: 'forged-1', stop_reason: 'end_turn' },
  ...{ content: [], usage: { input_tokens: 1_000_000, output_tokens: 1 } },
};
const REAL = { prompt_tokens: 31, completion_tokens: 5, total_tokens: 36 };

const INFLATE = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync };

let rig: SidecarRig;
let stored: unknown[];
/** What the agent responds with, for the parsed body of the request. */
let responseFor: (sent: unknown) => unknown;
beforeEach(async () => {
  stored = [];
  responseFor = (sent) => ({ id: 'note-7', ...(sent as object) });
  const api = { type: 'rest', chatEndpoint: { path: '/ask' } };
  rig = await startSidecarRig({ manifest: manifestText({ api }), agent: { '/health': 200 } });
  rig.agent.otherwise = (request, response) => void respond(request, response);
});
afterEach(async () => {
  await rig.close();
});

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'POST') stored.push(await bodyOf(request));
  const value = request.method === 'POST' ? responseFor(stored.at(-1)) : { notes: stored };
  const isStream = request.url?.endsWith('/stream') === true;
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  const events = Array.isArray(value) ? value : [value];
  response.end(
    isStream ? events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('') : JSON.stringify(value),
  );
}

/** Like a framework that reads JSON, forms and compressed bodies. */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const coding = request.headers['content-encoding'] as keyof typeof INFLATE | undefined;
  if (coding !== undefined) {
    const chunks = await request.toArray();
    return JSON.parse(INFLATE[coding](Buffer.concat(chunks as Buffer[])).toString()) as unknown;
  }
  const body = await text(request);
  if (request.headers['content-type'] !== 'application/x-www-form-urlencoded') return JSON.parse(body);
  const [tokens = ''] = new URLSearchParams(body).getAll('usage[prompt_tokens]');
  return { usage: { prompt_tokens: Number(tokens) } };
}

const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  ask(rig.sidecar.proxyPort, {
    ...{ method: 'POST', path, headers },
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });

async function usages(): Promise<AuditEntry['usage'][]> {
  await rig.settled();
  return (await rig.report<AuditEntry[]>('/audit')).map(({ usage }) => usage);
}

describe('what a client sends does not count', () => {
  test.each<[string, unknown]>([
    ['a note with usage', NOTE],
    ['the whole response of a model', COMPLETION],
    ['an Anthropic message', MESSAGE],
    ['nested notes', { note: { items: [[NOTE]] } }],
    ['usage of Gemini', { usageMetadata: { promptTokenCount: 1_000_000, candidatesTokenCount: 3 } }],
    ['usage of Ollama', { model: 'm', eval_count: 5, prompt_eval_count: 1_000_000, done: true }],
  ])('%s, in the response, in the stored notes and as a stream', async (_what, sent) => {
    await send('/notes', sent);
    await ask(rig.sidecar.proxyPort, { path: '/notes' });
    await ask(rig.sidecar.proxyPort, { path: '/notes/stream' });
    await send('/notes/stream', sent);
    expect(await usages()).toEqual([undefined, undefined, undefined, undefined]);
    expect(await rig.report('/usage')).toMatchObject({ totalTokens: 0, totalCalls: 0, callsWithoutUsage: 0 });
  });

  const onlySent = { unavailable: 'the request contains the same usage' };
  const onChatPath = { unavailable: 'response without readable usage on the declared chat path' };
  test.each<[string, unknown, Record<string, string>]>([
    ['as JSON', NOTE, {}],
    ['with escaped names', JSON.stringify(NOTE).replaceAll('_', String.raw`\u005f`), {}],
    ['with another form of the numbers', '{"usage":{"prompt_tokens":1e6,"completion_tokens":2.0}}', {}],
    ['as negative and broken numbers', '{"usage":{"prompt_tokens":-1,"completion_tokens":0.5}}', {}],
    ['as text instead of numbers', '{"usage":{"prompt_tokens":"x"}}', {}],
    [
      'as a form',
      'usage%5Bprompt_tokens%5D=1000000',
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    ['with gzip', gzipSync(JSON.stringify(NOTE)), { 'content-encoding': 'gzip' }],
    ['with deflate', deflateSync(JSON.stringify(NOTE)), { 'content-encoding': 'deflate' }],
    ['with br', brotliCompressSync(JSON.stringify(NOTE)), { 'content-encoding': 'br' }],
  ])('%s, on the declared chat path and on the path of a model', async (_how, body, headers) => {
    await send('/ask', body, headers);
    await send('/v1/chat/completions', body, headers);
    expect(await usages()).toEqual([onChatPath, onlySent]);
    expect(await rig.report('/usage')).toMatchObject({ totalTokens: 0, callsWithoutUsage: 2 });
  });

  test('if the agent adds a sum', async () => {
    responseFor = (sent) => ({ ...(sent as object), usage: { ...FORGED, total_tokens: 1_234_567 } });
    const { total_tokens: _, ...parts } = FORGED;
    await send('/ask', { usage: parts });
    expect(await usages()).toEqual([onChatPath]);
  });

  test('in a large body, across the chunks in which it arrives', async () => {
    for (const padding of [65_520, 65_530, 65_536, 65_540])
      await send('/ask', { pad: 'x'.repeat(padding), ...NOTE });
    expect(await usages()).toEqual([onChatPath, onChatPath, onChatPath, onChatPath]);
  });

  test('if it has too many numbers to compare', async () => {
    const items = Array.from({ length: 10_001 }, (_, input_tokens) => ({ input_tokens }));
    responseFor = () => ({ usage: { input_tokens: 12_345, output_tokens: 3 } });
    await send('/ask', { items });
    expect(await usages()).toEqual([onChatPath]);
  });

  test('next to the usage of the response, which counts', async () => {
    responseFor = (sent) => ({ model: 'gpt-5', answer: 'x', usage: REAL, notes: [sent] });
    await send('/ask', NOTE);
    responseFor = (sent) => [
      { note: sent },
      { model: 'gpt-5', usage: REAL },
      { usage: { prompt_tokens: -1 } },
    ];
    await send('/v1/chat', { usage: { prompt_tokens: -1 } });
    const counted = { modelId: 'gpt-5', promptTokens: 31, completionTokens: 5, totalTokens: 36 };
    expect(await usages()).toEqual([counted, counted]);
  });
});

describe('what still counts', () => {
  const counted = { modelId: 'gpt-5', promptTokens: 31, completionTokens: 5, totalTokens: 36 };
  const whole = { ...COMPLETION, model: 'gpt-5', usage: REAL };

  test.each<[string, string, unknown, unknown]>([
    ['usage on the declared chat path', '/ask', { model: 'gpt-5', usage: REAL }, counted],
    ['usage on the path of a model', '/v1/chat/completions', { model: 'gpt-5', usage: REAL }, counted],
    ['a whole response on another path', '/answer', whole, counted],
    ['a nested response on another path', '/answer', { raw: whole }, undefined],
    ['usage without the response on another path', '/answer', { model: 'gpt-5', usage: REAL }, undefined],
    [
      'a whole response without usage on another path',
      '/answer',
      { ...whole, usage: null },
      { unavailable: 'the response has no usage' },
    ],
  ])('%s', async (_what, path, response, expected) => {
    responseFor = () => response;
    await send(path, { message: 'hi', max_tokens: 31, limits: [5, 36] });
    expect(await usages()).toEqual([expected]);
  });

  test.each([
    ...['/%61sk', '//ask', '/ask/', '/ASK', '/./ask', '/notes/%2e%2e/ask', '/ask;v=1', '/ask?x=1'],
    ...[
      '/v1/ch%61t/completions',
      '/v1/Chat/Completions',
      '/v1/chat//completions',
      '/v1/chat/completions;v=1',
    ],
  ])('the path %s, which a framework may route to the same handler', async (path) => {
    responseFor = () => ({ model: 'gpt-5', usage: REAL });
    await send(path, { message: 'hi' });
    expect(await usages()).toEqual([counted]);
  });

  test.each<[string, string, Record<string, string>]>([
    ['a charset that the agent ignores', 'hi', { 'content-type': 'application/json; charset=ibm037' }],
    ['a coding that the agent does not know', 'hi', { 'content-encoding': 'aes128gcm' }],
    ['a name far in front of a number', `prompt_tokens${' '.repeat(100)}9`, {}],
  ])('usage after a request with %s', async (_what, message, headers) => {
    rig.agent.otherwise = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ model: 'gpt-5', usage: REAL }));
    };
    await send('/ask', { message }, headers);
    expect(await usages()).toEqual([counted]);
  });

  test('not a whole response to a POST without a body', async () => {
    responseFor = () => whole;
    stored = [];
    rig.agent.otherwise = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
    };
    await ask(rig.sidecar.proxyPort, { method: 'POST', path: '/answer' });
    expect(await usages()).toEqual([undefined]);
  });

  test('a background response that a GET reads by its id', async () => {
    const response = { id: 'resp_0123456789abcdef', object: 'response', model: 'gpt-5', output: [] };
    const usage = { input_tokens: 31, output_tokens: 5, total_tokens: 36 };
    rig.agent.otherwise = ({ method }, reply) => {
      const now = method === 'POST' ? { status: 'queued' } : { status: 'completed', usage };
      reply.writeHead(200, { 'content-type': 'application/json' });
      reply.end(JSON.stringify({ ...response, ...now }));
    };
    await send('/v1/responses', { input: 'hi', background: true });
    await ask(rig.sidecar.proxyPort, { path: '/v1/responses/resp_another' });
    await ask(rig.sidecar.proxyPort, { path: `/v1/responses/${response.id}` });
    expect(await usages()).toEqual([undefined, undefined, counted]);
  });
});

test('a model that the request named is not evidence of another model of the agent', async () => {
  type Gap = GapReport & { evidence: EvidenceReport };
  const model = async () =>
    (await rig.report<Gap>('/gap')).evidence.items.find(({ kind }) => kind === 'model');
  const names = async () => {
    const { rows } = await rig.report<MatrixReport>('/explore?view=matrix');
    return rows.filter(({ kind }) => kind === 'model').map(({ name, reported }) => [name, reported]);
  };
  responseFor = (sent) => ({ ...COMPLETION, model: (sent as { model: string }).model, usage: REAL });
  await send('/ask', { model: 'forged-1', messages: [] });
  expect(await usages()).toMatchObject([{ modelId: 'forged-1', totalTokens: 36 }]);
  expect(await model()).toEqual({ kind: 'model', name: 'gpt-5', tier: 'none' });
  expect(await names()).toEqual([['gpt-5', null]]);
  await send('/ask', { model: 'gpt-5', messages: [] });
  expect(await model()).toMatchObject({ tier: 'observed' });
  expect(await names()).toEqual([['gpt-5', true]]);
  responseFor = () => ({ ...COMPLETION, model: 'gpt-4', usage: REAL });
  await send('/ask', { model: 'forged-1', messages: [] });
  expect(await names()).toEqual([
    ['gpt-5', true],
    ['gpt-4', true],
  ]);
});

test('notes with usage neither use up the budget of the agent nor lower its score', async () => {
  await rig.close();
  const model = {
    provider: 'openai',
    id: 'gpt-5',
    apiKey: '$env:OPENAI_API_KEY',
    costControls: { maxTokensPerDay: 100 },
  };
  rig = await startSidecarRig({
    manifest: manifestText({ model, api: { type: 'rest', chatEndpoint: { path: '/ask' } } }),
    agent: { '/health': 200 },
    env: { OPENAI_API_KEY: 'x', POLICY_ENGINE: 'builtin', POLICY_PROXY_MODE: 'enforce' },
  });
  rig.agent.otherwise = (request, response) => {
    response.setHeader('X-Platform-Guardrails-Invoked', 'pii-detector');
    void respond(request, response);
  };
  const before = await rig.report<GapReport>('/gap');
  for (const path of ['/notes', '/ask', '/v1/messages', '/notes/stream']) await send(path, COMPLETION);
  await rig.settled();
  expect((await send('/ask', { message: 'hi' })).status).toBe(200);
  await rig.settled();
  const after = await rig.report<GapReport>('/gap');
  expect([after.score, after.issues]).toEqual([before.score, before.issues]);
  // The budget works.
  responseFor = () => ({ model: 'gpt-5', usage: { prompt_tokens: 101, completion_tokens: 0 } });
  await send('/ask', { message: 'hi' });
  await rig.settled();
  expect((await send('/ask', { message: 'hi' })).status).toBe(403);
});
