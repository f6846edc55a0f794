import { afterEach, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { holdTimers } from '../testing/time/held-timers.ts';
import { until } from '../testing/time/until.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { mcpReach, type McpProbe } from './mcp.ts';

const servers = new TestServers();
afterEach(() => servers.close());

const latencyMs = expect.any(Number);
const reachable = { state: 'reachable', latencyMs };
const unreachable = (reason: string): unknown => ({ state: 'unreachable', reason });

const reply = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25', capabilities: {} } };
const error = (code: number): unknown => ({ jsonrpc: '2.0', id: null, error: { code, message: 'no' } });
const json =
  (body: unknown, status = 200): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const page =
  (status: number, type = 'text/html'): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': type }).end('<!doctype html><title>Hi</title>');
/** An event stream that stays open, as real ones do. */
const stream =
  (text: string, status = 200): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'text/event-stream; charset=utf-8' }).write(text);
const byMethod =
  (handlers: Record<string, RequestListener>): RequestListener =>
  (request, response) =>
    (handlers[request.method ?? ''] ?? page(405))(request, response);

/** Number of requests without a response. */
let unanswered = 0;
const silent: RequestListener = () => void (unanswered += 1);
const ENDPOINT = 'event: endpoint\ndata: /messages?sessionId=1\n\n';

async function probe(handler: RequestListener, options: Partial<McpProbe> = {}): Promise<unknown> {
  const port = await servers.http(handler);
  return reach({ address: { url: `http://127.0.0.1:${port}/mcp` }, ...options });
}

/** Lets the probe's time limit pass if the server does not respond. */
async function reach(input: McpProbe): Promise<unknown> {
  using timers = holdTimers();
  unanswered = 0;
  let isOver = false;
  const reached = mcpReach(input).finally(() => (isOver = true));
  await until(() => isOver || unanswered > 0, 'a result or an unanswered request');
  if (!isOver) await timers.pass(5_000);
  return reached;
}

describe('an MCP server at a URL', () => {
  test.each<[string, RequestListener, unknown]>([
    ['that responds to the handshake', json(reply), reachable],
    ['that responds in an event stream', stream(`data: ${JSON.stringify(reply)}\n\n`), reachable],
    [
      'that starts its event stream with an empty event',
      stream(`id: 1\ndata:\n\nevent: message\ndata: ${JSON.stringify(reply)}\n\n`),
      reachable,
    ],
    ['that rejects the protocol version', json(error(-32602), 400), reachable],
    ['that requires a key', page(401), reachable],
    ['that forbids access', page(403), reachable],
    ['that limits the rate', page(429, 'text/plain'), reachable],
    ['with the older transport', byMethod({ GET: stream(ENDPOINT) }), reachable],
    [
      'with the older transport that does not accept POST there',
      byMethod({ GET: stream(ENDPOINT), POST: page(404) }),
      reachable,
    ],
    ['that fails', page(500), unreachable('the server responded with 500')],
    ['behind a gateway that cannot reach it', json(reply, 502), unreachable('the server responded with 502')],
    [
      'that is a web page',
      page(200),
      unreachable('the server responded to an MCP handshake with text/html, which is not MCP'),
    ],
    [
      'that is an API without MCP',
      json({ status: 'ok' }),
      unreachable('the server responded to an MCP handshake with application/json, which is not MCP'),
    ],
    [
      'that speaks JSON-RPC and does not know the handshake',
      json(error(-32601)),
      unreachable('the server responded to an MCP handshake with application/json, which is not MCP'),
    ],
    [
      'that sends no content type',
      (_request, response) => response.end('hello'),
      unreachable('the server responded to an MCP handshake with content of unknown type, which is not MCP'),
    ],
    ['at another path', page(404), unreachable('the server responded to an MCP handshake with 404')],
    [
      'that is another event stream',
      (request, response) => {
        stream('data: tick\n\n')(request, response);
        response.end();
      },
      unreachable('the server responded to an MCP handshake with an event stream that is not MCP'),
    ],
    ['that does not respond', silent, unreachable('no response within 5 s')],
    [
      'that responds to the handshake and hangs on the older transport',
      byMethod({ POST: page(404), GET: silent }),
      unreachable('the server responded to an MCP handshake with 404'),
    ],
    [
      'that sends an endless response',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = (): void => {
          while (!response.destroyed && response.write('"'.repeat(10_000)));
        };
        response.on('drain', more);
        more();
      },
      unreachable('the server responded to an MCP handshake with application/json, which is not MCP'),
    ],
    [
      'that redirects to another origin',
      (_request, response) => response.writeHead(307, { location: 'http://192.0.2.1/mcp' }).end(),
      unreachable('the server redirected (307) to another address'),
    ],
    [
      'that redirects to itself',
      (request, response) => response.writeHead(308, { location: request.url }).end(),
      unreachable('the server redirected (308) to another address'),
    ],
  ])('%s has the expected result', async (_name, handler, expected) => {
    expect(await probe(handler)).toEqual(expected);
  });

  test('that redirects to a path with a slash is probed there', async () => {
    const requested: string[] = [];
    const handler: RequestListener = (request, response) => {
      requested.push(`${request.method} ${request.url}`);
      if (request.url === '/mcp') response.writeHead(307, { location: '/mcp/' }).end();
      else json(reply)(request, response);
    };
    expect(await probe(handler)).toEqual(reachable);
    expect(requested).toEqual(['POST /mcp', 'POST /mcp/']);
  });

  test('receives a request of the current protocol', async () => {
    let seen: { request: IncomingMessage; body: string } | null = null;
    await probe((request: IncomingMessage, response: ServerResponse) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen = { request, body };
        json(reply)(request, response);
      });
    });
    const { request, body } = seen as unknown as { request: IncomingMessage; body: string };
    expect([request.method, request.headers.accept, request.headers['content-type']]).toEqual([
      'POST',
      'application/json, text/event-stream',
      'application/json',
    ]);
    expect(JSON.parse(body)).toMatchObject({ jsonrpc: '2.0', method: 'initialize' });
  });

  test('receives a DELETE for the session that the probe opened', async () => {
    const ended: unknown[] = [];
    const handler = byMethod({
      POST: (_request, response) => {
        response.setHeader('mcp-session-id', 'abc');
        json(reply)(_request, response);
      },
      DELETE: (request, response) => {
        ended.push(request.headers['mcp-session-id']);
        response.writeHead(204).end();
      },
    });
    expect(await probe(handler)).toEqual(reachable);
    expect(ended).toEqual(['abc']);
  });

  test('declared with the older transport is probed with that transport first', async () => {
    const methods: string[] = [];
    const handler: RequestListener = (request, response) => {
      methods.push(request.method ?? '');
      stream(ENDPOINT)(request, response);
    };
    expect(await probe(handler, { transport: 'sse' })).toEqual(reachable);
    expect(methods).toEqual(['GET']);
  });

  test('on a closed port is unreachable', async () => {
    const url = `http://127.0.0.1:${await servers.closedPort()}/mcp`;
    expect(await mcpReach({ address: { url } })).toEqual(unreachable('connection refused'));
  });

  test.each(['ws://127.0.0.1:1/mcp', 'maps', 'file:///etc/passwd'])('at %s cannot be probed', async (url) => {
    expect(await mcpReach({ address: { url } })).toEqual({
      state: 'unknown',
      reason: 'the address is not an http(s) URL',
    });
  });

  test('is unreachable when the probe is aborted', async () => {
    const port = await servers.http(silent);
    const address = { url: `http://127.0.0.1:${port}/mcp` };
    expect(await mcpReach({ address, signal: AbortSignal.timeout(50) })).toEqual(
      unreachable('the probe was aborted'),
    );
  });
});

