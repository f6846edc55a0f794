import { afterEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import type { RequestListener } from 'node:http';
import { fullListener } from '../testing/http/full-listener.ts';
import { holdTimers } from '../testing/time/held-timers.ts';
import { until } from '../testing/time/until.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { probeAgent, probeAgentUsage } from './agent.ts';
import { exchange, type Exchange } from './http-exchange.ts';
import { tcpReach } from './tcp-reach.ts';

const servers = new TestServers();
afterEach(() => servers.close());

const latencyMs = expect.any(Number);

describe('tcpReach', () => {
  test('is reachable when the connection is accepted', async () => {
    const port = await servers.tcp(() => undefined);
    expect(await tcpReach('127.0.0.1', port)).toEqual({ state: 'reachable', latencyMs });
  });

  test('is reachable by host name', async () => {
    const port = await servers.tcp(() => undefined);
    expect(await tcpReach('localhost', port)).toEqual({ state: 'reachable', latencyMs });
  });

  test('is unreachable when the connection is refused', async () => {
    const port = await servers.closedPort();
    expect(await tcpReach('127.0.0.1', port)).toEqual({ state: 'unreachable', reason: 'connection refused' });
  });

  test.each([
    ['no.such.host.invalid', 80],
    ['a b', 80],
    ['127.0.0.1', 70_000],
  ])('is unreachable for the invalid address %s port %i', async (host, port) => {
    expect(await tcpReach(host, port)).toEqual({ state: 'unreachable', reason: expect.any(String) });
  });

  test('times out when the connection is not accepted', async () => {
    await using full = await fullListener();
    using timers = holdTimers();
    const reach = tcpReach('127.0.0.1', full.port, { timeoutMs: 300 });
    await timers.pass(300);
    expect(await reach).toEqual({ state: 'unreachable', reason: 'no connection within 0.3 s' });
  });

  test('is unknown when it is aborted', async () => {
    await using full = await fullListener();
    const reach = tcpReach('127.0.0.1', full.port, { signal: AbortSignal.timeout(50) });
    expect(await reach).toEqual({ state: 'unknown', reason: 'the probe was aborted' });
    expect(await tcpReach('127.0.0.1', full.port, { signal: AbortSignal.abort() })).toEqual({
      state: 'unknown',
      reason: 'the probe was aborted',
    });
  });
});

describe('an HTTP response', () => {
  const MAX = 1000;
  const get = async (port: number, path = '/', timeoutMs = 60_000): Promise<Exchange> =>
    exchange(new URL(`http://127.0.0.1:${port}${path}`), { maxBytes: MAX, timeoutMs });
  const answered = (status: number, body: string | null): unknown => ({
    answered: true,
    status,
    latencyMs,
    headers: expect.any(Object),
    body: body === null ? null : Buffer.from(body),
  });

  test.each<[string, RequestListener, unknown]>([
    ['with a body is returned', (_request, response) => response.end('{"a":1}'), answered(200, '{"a":1}')],
    ['without a body is returned', (_request, response) => response.writeHead(204).end(), answered(204, '')],
    [
      'with an error status is returned',
      (_request, response) => response.writeHead(503).end('down'),
      answered(503, 'down'),
    ],
    [
      'of the maximum size is returned',
      (_request, response) => response.end('x'.repeat(MAX)),
      answered(200, 'x'.repeat(MAX)),
    ],
    [
      'one byte larger is returned without its body',
      (_request, response) => response.end('x'.repeat(MAX + 1)),
      answered(200, null),
    ],
    [
      'shorter than its content length is returned without its body',
      (_request, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('short', () => response.destroy());
      },
      answered(200, null),
    ],
    [
      'after early hints is returned',
      (_request, response) => {
        response.writeEarlyHints({ link: '</a>; rel=preload' });
        response.end('late');
      },
      answered(200, 'late'),
    ],
  ])('%s', async (_name, handler, expected) => {
    expect(await get(await servers.http(handler))).toEqual(expected);
  });

  test('without end is cut off at the limit and its connection is closed', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const port = await servers.http((request, response) => {
      closed = new Promise((resolve) => request.socket.once('close', resolve));
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(500)));
      };
      response.on('drain', more);
      more();
    });
    expect(await get(port)).toEqual(answered(200, null));
    await closed;
  });

  test('that never completes is returned without its body after the time limit', async () => {
    using timers = holdTimers();
    const port = await servers.http((_request, response) => void response.write('.'));
    let chunks = 0;
    const response = exchange(new URL(`http://127.0.0.1:${port}/`), {
      maxBytes: MAX,
      timeoutMs: 300,
      isEnough: () => {
        chunks += 1;
        return false;
      },
    });
    await until(() => chunks > 0, 'the first chunk');
    await timers.pass(300);
    expect(await response).toMatchObject(answered(200, null) as object);
  });

  test('is returned after its head when no body is requested', async () => {
    const port = await servers.http((_request, response) => response.writeHead(200).write('never ends'));
    expect(await exchange(new URL(`http://127.0.0.1:${port}/`))).toEqual(answered(200, null));
  });

  test('with a redirect is not followed', async () => {
    const requested: (string | undefined)[] = [];
    const port = await servers.http((request, response) => {
      requested.push(request.url);
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await get(port, '/health')).toEqual(answered(302, ''));
    expect(requested).toEqual(['/health']);
  });

  test.each<[string, (socket: Socket) => void, string]>([
    ['that is not HTTP', (socket) => socket.end('hello there\r\n\r\n'), 'the response is not valid HTTP'],
    [
      'with endless headers',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(20_000)}`),
      'the response is not valid HTTP',
    ],
    ['that never comes', () => undefined, 'no response within 0.3 s'],
    [
      'replaced by a closed connection',
      (socket) => socket.once('data', () => socket.destroy()),
      'connection closed without a response',
    ],
    [
      'that switches protocols',
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      'the server switched protocols (101) instead of responding',
    ],
  ])('%s counts as unanswered', async (_name, onConnection, reason) => {
    const timeoutMs = reason.startsWith('no response') ? 300 : 60_000;
    expect(await get(await servers.tcp(onConnection), '/', timeoutMs)).toEqual({
      answered: false,
      reason,
      body: null,
      connectedMs: expect.any(Number),
    });
  });

  test('from a closed port counts as unanswered', async () => {
    expect(await get(await servers.closedPort())).toEqual({
      answered: false,
      reason: 'connection refused',
      body: null,
    });
  });

  test.each([
    ['before the request', AbortSignal.abort()],
    ['during the request', AbortSignal.timeout(30)],
  ])('that is aborted %s counts as unanswered', async (_name, signal) => {
    const port = await servers.tcp(() => undefined);
    const response = await exchange(new URL(`http://127.0.0.1:${port}/`), { signal });
    expect({ ...response, connectedMs: undefined }).toEqual({
      answered: false,
      reason: 'the probe was aborted',
      body: null,
    });
  });
});

