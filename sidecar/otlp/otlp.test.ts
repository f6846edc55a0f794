import { connect } from 'node:net';
import { request as httpRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { parseTraceparent } from '../../core/otlp/trace-context.ts';
import type { RingUsageReport } from '../../core/shapes/sidecar-reports.ts';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { jsonExport, protobufExport, spanIdOf, type TestSpan } from '../../testing/sidecar/otlp-export.ts';
import {
  manifestText,
  startSidecarRig,
  type SidecarRig,
  type SidecarRigOptions,
} from '../../testing/sidecar/sidecar-rig.ts';
import { TestServers } from '../../testing/http/sockets.ts';

const PROTOBUF = 'application/x-protobuf';
const servers = new TestServers();
let rig: SidecarRig;
let port: number;
/** The headers of the requests that the agent received. */
let received: Record<string, string | string[] | undefined>[];
let agentResponse: { headers: Record<string, string>; body: string };

async function start(options: Partial<SidecarRigOptions> = {}): Promise<void> {
  [port = 0] = await freePorts(1);
  received = [];
  agentResponse = { headers: {}, body: 'hello' };
  rig = await startSidecarRig({
    manifest: manifestText({ guardrails: { input: [{ type: 'pii-detector' }] } }),
    ...options,
    env: { OTLP_PORT: String(port), POLICY_ENGINE: 'builtin', ...options.env },
  });
  rig.agent.otherwise = (request, response) => {
    received.push(request.headers);
    response
      .writeHead(200, { 'content-type': 'text/plain', ...agentResponse.headers })
      .end(agentResponse.body);
  };
}

beforeEach(() => start());
afterEach(async () => {
  await rig.close();
  await servers.close();
});

interface Sent {
  path?: string;
  method?: string;
  headers?: Record<string, string>;
  host?: string;
}

/** Sends a body and returns the response. */
function send(
  body: Buffer | string,
  { path = '/v1/traces', method = 'POST', headers = {}, host = '127.0.0.1' }: Sent = {},
) {
  return new Promise<{ status: number; type: string; body: string }>((resolve, reject) => {
    const options = { host, port, path, method, headers: { 'content-type': PROTOBUF, ...headers } };
    httpRequest(options, (response) => {
      text(response).then(
        (all) =>
          resolve({
            status: response.statusCode ?? 0,
            type: response.headers['content-type'] ?? '',
            body: all,
          }),
        reject,
      );
    })
      .on('error', reject)
      .end(body);
  });
}

const CALL = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.response.model': 'gpt-5',
  'gen_ai.usage.input_tokens': 31,
  'gen_ai.usage.output_tokens': 5,
};
const TOOL = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' };
const GUARDRAIL = { 'openinference.span.kind': 'GUARDRAIL' };

/** Sends a request through the proxy and returns the trace of the request that the agent received. */
async function ask(headers: Record<string, string> = {}): Promise<string> {
  await (await fetch(`${rig.proxyUrl}/v1/chat`, { method: 'POST', headers })).text();
  await rig.settled();
  return parseTraceparent(String(received.at(-1)?.['traceparent']))?.traceId ?? '';
}

const exportSpans = (traceId: string, ...spans: readonly Omit<TestSpan, 'traceId'>[]) =>
  send(protobufExport(spans.map((span) => ({ ...span, traceId }))));

async function newest(): Promise<AuditEntry> {
  return (await rig.report<AuditEntry[]>('/audit?limit=1'))[0] as unknown as AuditEntry;
}

const metric = async (name: string): Promise<number> => {
  const all = await (await rig.control('/metrics')).text();
  return Number(
    all
      .split('\n')
      .find((line) => line.startsWith(`platform_sidecar_otlp_${name} `))
      ?.split(' ')[1],
  );
};

test('without OTLP_PORT a request gets no trace', async () => {
  await rig.close();
  await start({ env: { OTLP_PORT: '' } });
  await ask();
  expect(received[0]).not.toHaveProperty('traceparent');
});