describe('an MCP server at a host and a port, whose path is unknown', () => {
  const at =
    (paths: Record<string, RequestListener>): RequestListener =>
    (request, response) =>
      (paths[`${request.method} ${request.url}`] ?? page(404))(request, response);

  test.each<[string, RequestListener, unknown]>([
    ['with the current transport', at({ 'POST /mcp': json(reply) }), reachable],
    ['with the older transport', at({ 'GET /sse': stream(ENDPOINT) }), reachable],
    ['at another path', at({}), reachable],
    ['that fails', page(503), unreachable('the server responded with 503')],
    [
      'that is a web page',
      page(200),
      unreachable('the server responded to an MCP handshake with text/html, which is not MCP'),
    ],
    ['that accepts the request and does not respond', silent, reachable],
  ])('%s has the expected result', async (_name, handler, expected) => {
    const port = await servers.http(handler);
    expect(await reach({ address: { host: '127.0.0.1', port } })).toEqual(expected);
  });

  const rpc = (socket: Socket): void => void socket.write(`${JSON.stringify(reply)}\n`);
  test.each<[string, (socket: Socket) => void]>([
    ['sends JSON-RPC in lines', rpc],
    ['sends another protocol', (socket) => socket.end('SSH-2.0-x\r\n')],
    ['closes the connection', (socket) => socket.end()],
  ])('that does not speak HTTP and %s is reachable over TCP', async (_name, onConnection) => {
    const address = { host: '127.0.0.1', port: await servers.tcp(onConnection) };
    expect(await mcpReach({ address })).toEqual(reachable);
    const declared = await mcpReach({ address, transport: 'http' });
    expect(declared.state).toBe('unreachable');
  });

  test('on a closed port is unreachable', async () => {
    const address = { host: '127.0.0.1', port: await servers.closedPort() };
    expect(await mcpReach({ address })).toEqual(unreachable('connection refused'));
  });

  test('that hangs with HTTP declared is unreachable', async () => {
    const address = { host: '127.0.0.1', port: await servers.http(silent) };
    expect(await reach({ address, transport: 'http' })).toEqual(unreachable('no response within 5 s'));
  });
});
