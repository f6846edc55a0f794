import { afterEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import type { RequestListener } from 'node:http';
import { fullListener } from '../testing/full-listener.ts';
import { holdTimers } from '../testing/held-timers.ts';
import { until } from '../testing/proxy-rig.ts';
import { TestServers } from '../testing/sockets.ts';
import { probeAgent, probeAgentUsage } from './agent.ts';
import { exchange } from './http-exchange.ts';
import { httpAnswer, type AnswerWithBody } from './http-answer.ts';
import { tcpReach } from './tcp-reach.ts';

const servers = new TestServers();
afterEach(() => servers.close());

const latencyMs = expect.any(Number);

describe('a TCP connection', () => {
  test('that is accepted', async () => {
    const port = await servers.tcp(() => undefined);
    expect(await tcpReach('127.0.0.1', port)).toEqual({ state: 'reachable', latencyMs });
  });

  test('to a name', async () => {
    const port = await servers.tcp(() => undefined);
    expect(await tcpReach('localhost', port)).toEqual({ state: 'reachable', latencyMs });
  });

  test('that is refused', async () => {
    const port = await servers.closedPort();
    expect(await tcpReach('127.0.0.1', port)).toEqual({ state: 'unreachable', reason: 'connection refused' });
  });

  test.each([
    ['no.such.host.invalid', 80],
    ['a b', 80],
    ['127.0.0.1', 70_000],
  ])('to %s port %i, which cannot be', async (host, port) => {
    expect(await tcpReach(host, port)).toEqual({ state: 'unreachable', reason: expect.any(String) });
  });

  test('that nobody takes is given up in time', async () => {
    await using full = await fullListener();
    using timers = holdTimers();
    const reach = tcpReach('127.0.0.1', full.port, { timeoutMs: 300 });
    await timers.pass(300);
    expect(await reach).toEqual({ state: 'unreachable', reason: 'no connection within 0.3 s' });
  });

  test('is given up when it is aborted', async () => {
    await using full = await fullListener();
    const reach = tcpReach('127.0.0.1', full.port, { signal: AbortSignal.timeout(50) });
    expect(await reach).toEqual({ state: 'unknown', reason: 'the probe was given up' });
    expect(await tcpReach('127.0.0.1', full.port, { signal: AbortSignal.abort() })).toEqual({
      state: 'unknown',
      reason: 'the probe was given up',
    });
  });
});

describe('an HTTP answer', () => {
  const MAX = 1000;
  const get = async (port: number, path = '/', timeoutMs = 60_000): Promise<AnswerWithBody> =>
    httpAnswer(new URL(`http://127.0.0.1:${port}${path}`), { maxBytes: MAX, timeoutMs });
  const answered = (status: number, body: string | null): unknown => ({
    answered: true,
    status,
    latencyMs,
    body: body === null ? null : Buffer.from(body),
  });

  test.each<[string, RequestListener, unknown]>([
    ['with a body', (_request, response) => response.end('{"a":1}'), answered(200, '{"a":1}')],
    ['without a body', (_request, response) => response.writeHead(204).end(), answered(204, '')],
    ['that is an error', (_request, response) => response.writeHead(503).end('down'), answered(503, 'down')],
    [
      'of the largest size',
      (_request, response) => response.end('x'.repeat(MAX)),
      answered(200, 'x'.repeat(MAX)),
    ],
    ['one byte larger', (_request, response) => response.end('x'.repeat(MAX + 1)), answered(200, null)],
    [
      'that promises more than it sends',
      (_request, response) => {
        response.writeHead(200, { 'content-length': 100 }).write('short', () => response.destroy());
      },
      answered(200, null),
    ],
    [
      'after early hints',
      (_request, response) => {
        response.writeEarlyHints({ link: '</a>; rel=preload' });
        response.end('late');
      },
      answered(200, 'late'),
    ],
  ])('%s', async (_name, handler, expected) => {
    expect(await get(await servers.http(handler))).toEqual(expected);
  });

  test('without end is cut off at the limit, and its connection closed', async () => {
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

  test('that drips for ever is an answer without a body', async () => {
    using timers = holdTimers();
    const port = await servers.http((_request, response) => void response.write('.'));
    let drops = 0;
    const answer = exchange(new URL(`http://127.0.0.1:${port}/`), {
      maxBytes: MAX,
      timeoutMs: 300,
      isEnough: () => {
        drops += 1;
        return false;
      },
    });
    await until(() => drops > 0, 'the first drop');
    await timers.pass(300);
    expect(await answer).toMatchObject(answered(200, null) as object);
  });

  test('is enough with its head where no body is wanted', async () => {
    const port = await servers.http((_request, response) => response.writeHead(200).write('never ends'));
    expect(await httpAnswer(new URL(`http://127.0.0.1:${port}/`))).toEqual(answered(200, null));
  });

  test('that redirects is not followed', async () => {
    const asked: (string | undefined)[] = [];
    const port = await servers.http((request, response) => {
      asked.push(request.url);
      response.writeHead(302, { location: '/elsewhere' }).end();
    });
    expect(await get(port, '/health')).toEqual(answered(302, ''));
    expect(asked).toEqual(['/health']);
  });

  test.each<[string, (socket: Socket) => void, string]>([
    ['that is no HTTP', (socket) => socket.end('hello there\r\n\r\n'), 'the answer is not valid HTTP'],
    [
      'with endless headers',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'X-A: b\r\n'.repeat(20_000)}`),
      'the answer is not valid HTTP',
    ],
    ['that never comes', () => undefined, 'no answer within 0.3 s'],
    [
      'that is a closed connection',
      (socket) => socket.once('data', () => socket.destroy()),
      'connection closed without an answer',
    ],
    [
      'that switches protocols',
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
      'it switches protocols (101) instead of answering',
    ],
  ])('%s is none', async (_name, onConnection, reason) => {
    const timeoutMs = reason.startsWith('no answer') ? 300 : 60_000;
    expect(await get(await servers.tcp(onConnection), '/', timeoutMs)).toEqual({
      answered: false,
      reason,
      body: null,
    });
  });

  test('from nobody', async () => {
    expect(await get(await servers.closedPort())).toEqual({
      answered: false,
      reason: 'connection refused',
      body: null,
    });
  });

  test.each([
    ['before it began', AbortSignal.abort()],
    ['under way', AbortSignal.timeout(30)],
  ])('that is aborted %s', async (_name, signal) => {
    const port = await servers.tcp(() => undefined);
    expect(await httpAnswer(new URL(`http://127.0.0.1:${port}/`), { signal })).toEqual({
      answered: false,
      reason: 'the probe was given up',
      body: null,
    });
  });
});

describe("the agent's port", () => {
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
    (answers: Record<string, string>): RequestListener =>
    (request, response) => {
      const body = answers[request.url ?? ''];
      response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(body);
    };
  const url = (port: number, path = ''): URL => new URL(`http://127.0.0.1:${port}${path}`);
  const reachable = { state: 'reachable', latencyMs };
  const is = (status: number): object => ({ answered: true, status, latencyMs });
  const health = (answer: object): object => ({ ...answer, path: '/health' });
  const capabilities = (answer: object, tools: string[] | null = null, isHtml = false): object => ({
    ...answer,
    ...{ path: '/capabilities', isHtml, tools },
  });
  const noCard = (answer: object): object => ({ ...answer, isCard: false, tools: null });

  test('with everything, under a base path', async () => {
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

  test('with nothing but an HTTP server', async () => {
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
    ['a catch-all answer', '{"status":"ok"}', 'agentName', 'must be a string'],
    ['broken JSON', '{"tools": [', '', 'must be JSON'],
    ['nothing', '', '', 'must be JSON'],
    [
      'a report of more than 256 KiB',
      JSON.stringify({ ...REPORT, padding: 'x'.repeat(256 * 1024) }),
      '',
      'must be complete within 5 s and 262144 bytes',
    ],
    ['deep nesting', '['.repeat(60_000), '', 'must be JSON'],
  ])(
    'that answers every path with %s has no report and no list of tools',
    async (_name, body, field, reason) => {
      const port = await servers.http((_request, response) => response.end(body));
      const facts = await probeAgent(url(port), EXPECTED);
      expect([facts.agentReport, facts.invalidReport, facts.capabilities]).toEqual([
        null,
        { field, reason },
        capabilities(is(200), null, body.startsWith('<')),
      ]);
      expect(await probeAgentUsage(url(port))).toBeNull();
    },
  );

  test('on which nobody listens', async () => {
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

  test('that accepts connections and never answers is not reachable', async () => {
    let [came, went] = [0, 0];
    const port = await servers.tcp((socket) => {
      came += 1;
      socket.resume().on('close', () => (went += 1));
    });
    const stop = new AbortController();
    const probed = probeAgent(url(port), EXPECTED, stop.signal);
    // Four questions wait; that somebody takes connections is known by then.
    await until(() => came === 5 && went === 1, 'the connections');
    stop.abort();
    const found = await probed;
    expect([found.upstream, found.health]).toEqual([
      { state: 'unreachable', reason: 'it accepts connections but answers no HTTP request' },
      { answered: false, reason: 'the probe was given up', path: '/health' },
    ]);
  });
});
