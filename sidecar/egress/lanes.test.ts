import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { DEFAULT_PRICES_DATE } from '../../core/egress/default-prices.ts';
import type { PolicyResult } from '../../core/policy/engine.ts';
import type { PolicyInput } from '../../core/policy/policy-input.ts';
import {
  call,
  CHAT,
  CHAT_REQUEST,
  chunk,
  json,
  LAST,
  responseOf,
  sse,
  stream,
} from '../../testing/sidecar/chat-vendor.ts';
import {
  post,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';

const UNREACHABLE: PolicyResult = { state: 'unreachable', reason: 'x' };
const OPEN = new Map([['openai', 'open' as const]]);

let rig: EgressRig;
const start = async (options: EgressRigOptions = {}): Promise<EgressRig> =>
  (rig = await startEgressRig(options));
afterEach(() => rig.close());

const offer = (name: string): object => ({ type: 'function', function: { name, parameters: {} } });

const calls = () => rig.egress.log.newest();
/** The log has the call when its response has closed. */
async function logged(count = 1) {
  await until(() => calls().length >= count, 'the calls in the log');
  return calls();
}

describe('a call that the policy allows', () => {
  test('reaches the vendor over TLS with its key, and its response passes byte for byte', async () => {
    await start();
    rig.vendor.respond = json(responseOf(call('search')));
    const body = { ...CHAT_REQUEST, tools: [offer('search')] };
    const response = await post(rig.port, `${CHAT}?x=1`, body, {
      'accept-encoding': 'gzip',
      'x-platform-user-confirmed': 'true',
      connection: 'close, x-own',
      'x-own': '1',
    });
    expect(response).toMatchObject({ status: 200, body: JSON.stringify(responseOf(call('search'))) });
    expect(response.headers['x-platform-policy-violations']).toBeUndefined();
    const [seen] = rig.vendor.requests;
    expect(seen).toMatchObject({ url: '/v1/chat/completions?x=1', body: JSON.stringify(body) });
    expect(seen?.headers).toMatchObject({
      host: new URL(rig.vendor.url).host,
      authorization: 'Bearer sk-secret',
    });
    for (const name of ['accept-encoding', 'x-platform-user-confirmed', 'x-own', 'x-forwarded-for'])
      expect(seen?.headers[name]).toBeUndefined();
    const [entry] = await logged();
    expect(entry).toEqual({
      id: 1,
      at: expect.any(String),
      lane: 'openai',
      method: 'POST',
      path: '/v1/chat/completions',
      model: 'gpt-5',
      stream: false,
      toolsOffered: ['search'],
      toolsCalled: ['search'],
      toolsExecuted: [],
      usage: {
        ...{
          promptTokens: 31,
          cachedTokens: 0,
          cacheWriteTokens: 0,
          completionTokens: 5,
          reasoningTokens: 0,
        },
        ...{
          costUsd: expect.closeTo((31 * 1.25 + 5 * 10) / 1e6, 12),
          priceDate: DEFAULT_PRICES_DATE,
        },
      },
      statusCode: 200,
      durationMs: expect.any(Number),
      violations: [],
      blocked: false,
      outcome: 'allow',
      requestId: null,
    });
    expect(JSON.stringify(calls())).not.toContain('sk-secret');
    expect(rig.audit.tokens).toEqual({ prompt: 31, completion: 5 });
    expect(rig.egress.reservations.total.tokens).toBe(0);
  });

  test('as a stream states its usage to the lane only', async () => {
    await start();
    const events = [chunk({ role: 'assistant', content: 'Hi' }), chunk({}, 'stop')];
    rig.vendor.respond = stream(sse([...events, LAST, '[DONE]']));
    const response = await post(
      rig.port,
      CHAT,
      `{"model":"gpt-5","seed":12345678901234567890,"stream":true}`,
    );
    expect(response.body).toBe(sse([...events, '[DONE]']));
    expect(rig.vendor.requests[0]?.body).toBe(
      '{"model":"gpt-5","seed":12345678901234567890,"stream":true,"stream_options":{"include_usage":true}}',
    );
    expect((await logged())[0]).toMatchObject({ stream: true, usage: { promptTokens: 31 } });
  });

  test('names the tools that the agent ran, also by the id of their call', async () => {
    await start();
    rig.vendor.respond = json(responseOf(call('search')));
    await post(rig.port, CHAT, CHAT_REQUEST);
    const messages = [
      { role: 'assistant', tool_calls: [call('search')] },
      { role: 'tool', tool_call_id: 'call_search', content: 'x' },
    ];
    await post(rig.port, CHAT, { ...CHAT_REQUEST, messages });
    expect((await logged(2))[1]).toMatchObject({ toolsExecuted: ['search'] });
    expect(rig.egress.facts()).toMatchObject({
      lanes: ['openai'],
      usedLanes: new Set(['openai']),
      models: new Map([['gpt-5', 2]]),
      toolsCalled: new Map([['search', 2]]),
      toolsExecuted: new Map([['search', 1]]),
      hosts: new Map([['localhost', 2]]),
      usage: { prompt: 62, completion: 10, costUsd: expect.closeTo((62 * 1.25 + 10 * 10) / 1e6, 12) },
    });
  });

  test('has its first event before the vendor sends the second', async () => {
    await start();
    let release = (): void => undefined;
    rig.vendor.respond = (_seen, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sse([chunk({ content: 'Hi' })]));
      release = () => void response.end(sse([chunk({}, 'stop'), '[DONE]']));
    };
    const response = await fetch(`${rig.url}${CHAT}`, {
      method: 'POST',
      body: JSON.stringify({ ...CHAT_REQUEST, stream: true }),
    });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from((first?.value ?? []) as Uint8Array).toString()).toBe(sse([chunk({ content: 'Hi' })]));
    release();
    while ((await reader?.read())?.done === false);
  });
});

