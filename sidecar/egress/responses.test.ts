import { connect as connectHttp2 } from 'node:http2';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { builtinEngine, policyOf } from '../../core/policy/policy.ts';
import type { PolicyEngine } from '../../core/policy/engine.ts';
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
  laneManifest,
  post,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/sidecar/egress-rig.ts';
import { askRaw } from '../../testing/sidecar/proxy-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: EgressRig;
const start = async (options: EgressRigOptions = {}): Promise<EgressRig> =>
  (rig = await startEgressRig(options));
afterEach(() => rig.close());

const RESPONSES = '/openai/v1/responses';
const started = (index: number, name: string): object =>
  chunk({ tool_calls: [{ index, ...call(name, '') }] });
const continued = (index: number, text: string): object =>
  chunk({ tool_calls: [{ index, function: { arguments: text } }] });
const TWO_CALLS = [
  ...[started(0, 'delete_all'), continued(0, '{"a":1}'), started(1, 'search'), continued(1, '{}')],
  ...[chunk({}, 'tool_calls'), LAST, '[DONE]'],
];

const logged = async (count = 1) => {
  await until(() => rig.egress.log.newest().length >= count, 'the calls in the log');
  return rig.egress.log.newest();
};

/** The builtin engine as an engine in another process. */
const remote = (): PolicyEngine => {
  const engine = builtinEngine(() => policyOf(laneManifest()));
  return { evaluate: async (input) => await engine.evaluate(input) };
};