describe('spans are recorded', () => {
  test.each([
    ['protobuf', PROTOBUF, (spans: TestSpan[]) => protobufExport(spans), ''],
    ['JSON', 'application/json; charset=utf-8', (spans: TestSpan[]) => Buffer.from(jsonExport(spans)), '{}'],
  ])('from %s, plain and with gzip', async (_, type, write, empty) => {
    const traceId = await ask();
    const plain = write([{ traceId, spanId: spanIdOf(1), attributes: CALL }]);
    const zipped = gzipSync(write([{ traceId, spanId: spanIdOf(2), attributes: TOOL }]));
    const headers = { 'content-type': type };
    const responses = [
      await send(plain, { headers }),
      await send(zipped, { headers: { ...headers, 'content-encoding': 'gzip' } }),
    ];
    for (const each of responses)
      expect(each).toEqual({ status: 200, type: type.split(';')[0], body: empty });
    expect((await newest()).events).toEqual([
      { type: 'model', modelId: 'gpt-5', promptTokens: 31, completionTokens: 5, source: 'span' },
      { type: 'tool', name: 'search', success: true, latencyMs: 0, source: 'span' },
    ]);
  });

  test('on both loopback addresses', async () => {
    for (const host of ['127.0.0.1', '::1']) expect((await send('', { host })).status).toBe(200);
  });

  test('before the response ends', async () => {
    const arrived = Promise.withResolvers<undefined>();
    const released = Promise.withResolvers<undefined>();
    rig.agent.otherwise = (request, response) => {
      received.push(request.headers);
      arrived.resolve(undefined);
      void released.promise.then(() => response.writeHead(200, { 'content-type': 'text/plain' }).end('late'));
    };
    const asked = ask();
    await arrived.promise;
    const traceId = parseTraceparent(String(received[0]?.['traceparent']))?.traceId ?? '';
    await exportSpans(traceId, { spanId: spanIdOf(1), attributes: CALL });
    released.resolve(undefined);
    await asked;
    expect(await rig.report('/usage')).toMatchObject({ totalTokens: 36, totalCalls: 1 });
  });

  test('with the name of the outermost agent', async () => {
    const agent = (name: string) => ({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name });
    await exportSpans(
      await ask(),
      { spanId: spanIdOf(2), parentSpanId: spanIdOf(1), startMs: 2, attributes: agent('inner') },
      { spanId: spanIdOf(1), startMs: 1, attributes: agent('outer') },
    );
    expect((await newest()).agentName).toBe('outer');
  });
});

describe('tokens', () => {
  const completion = (prompt: number) =>
    JSON.stringify({
      ...{ id: 'c', object: 'chat.completion', model: 'gpt-5', choices: [] },
      usage: { prompt_tokens: prompt, completion_tokens: 5, total_tokens: prompt + 5 },
    });

  test.each([
    ['the response', 40, 45],
    ['the spans', 20, 36],
  ])('are those of %s if they are more', async (_, inResponse, total) => {
    agentResponse = { headers: { 'content-type': 'application/json' }, body: completion(inResponse) };
    await exportSpans(await ask(), { spanId: spanIdOf(1), attributes: CALL });
    expect(await rig.report('/usage')).toMatchObject({ totalTokens: total });
    const metrics = await (await rig.control('/metrics')).text();
    expect(metrics).toContain(`platform_sidecar_tokens_today{instances="this"} ${total}\n`);
  });

  test.each([
    ['the events', 40, 45],
    ['the spans', 20, 36],
  ])('are those of %s if they are more, in either order', async (_, inEvents, total) => {
    for (const isFirst of [true, false]) {
      const traceId = await ask();
      const { requestId } = await newest();
      const event = { type: 'model', modelId: 'gpt-5', promptTokens: inEvents, completionTokens: 5 };
      const report = () =>
        rig.control('/events', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ requestId, events: [event] }),
        });
      if (isFirst) await report();
      await exportSpans(traceId, { spanId: spanIdOf(1), attributes: CALL });
      if (!isFirst) await report();
    }
    expect(await rig.report('/usage')).toMatchObject({ totalTokens: 2 * total });
    const metrics = await (await rig.control('/metrics')).text();
    expect(metrics).toContain(`platform_sidecar_tokens_today{instances="this"} ${2 * total}\n`);
  });

  test('of a trace without a request count without a request', async () => {
    await exportSpans(
      'c'.repeat(32),
      { spanId: spanIdOf(1), attributes: CALL },
      { spanId: spanIdOf(2), attributes: TOOL },
    );
    const usage = await rig.report<RingUsageReport>('/usage');
    expect(usage.withoutRequest).toEqual({ totalTokens: 36, totalCalls: 1 });
    expect(await metric('spans_total{result="usage"}')).toBe(1);
    expect(await metric('spans_total{result="unmatched"}')).toBe(1);
  });
});