describe("a probe of the agent's port", () => {
  const REPORT = {
    agentName: 'shop',
    timestamp: '2026-03-01T12:00:00.000Z',
    status: 'healthy',
    summary: { passed: 1, failed: 0, warnings: 0, skipped: 0 },
    checks: [{ id: 'env:KEY', category: 'env', status: 'pass', severity: 'error' }],
  };
  const EXPECTED = {
    agentName: 'shop',
    endpoints: { health: { path: '/health' }, capabilities: { path: '/capabilities' } },
    now: () => new Date('2026-03-01T12:00:00.000Z'),
  };
  const USAGE = {
    source: 'agent-sdk',
    windowStartedAt: '2026-03-01T12:00:00.000Z',
    models: [],
    totalTokens: 0,
    totalCalls: 0,
  };
  const agent =
    (responses: Record<string, string>): RequestListener =>
    (request, response) => {
      const body = responses[request.url ?? ''];
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(body);
    };
  const url = (port: number, path = ''): URL => new URL(`http://127.0.0.1:${port}${path}`);
  const reachable = { state: 'reachable', latencyMs };
  const is = (status: number): object => ({ answered: true, status, latencyMs });
  const health = (response: object): object => ({ ...response, path: '/health' });
  const capabilities = (response: object, tools: string[] | null = null, isHtml = false): object => ({
    ...response,
    ...{ path: '/capabilities', isHtml, tools },
  });
  const noCard = (response: object): object => ({ ...response, isCard: false, tools: null });

  test('returns all facts of an agent with all endpoints under a base path', async () => {
    const port = await servers.http(
      agent({
        '/base/health': '{}',
        '/base/capabilities': '{"tools":[{"name":"search"}]}',
        '/base/platform/health': JSON.stringify(REPORT),
        '/base/platform/usage': JSON.stringify(USAGE),
      }),
    );
    expect(await probeAgent(url(port, '/base/?q=1'), EXPECTED)).toEqual({
      upstream: reachable,
      health: health(is(200)),
      capabilities: capabilities(is(200), ['search']),
      agentCard: noCard(is(404)),
      agentReport: { checks: REPORT.checks },
      invalidReport: null,
    });
    expect(await probeAgentUsage(url(port, '/base/'))).toEqual(USAGE);
  });

  test('returns no report and no usage for an HTTP server without endpoints', async () => {
    const port = await servers.http(agent({}));
    expect(await probeAgent(url(port), EXPECTED)).toEqual({
      upstream: reachable,
      health: health(is(404)),
      capabilities: capabilities(is(404)),
      agentCard: noCard(is(404)),
      agentReport: null,
      invalidReport: null,
    });
    expect(await probeAgentUsage(url(port))).toBeNull();
  });

  test.each<[string, string, string, string]>([
    ['HTML', '<!doctype html><title>Agent</title>', '', 'must be JSON'],
    ['a catch-all response', '{"status":"ok"}', 'agentName', 'must be a string'],
    ['broken JSON', '{"tools": [', '', 'must be JSON'],
    ['nothing', '', '', 'must be JSON'],
    [
      'a report of more than 256 KiB',
      JSON.stringify({ ...REPORT, padding: 'x'.repeat(256 * 1024) }),
      '',
      'must be complete within 5 s and 262144 bytes',
    ],
    ['deep nesting', '['.repeat(60_000), '', 'must be JSON'],
  ])('returns no report and no tools when every path returns %s', async (_name, body, field, reason) => {
    const port = await servers.http((_request, response) => response.end(body));
    const facts = await probeAgent(url(port), EXPECTED);
    expect([facts.agentReport, facts.invalidReport, facts.capabilities]).toEqual([
      null,
      { field, reason },
      capabilities(is(200), null, body.startsWith('<')),
    ]);
    expect(await probeAgentUsage(url(port))).toBeNull();
  });

  test('reports a closed port as unreachable', async () => {
    const none = { answered: false, reason: 'connection refused' };
    expect(await probeAgent(url(await servers.closedPort()), EXPECTED)).toEqual({
      upstream: { state: 'unreachable', reason: 'connection refused' },
      health: health(none),
      capabilities: capabilities(none),
      agentCard: noCard(none),
      agentReport: null,
      invalidReport: null,
    });
  });

  test('reports an agent that accepts connections and does not respond as unreachable', async () => {
    let [came, went] = [0, 0];
    const port = await servers.tcp((socket) => {
      came += 1;
      socket.resume().on('close', () => (went += 1));
    });
    const stop = new AbortController();
    const probed = probeAgent(url(port), EXPECTED, stop.signal);
    // Four HTTP requests are waiting; the TCP probe has succeeded and closed its connection.
    await until(() => came === 5 && went === 1, 'the connections');
    stop.abort();
    const found = await probed;
    expect([found.upstream, found.health]).toEqual([
      { state: 'unreachable', reason: 'connection accepted, but no response to any HTTP request' },
      { answered: false, reason: 'the probe was aborted', path: '/health' },
    ]);
  });
});