describe.each([
  ['in this process', undefined],
  ['over the network', remote],
] as const)('a forbidden tool call in a response, with the engine %s,', (_, engine) => {
  const options = (): EgressRigOptions => (engine === undefined ? {} : { engine: engine() });

  test('is removed from JSON', async () => {
    await start(options());
    const head = { 'content-type': 'application/json', etag: '"1"', 'content-digest': 'sha-256=:AA==:' };
    rig.vendor.respond = (_seen, response) =>
      void response.writeHead(200, head).end(JSON.stringify(responseOf(call('delete_all'), call('search'))));
    const response = await post(rig.port, CHAT, CHAT_REQUEST);
    expect([response.headers.etag, response.headers['content-digest']]).toEqual([undefined, undefined]);
    const { choices } = JSON.parse(response.body) as { choices: { message: { tool_calls: object[] } }[] };
    expect(choices[0]?.message.tool_calls).toEqual([call('search')]);
    expect(Number(response.headers['content-length'])).toBe(Buffer.byteLength(response.body));
    expect(response.headers['x-platform-policy-violations']).toBe('tool_not_declared');
    expect((await logged())[0]).toMatchObject({
      toolsCalled: ['delete_all', 'search'],
      violations: ['tool_not_declared'],
      blocked: true,
      statusCode: 200,
    });
    expect(rig.audit.takeDenials()).toEqual(['tool_not_declared']);
  });

  test('is removed from a stream', async () => {
    await start(options());
    rig.vendor.respond = stream(sse(TWO_CALLS));
    const response = await post(rig.port, CHAT, { ...CHAT_REQUEST, stream: true });
    expect(response.body).not.toContain('delete_all');
    expect(response.body).toContain('"name":"search"');
    expect(response.body).not.toContain('prompt_tokens');
    expect((await logged())[0]).toMatchObject({
      toolsCalled: ['delete_all', 'search'],
      violations: ['tool_not_declared'],
      blocked: true,
    });
  });

  test.each([
    ['JSON', {}, json(responseOf(call('search'), call('delete_all')))],
    ['a stream', { stream: true }, stream(sse(TWO_CALLS))],
  ])('replaces %s by 403 with EGRESS_ON_FORBIDDEN_TOOL=fail', async (_form, members, vendorResponse) => {
    await start({ ...options(), onForbiddenTool: 'fail' });
    rig.vendor.respond = vendorResponse;
    const response = await post(rig.port, CHAT, { ...CHAT_REQUEST, ...members });
    expect(response.status).toBe(403);
    expect(response.headers).toMatchObject({
      'x-platform-policy-violations': 'tool_not_declared',
      'x-should-retry': 'false',
    });
    expect(JSON.parse(response.body)).toMatchObject({ error: { code: 'tool_not_declared' } });
    expect((await logged())[0]).toMatchObject({ statusCode: 403, blocked: true });
  });

  test('with arguments that are not valid is removed', async () => {
    await start(options());
    const events = (amount: number) => [
      ...[started(0, 'pay'), continued(0, `{"amount":`), continued(0, `${amount}}`)],
      ...[chunk({}, 'tool_calls'), '[DONE]'],
    ];
    rig.vendor.respond = stream(sse(events(5)));
    expect((await post(rig.port, CHAT, { ...CHAT_REQUEST, stream: true })).body).toBe(sse(events(5)));
    rig.vendor.respond = stream(sse(events(500)));
    expect((await post(rig.port, CHAT, { ...CHAT_REQUEST, stream: true })).body).not.toContain(
      '"name":"pay"',
    );
    expect((await logged(2))[1]).toMatchObject({ violations: ['tool_arguments_invalid'], blocked: true });
  });

  test('of the mode track passes unchanged', async () => {
    await start({ ...options(), mode: 'track' });
    rig.vendor.respond = stream(sse(TWO_CALLS));
    const response = await post(rig.port, CHAT, {
      ...CHAT_REQUEST,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(response.body).toBe(sse(TWO_CALLS));
    rig.vendor.respond = json(responseOf(call('delete_all')));
    const whole = await post(rig.port, CHAT, CHAT_REQUEST);
    expect(whole.body).toBe(JSON.stringify(responseOf(call('delete_all'))));
    expect(whole.headers['x-platform-policy-violations']).toBe('tool_not_declared');
    for (const each of await logged(2))
      expect(each).toMatchObject({ violations: ['tool_not_declared'], blocked: false });
  });
});

test('a forbidden call in a stream is removed, although the engine was unreachable when the call began', async () => {
  const engine = remote();
  // A circuit breaker responds at once while the engine is unreachable.
  await start({
    engine: {
      evaluate: (input) =>
        input.request_type === 'egress_model_request'
          ? { state: 'unreachable', reason: 'down' }
          : engine.evaluate(input),
    },
  });
  rig.vendor.respond = stream(sse(TWO_CALLS));
  const { body } = await post(rig.port, CHAT, { ...CHAT_REQUEST, stream: true });
  expect(body).not.toContain('delete_all');
  expect(body).toContain('"name":"search"');
  expect((await logged())[0]).toMatchObject({ violations: ['tool_not_declared'], blocked: true });
});

test('a forbidden call in a conversation that the vendor keeps is refused with 403', async () => {
  await start();
  const item = {
    id: 'fc_1',
    type: 'function_call',
    call_id: 'c',
    name: 'delete_all',
    arguments: '{}',
    status: 'completed',
  };
  rig.vendor.respond = json({
    id: 'r',
    object: 'response',
    model: 'gpt-5',
    status: 'completed',
    output: [item],
  });
  const body = { model: 'gpt-5', input: 'hi' };
  expect((await post(rig.port, RESPONSES, body)).status).toBe(200);
  expect((await post(rig.port, RESPONSES, { ...body, previous_response_id: 'r0' })).status).toBe(403);
});

test('a destructive tool passes after the user has confirmed it', async () => {
  await start();
  rig.vendor.respond = json(responseOf(call('drop')));
  const isRemoved = async (): Promise<boolean> =>
    !(await post(rig.port, CHAT, CHAT_REQUEST)).body.includes('"name":"drop"');
  const recording = rig.audit.arrive({ requestId: 'r-1', method: 'POST', target: '/chat' });
  expect(await isRemoved()).toBe(true);
  recording.entry.userConfirmed = true;
  expect(await isRemoved()).toBe(false);
  for (const each of await logged(2)) expect(each).toMatchObject({ requestId: 'r-1' });
});

describe('a call belongs to', () => {
  test('the request of its trace, else the only one in flight', async () => {
    await start();
    rig.vendor.respond = json(responseOf(call('search')));
    const first = rig.audit.arrive({ requestId: 'r-1', method: 'POST', target: '/chat' });
    await post(rig.port, CHAT, CHAT_REQUEST);
    rig.audit.arrive({ requestId: 'health', method: 'GET', target: '/health' });
    await post(rig.port, CHAT, CHAT_REQUEST);
    rig.audit.arrive({ requestId: 'r-2', method: 'POST', target: '/chat' });
    await post(rig.port, CHAT, CHAT_REQUEST);
    const trace = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    rig.traces.join(['traceparent', trace], 'r-1');
    await post(rig.port, CHAT, CHAT_REQUEST, { traceparent: trace });
    const ids = (await logged(4)).map(({ requestId }) => requestId);
    expect(ids).toEqual(['r-1', 'r-1', null, 'r-1']);
    expect(first.entry.egress).toEqual({ calls: 3, models: ['gpt-5'], tools: ['search'] });
    expect(JSON.stringify(first.entry)).not.toContain('promptTokens');
    expect(rig.egress.log.counts.get('openai')?.unattributed).toBe(1);
  });
});

describe('the budget', () => {
  test('counts what calls in flight may use', async () => {
    const manifest = laneManifest({
      model: { ...laneManifest().spec.model, costControls: { maxTokensPerDay: 1000 } },
    });
    await start({ manifest });
    const held: (() => void)[] = [];
    rig.vendor.respond = (seen, response) =>
      void held.push(() => json(responseOf(call('search')))(seen, response));
    const first = post(rig.port, CHAT, { ...CHAT_REQUEST, max_tokens: 800 });
    await until(() => held.length === 1, 'the first call at the vendor');
    const second = await post(rig.port, CHAT, { ...CHAT_REQUEST, max_tokens: 800 });
    expect(second.status).toBe(403);
    expect(second.headers['x-platform-policy-violations']).toBe('daily_token_limit_exceeded');
    held[0]?.();
    expect((await first).status).toBe(200);
    await logged(2);
    expect(rig.egress.reservations.total.tokens).toBe(0);
    expect(rig.audit.totalsToday(undefined).tokensToday).toBe(36);
    rig.vendor.respond = json(responseOf(call('search')));
    expect((await post(rig.port, CHAT, { ...CHAT_REQUEST, max_tokens: 800 })).status).toBe(200);
  });

  test('keeps what a call without usage may have used', async () => {
    await start();
    rig.vendor.respond = stream(sse([chunk({ content: 'Hi' })]));
    const body = JSON.stringify({ ...CHAT_REQUEST, stream: true });
    await post(rig.port, CHAT, body);
    await logged();
    expect(rig.egress.reservations.total.tokens).toBe(Math.ceil(body.length / 4) + 50);
    expect(rig.audit.responsesWithoutUsage).toBe(1);
  });
});

describe('a vendor that fails', () => {
  test('is reported in the form of the vendor', async () => {
    await start({ lanes: 'openai=vendor/v1,anthropic=vendor,gemini=vendor', isTrusted: false });
    const openai = await post(rig.port, CHAT, CHAT_REQUEST);
    expect(openai.status).toBe(502);
    expect(JSON.parse(openai.body)).toMatchObject({ error: { code: 'upstream_unreachable' } });
    const anthropic = await post(rig.port, '/anthropic/v1/messages', {
      model: 'x',
      max_tokens: 1,
      messages: [],
    });
    // The undeclared model is denied first.
    expect(anthropic.status).toBe(403);
    const gemini = await fetch(`${rig.url}/gemini/v1beta/models`);
    expect(await gemini.json()).toMatchObject({ error: { code: 502, status: 'UNAVAILABLE' } });
    await logged(3);
    expect(rig.egress.log.counts.get('openai')?.failed).toBe(1);
    expect(rig.vendor.requests).toEqual([]);
  });

  test('in the middle of a stream cuts the stream', async () => {
    await start();
    rig.vendor.respond = (_seen, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sse([chunk({ content: 'Hi' })]));
      setImmediate(() => response.destroy());
    };
    await expect(post(rig.port, CHAT, { ...CHAT_REQUEST, stream: true })).rejects.toThrow();
    expect((await logged())[0]).toMatchObject({ statusCode: 200, usage: null });
  });
});

test('an agent that disconnects ends the call at the vendor', async () => {
  await start();
  let isClosed = false;
  rig.vendor.respond = (_seen, response) => {
    response.once('close', () => (isClosed = true));
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sse([chunk({ content: 'Hi' })]));
  };
  const response = await new Promise<IncomingMessage>((resolve) => {
    const request = httpRequest({
      host: '127.0.0.1',
      port: rig.port,
      path: CHAT,
      method: 'POST',
      agent: false,
    });
    request.on('error', () => undefined).once('response', resolve);
    request.end(JSON.stringify({ ...CHAT_REQUEST, stream: true }));
  });
  response.on('error', () => undefined).destroy();
  await until(() => isClosed, 'the end of the call at the vendor');
  expect((await logged())[0]).toMatchObject({ statusCode: 200, usage: null });
});