describe('the policy', () => {
  test('does not deny a request whose spans name no guardrail', async () => {
    await exportSpans(
      await ask(),
      { spanId: spanIdOf(1), attributes: TOOL },
      { spanId: spanIdOf(2), attributes: CALL },
    );
    const entry = await newest();
    expect(entry).toMatchObject({ toolsCalled: ['search'], behaviorFrom: 'spans' });
    expect(entry).not.toHaveProperty('policyViolations');
    const gap = await rig.report<{ issues: { property: string }[] }>('/gap');
    expect(gap.issues.map(({ property }) => property)).not.toContain('guardrails.input.pii-detector');
  });

  test('evaluates a request whose spans name a guardrail', async () => {
    const traceId = await ask();
    await exportSpans(traceId, { spanId: spanIdOf(1), attributes: CALL });
    await exportSpans(traceId, { spanId: spanIdOf(2), name: 'another', attributes: GUARDRAIL });
    expect(await newest()).toMatchObject({ guardrailsInvoked: ['another'], lateDenial: true });
  });

  test('evaluates the tools of spans with the guardrails of the response', async () => {
    agentResponse.headers = { 'X-Platform-Guardrails-Invoked': 'pii-detector' };
    await exportSpans(await ask(), { spanId: spanIdOf(1), attributes: TOOL });
    const entry = await newest();
    expect(entry).toMatchObject({
      guardrailsInvoked: ['pii-detector'],
      toolsCalled: ['search'],
      outcome: 'allow',
    });
    expect(entry).not.toHaveProperty('behaviorFrom');
  });
});

describe('an export is rejected', () => {
  const status = (code: number, message: string): object => ({ code, message });
  test.each<[string, Buffer | string, Sent, [status: number, code: number]]>([
    ['that is malformed', Buffer.from([0x0a, 0x7f]), {}, [400, 3]],
    ['that is not gzip', 'x', { headers: { 'content-encoding': 'gzip' } }, [400, 3]],
    ['without a content type', '', { headers: { 'content-type': '' } }, [415, 3]],
    ['with another content type', '', { headers: { 'content-type': 'text/plain' } }, [415, 3]],
    ['with another coding', '', { headers: { 'content-encoding': 'br' } }, [415, 3]],
    ['on another path', '', { path: '/v1/other' }, [404, 5]],
    ['with another method', '', { method: 'PUT' }, [405, 12]],
    ['for another host', '', { headers: { host: 'evil.example' } }, [403, 7]],
    ['from another origin', '', { headers: { origin: 'https://evil.example' } }, [403, 7]],
    ['that is too large', Buffer.alloc(4 * 1024 * 1024 + 1), {}, [413, 8]],
    [
      'that is too large without its compression',
      gzipSync(Buffer.alloc(4 * 1024 * 1024 + 1)),
      { headers: { 'content-encoding': 'gzip' } },
      [413, 8],
    ],
  ])('%s', async (_, body, sent, [wanted, code]) => {
    const inProtobuf = await send(body, sent);
    expect(inProtobuf.status).toBe(wanted);
    const isProtobuf = (sent.headers?.['content-type'] ?? PROTOBUF) === PROTOBUF;
    if (isProtobuf) expect([...Buffer.from(inProtobuf.body).subarray(0, 3)]).toEqual([8, code, 0x12]);
    const inJson = await send(body, {
      ...sent,
      headers: { 'content-type': 'application/json', ...sent.headers },
    });
    expect(JSON.parse(inJson.body)).toMatchObject(status(code, expect.any(String) as unknown as string));
    expect(await metric(`requests_total{status="${wanted}"}`)).toBe(2);
  });

  test('with one warning', async () => {
    for (const body of ['x', 'y']) await send(body);
    const warnings = rig.log.filter(([, message]) => message === 'OTLP export is not valid');
    expect(warnings).toEqual([['warn', 'OTLP export is not valid', { reason: expect.any(String) }]]);
  });

  test('and the next one is recorded', async () => {
    const traceId = await ask();
    await send(Buffer.from([0x0a, 0x7f]));
    await exportSpans(traceId, { spanId: spanIdOf(1), attributes: CALL });
    expect((await newest()).events).toHaveLength(1);
  });
});