describe('a call that passes unread', () => {
  test('on an unknown route is counted', async () => {
    await start();
    rig.vendor.respond = json({ data: [] });
    const response = await fetch(`${rig.url}/openai/v1/models`);
    expect(await response.json()).toEqual({ data: [] });
    expect((await logged())[0]).toMatchObject({ method: 'GET', path: '/v1/models', model: null });
    expect(rig.egress.facts().usedLanes).toEqual(new Set());
    expect(rig.egress.log.counts.get('openai')?.unread).toEqual({ route: 1, size: 0, form: 0 });
  });

  test('with a large body reaches the vendor whole', async () => {
    await start({ memoryBytes: 16 * 1024 ** 2 });
    rig.vendor.respond = json(responseOf());
    const body = {
      ...CHAT_REQUEST,
      tools: [offer('delete_all')],
      padding: 'x'.repeat(rig.load.maxEgressBody),
    };
    expect((await post(rig.port, CHAT, body)).status).toBe(200);
    expect(rig.vendor.requests[0]?.body).toBe(JSON.stringify(body));
    expect((await logged())[0]).toMatchObject({ model: 'gpt-5-2026-01-01', usage: { promptTokens: 31 } });
    expect(rig.egress.log.counts.get('openai')?.unread).toEqual({ route: 0, size: 1, form: 0 });
  });

  test('of another form reaches the vendor unchanged', async () => {
    await start();
    rig.vendor.respond = json(responseOf());
    expect((await post(rig.port, CHAT, 'a=1', { 'content-type': 'text/plain' })).status).toBe(200);
    expect((await post(rig.port, CHAT, '{"model":')).status).toBe(200);
    expect(rig.vendor.requests.map(({ body }) => body)).toEqual(['a=1', '{"model":']);
    await logged(2);
    expect(rig.egress.log.counts.get('openai')?.unread.form).toBe(2);
  });

  test('an error of the vendor passes, and releases what was reserved', async () => {
    await start();
    rig.vendor.respond = (_seen, response) =>
      void response
        .writeHead(429, { 'content-type': 'application/json', 'x-request-id': 'r' })
        .end('{"error":{}}');
    expect(await post(rig.port, CHAT, CHAT_REQUEST)).toMatchObject({
      status: 429,
      headers: { 'x-request-id': 'r' },
      body: '{"error":{}}',
    });
    expect((await logged())[0]).toMatchObject({ statusCode: 429, usage: null });
    expect(rig.egress.reservations.total.tokens).toBe(0);
  });

  test('a WebSocket', async () => {
    await start();
    rig.vendor.server.on('upgrade', (request, socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Path: ${request.url}\r\n\r\n`,
      );
      socket.on('data', (data: Buffer) => socket.end(`echo ${data.toString()}`)).on('error', () => undefined);
    });
    const socket = connect(rig.port, '127.0.0.1');
    let received = '';
    socket.on('data', (data: Buffer) => {
      if (received === '') socket.write('hello');
      received += data.toString();
    });
    socket.write(
      'GET /openai/v1/realtime?model=gpt HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Bearer k\r\n\r\n',
    );
    await new Promise((resolve) => socket.once('close', resolve));
    expect(received).toMatch(/^HTTP\/1\.1 101 .*X-Path: \/v1\/realtime\?model=gpt\r\n\r\necho hello$/s);
    expect((await logged())[0]).toMatchObject({ method: 'GET', path: '/v1/realtime', statusCode: 101 });
    expect(rig.egress.facts().usedLanes).toEqual(new Set(['openai']));
  });
});

describe('a denied request', () => {
  test.each([
    [
      'an undeclared tool',
      { tools: [offer('search'), offer('delete_all')] },
      'tool_not_declared',
      'delete_all',
    ],
    ['an undeclared model', { model: 'gpt-4' }, 'model_not_declared', 'gpt-4'],
    ['a tool of the vendor', { web_search_options: {} }, 'tool_not_declared', 'web_search'],
  ])('for %s gets 403, and the vendor gets nothing', async (_, members, code, named) => {
    await start();
    const response = await post(rig.port, CHAT, { ...CHAT_REQUEST, ...members });
    expect(response.status).toBe(403);
    expect(response.headers).toMatchObject({
      'content-type': 'application/json',
      'x-platform-policy-violations': code,
      'x-should-retry': 'false',
    });
    expect(JSON.parse(response.body)).toEqual({
      error: { message: expect.stringContaining(named), type: 'policy_violation', param: null, code },
    });
    expect(rig.vendor.requests).toEqual([]);
    expect((await logged())[0]).toMatchObject({ statusCode: 403, violations: [code], blocked: true });
    expect(rig.egress.log.counts.get('openai')).toMatchObject({ calls: { deny: 1 }, blocked: 1 });
    expect(rig.egress.reservations.total.tokens).toBe(0);
  });

  test.each([
    ['track', 'tool_not_declared', 'deny'],
    ['off', undefined, 'notEvaluated'],
  ] as const)('passes in the mode %s', async (mode, header, outcome) => {
    await start({ mode });
    rig.vendor.respond = json(responseOf());
    const response = await post(rig.port, CHAT, { ...CHAT_REQUEST, tools: [offer('delete_all')] });
    expect(response.status).toBe(200);
    expect(response.headers['x-platform-policy-violations']).toBe(header);
    await logged();
    expect(rig.egress.log.counts.get('openai')?.calls[outcome]).toBe(1);
  });

  test('passes and is counted while the engine is unreachable', async () => {
    await start({ engine: { evaluate: () => Promise.resolve({ state: 'unreachable', reason: 'x' }) } });
    rig.vendor.respond = json(responseOf(call('delete_all')));
    const response = await post(rig.port, CHAT, { ...CHAT_REQUEST, tools: [offer('delete_all')] });
    expect(response.status).toBe(200);
    await logged();
    expect(rig.egress.log.counts.get('openai')?.calls).toEqual({
      allow: 0,
      deny: 0,
      failOpen: 1,
      notEvaluated: 0,
    });
    expect(rig.egress.log.newest()).toMatchObject([{ outcome: 'failOpen', violations: [], blocked: false }]);
    expect(rig.egress.facts().failedOpen).toBe(1);
  });

  test.each<[string, PolicyResult, Partial<EgressRigOptions>, number]>([
    ['is denied on a lane that fails closed', UNREACHABLE, {}, 403],
    ['is denied if the engine has no rules', { state: 'not-loaded' }, {}, 403],
    ['passes on a lane that fails open', UNREACHABLE, { failModes: { all: 'closed', lanes: OPEN } }, 200],
    ['passes in the mode track', UNREACHABLE, { mode: 'track' }, 200],
  ])('%s', async (_what, known, options, status) => {
    await start({
      failModes: { all: 'closed', lanes: new Map() },
      engine: { evaluate: () => Promise.resolve(known) },
      ...options,
    });
    rig.vendor.respond = json(responseOf(call('search')));
    const response = await post(rig.port, CHAT, CHAT_REQUEST);
    expect(response.status).toBe(status);
    await logged();
    const isDenied = status === 403;
    expect(rig.vendor.requests).toHaveLength(isDenied ? 0 : 1);
    const violations = isDenied ? ['policy_unavailable'] : [];
    expect(rig.egress.log.newest()).toMatchObject([
      { outcome: isDenied ? 'deny' : 'failOpen', violations, blocked: isDenied },
    ]);
    expect(response.headers['x-platform-policy-violations']).toBe(
      isDenied ? 'policy_unavailable' : undefined,
    );
    expect(rig.egress.log.counts.get('openai')?.failedClosed).toBe(isDenied ? 1 : 0);
  });

  test('loses the calls of tools if the engine stops to respond before the response', async () => {
    const evaluate = ({ request_type }: PolicyInput): Promise<PolicyResult> =>
      Promise.resolve(
        request_type === 'egress_model_request' ? { state: 'answered', denials: [] } : UNREACHABLE,
      );
    await start({ failModes: { all: 'closed', lanes: new Map() }, engine: { evaluate } });
    rig.vendor.respond = json(responseOf(call('search')));
    const response = await post(rig.port, CHAT, { ...CHAT_REQUEST, tools: [offer('search')] });
    expect([response.status, response.headers['x-platform-policy-violations']]).toEqual([
      200,
      'policy_unavailable',
    ]);
    expect(response.body).not.toContain('tool_calls');
  });
});