/** Sends the call over HTTP/2. Returns status and body of the response. */
async function askOverHttp2(): Promise<[status: number, body: string]> {
  const session = connectHttp2(rig.url);
  const request = session.request({ ':method': 'POST', ':path': CHAT, 'content-type': 'application/json' });
  let [status, text] = [0, ''];
  request.on('response', (headers) => (status = Number(headers[':status'])));
  request.setEncoding('utf8').on('data', (data: string) => (text += data));
  request.on('error', () => undefined).end(JSON.stringify(CHAT_REQUEST));
  await new Promise((resolve) => request.once('close', resolve));
  session.close();
  return [status, text];
}

test('HTTP/2 with prior knowledge is served', async () => {
  await start();
  rig.vendor.respond = json(responseOf(call('search')));
  expect(await askOverHttp2()).toEqual([200, JSON.stringify(responseOf(call('search')))]);
  expect(rig.vendor.requests[0]?.headers).toMatchObject({ host: new URL(rig.vendor.url).host });
  expect((await logged())[0]).toMatchObject({ model: 'gpt-5', statusCode: 200 });
});

test.each([
  ['application/json', 'etag'],
  ['text/plain', 'etag'],
  ['application/json', 'date'],
  ['text/plain', 'date'],
])('HTTP/2: a response of %s with a header %s that must not be repeated becomes 502', async (type, name) => {
  await start();
  rig.vendor.respond = (_seen, response) =>
    void response.writeHead(200, ['content-type', type, name, '"1"', name, '"2"']).end('{}');
  expect(await askOverHttp2()).toEqual([502, expect.stringContaining('upstream_invalid')]);
  expect((await logged())[0]).toMatchObject({ statusCode: 502 });
});