test('a client that disconnects in the middle of a body has no effect', async () => {
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve) =>
    socket.write(
      `POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${PROTOBUF}\r\nContent-Length: 9\r\n\r\nx`,
      resolve,
    ),
  );
  socket.destroy();
  expect((await send('')).status).toBe(200);
});

describe('a collector', () => {
  let exports: { url: string; type: string; encoding: string | undefined; body: Buffer }[];
  let status: number;
  beforeEach(async () => {
    await rig.close();
    [exports, status] = [[], 200];
    const collector = await servers.http((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const { 'content-type': type = '', 'content-encoding': encoding } = request.headers;
          exports.push({ url: request.url ?? '', type, encoding, body: Buffer.concat(chunks) });
          response.writeHead(status).end();
        });
    });
    await start({ env: { OTLP_FORWARD_URL: `http://127.0.0.1:${collector}/base/` } });
  });

  async function forwarded(count: number): Promise<typeof exports> {
    const deadline = Date.now() + 30_000;
    while (exports.length < count && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 5));
    return exports;
  }

  test('receives exports unchanged', async () => {
    const spans = gzipSync(protobufExport([{ spanId: spanIdOf(1) }]));
    await send(spans, { headers: { 'content-encoding': 'gzip' } });
    await send('metrics', { path: '/v1/metrics' });
    await send('{"logs":1}', { path: '/v1/logs', headers: { 'content-type': 'application/json' } });
    expect(await forwarded(3)).toEqual([
      { url: '/base/v1/traces', type: PROTOBUF, encoding: 'gzip', body: spans },
      { url: '/base/v1/metrics', type: PROTOBUF, encoding: undefined, body: Buffer.from('metrics') },
      {
        url: '/base/v1/logs',
        type: 'application/json',
        encoding: undefined,
        body: Buffer.from('{"logs":1}'),
      },
    ]);
  });

  test('receives no malformed export', async () => {
    await send('x');
    await send('');
    expect(await forwarded(1)).toMatchObject([{ body: Buffer.alloc(0) }]);
  });

  test('that refuses an export gets it once', async () => {
    status = 400;
    await send('');
    await forwarded(1);
    status = 200;
    await send('', { path: '/v1/logs' });
    expect((await forwarded(2)).map(({ url }) => url)).toEqual(['/base/v1/traces', '/base/v1/logs']);
    expect(await metric('dropped_total{reason="rejected"}')).toBe(1);
  });
});

test('without a collector metrics and logs are accepted', async () => {
  for (const path of ['/v1/metrics', '/v1/logs'])
    expect(await send('x', { path })).toMatchObject({ status: 200, body: '' });
});

test('a port that is in use stops the start', async () => {
  const used = port;
  const other = startSidecarRig({ manifest: manifestText(), env: { OTLP_PORT: String(used) } });
  await expect(other).rejects.toThrow(/EADDRINUSE/);
});