test.each([
  ['text/event-stream', sse([chunk({ content: 'hi' })])],
  ['text/plain', 'hi'],
])(
  'HTTP/2: the part of a response of %s before an error arrives, then the stream is reset',
  async (type, part) => {
    await start();
    rig.vendor.respond = (_seen, { socket }) => {
      const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
      // In one segment, so that both are read at once.
      socket?.write(`${head}${part.length.toString(16)}\r\n${part}\r\nnot a chunk\r\n`);
    };
    expect(await askOverHttp2()).toEqual([200, part]);
    expect((await logged())[0]).toMatchObject({ statusCode: 200 });
  },
);

describe('the port of the lanes', () => {
  test.each([
    ['another Host', `GET /openai/v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n`, 403],
    [
      'a foreign Origin',
      `GET /openai/v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n`,
      403,
    ],
    ['an unknown lane', `GET /groq/openai/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n`, 404],
    ['CONNECT', `CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n`, 405],
    ['two Host headers', `GET /openai/v1 HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n`, 400],
  ])('rejects %s', async (_, request, status) => {
    await start();
    expect(await askRaw(rig.port, request, '}')).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(rig.vendor.requests).toEqual([]);
  });

  test('ignores an upgrade other than to a WebSocket', async () => {
    await start();
    rig.vendor.respond = json({ data: [] });
    const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n';
    const response = await askRaw(
      rig.port,
      `GET /openai/v1/models HTTP/1.1\r\nHost: localhost\r\n${offer}\r\n`,
      ']}',
    );
    expect(response).toMatch(/^HTTP\/1\.1 200 /);
  });
});
