import { afterEach, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { holdTimers } from '../testing/held-timers.ts';
import { until } from '../testing/proxy-rig.ts';
import { TestServers } from '../testing/sockets.ts';
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

/** Requests that were left without an answer. */
let unanswered = 0;
const silent: RequestListener = () => void (unanswered += 1);
const ENDPOINT = 'event: endpoint\ndata: /messages?sessionId=1\n\n';

async function probe(handler: RequestListener, options: Partial<McpProbe> = {}): Promise<unknown> {
  const port = await servers.http(handler);
  return reach({ address: { url: `http://127.0.0.1:${port}/mcp` }, ...options });
}

/** The probe's time passes when a server is silent. */
async function reach(asked: McpProbe): Promise<unknown> {
  using timers = holdTimers();
  unanswered = 0;
  let isOver = false;
  const reached = mcpReach(asked).finally(() => (isOver = true));
  await until(() => isOver || unanswered > 0, 'an answer, or none');
  if (!isOver) await timers.pass(5_000);
  return reached;
}

describe('an MCP server at a URL', () => {
  test.each<[string, RequestListener, unknown]>([
    ['that answers the handshake', json(reply), reachable],
    ['that answers it in an event stream', stream(`data: ${JSON.stringify(reply)}\n\n`), reachable],
    [
      'that begins its event stream with an empty event',
      stream(`id: 1\ndata:\n\nevent: message\ndata: ${JSON.stringify(reply)}\n\n`),
      reachable,
    ],
    ['that refuses the protocol’s version', json(error(-32602), 400), reachable],
    ['that wants a key', page(401), reachable],
    ['that refuses a stranger', page(403), reachable],
    ['that slows down', page(429, 'text/plain'), reachable],
    ['of the older kind', byMethod({ GET: stream(ENDPOINT) }), reachable],
    [
      'of the older kind, which knows no POST there',
      byMethod({ GET: stream(ENDPOINT), POST: page(404) }),
      reachable,
    ],
    ['whose own error it is', page(500), unreachable('it answers 500')],
    ['behind a gateway that does not reach it', json(reply, 502), unreachable('it answers 502')],
    [
      'that is a web page',
      page(200),
      unreachable('it answers an MCP handshake with text/html, which is not of MCP'),
    ],
    [
      'that is an API without MCP',
      json({ status: 'ok' }),
      unreachable('it answers an MCP handshake with application/json, which is not of MCP'),
    ],
    [
      'that speaks JSON-RPC and knows no handshake',
      json(error(-32601)),
      unreachable('it answers an MCP handshake with application/json, which is not of MCP'),
    ],
    [
      'whose content has no type',
      (_request, response) => response.end('hello'),
      unreachable('it answers an MCP handshake with content of no known type, which is not of MCP'),
    ],
    ['at another path', page(404), unreachable('it answers 404 to an MCP handshake')],
    [
      'that is another event stream',
      (request, response) => {
        stream('data: tick\n\n')(request, response);
        response.end();
      },
      unreachable('it answers an MCP handshake with an event stream that is not of MCP'),
    ],
    ['that answers nothing', silent, unreachable('no answer within 5 s')],
    [
      'whose handshake answers at once and whose older stream hangs',
      byMethod({ POST: page(404), GET: silent }),
      unreachable('it answers 404 to an MCP handshake'),
    ],
    [
      'that answers without end',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = (): void => {
          while (!response.destroyed && response.write('"'.repeat(10_000)));
        };
        response.on('drain', more);
        more();
      },
      unreachable('it answers an MCP handshake with application/json, which is not of MCP'),
    ],
    [
      'that redirects to another origin',
      (_request, response) => response.writeHead(307, { location: 'http://192.0.2.1/mcp' }).end(),
      unreachable('it redirects (307) to another address'),
    ],
    [
      'that redirects to itself',
      (request, response) => response.writeHead(308, { location: request.url }).end(),
      unreachable('it redirects (308) to another address'),
    ],
  ])('%s', async (_name, handler, expected) => {
    expect(await probe(handler)).toEqual(expected);
  });

  test('that is asked under a path with a slash is followed there', async () => {
    const asked: string[] = [];
    const handler: RequestListener = (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      if (request.url === '/mcp') response.writeHead(307, { location: '/mcp/' }).end();
      else json(reply)(request, response);
    };
    expect(await probe(handler)).toEqual(reachable);
    expect(asked).toEqual(['POST /mcp', 'POST /mcp/']);
  });

  test('is asked as the current protocol says', async () => {
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

  test('whose session the probe opened hears that nobody comes back', async () => {
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

  test('declared as the older kind is asked so first', async () => {
    const asked: string[] = [];
    const handler: RequestListener = (request, response) => {
      asked.push(request.method ?? '');
      stream(ENDPOINT)(request, response);
    };
    expect(await probe(handler, { transport: 'sse' })).toEqual(reachable);
    expect(asked).toEqual(['GET']);
  });

  test('on which nobody listens', async () => {
    const url = `http://127.0.0.1:${await servers.closedPort()}/mcp`;
    expect(await mcpReach({ address: { url } })).toEqual(unreachable('connection refused'));
  });

  test.each(['ws://127.0.0.1:1/mcp', 'maps', 'file:///etc/passwd'])(
    'at %s is not one that can be asked',
    async (url) => {
      expect(await mcpReach({ address: { url } })).toEqual({
        state: 'unknown',
        reason: 'its address is no http: or https: URL',
      });
    },
  );

  test('is given up when it is aborted', async () => {
    const port = await servers.http(silent);
    const address = { url: `http://127.0.0.1:${port}/mcp` };
    expect(await mcpReach({ address, signal: AbortSignal.timeout(50) })).toEqual(
      unreachable('the probe was given up'),
    );
  });
});

describe('an MCP server at a host and a port, whose path is not known', () => {
  const at =
    (paths: Record<string, RequestListener>): RequestListener =>
    (request, response) =>
      (paths[`${request.method} ${request.url}`] ?? page(404))(request, response);

  test.each<[string, RequestListener, unknown]>([
    ['that is current', at({ 'POST /mcp': json(reply) }), reachable],
    ['of the older kind', at({ 'GET /sse': stream(ENDPOINT) }), reachable],
    ['at a path of its own', at({}), reachable],
    ['that fails', page(503), unreachable('it answers 503')],
    [
      'that is a web page',
      page(200),
      unreachable('it answers an MCP handshake with text/html, which is not of MCP'),
    ],
    ['that accepts the request and says nothing', silent, reachable],
  ])('%s', async (_name, handler, expected) => {
    const port = await servers.http(handler);
    expect(await reach({ address: { host: '127.0.0.1', port } })).toEqual(expected);
  });

  const rpc = (socket: Socket): void => void socket.write(`${JSON.stringify(reply)}\n`);
  test.each<[string, (socket: Socket) => void]>([
    ['answers JSON-RPC in lines', rpc],
    ['answers in a protocol of its own', (socket) => socket.end('SSH-2.0-x\r\n')],
    ['closes the connection', (socket) => socket.end()],
  ])('that speaks no HTTP and %s is reachable over TCP', async (_name, onConnection) => {
    const address = { host: '127.0.0.1', port: await servers.tcp(onConnection) };
    expect(await mcpReach({ address })).toEqual(reachable);
    const declared = await mcpReach({ address, transport: 'http' });
    expect(declared.state).toBe('unreachable');
  });

  test('on which nobody listens', async () => {
    const address = { host: '127.0.0.1', port: await servers.closedPort() };
    expect(await mcpReach({ address })).toEqual(unreachable('connection refused'));
  });

  test('that hangs where HTTP is declared', async () => {
    const address = { host: '127.0.0.1', port: await servers.http(silent) };
    expect(await reach({ address, transport: 'http' })).toEqual(unreachable('no answer within 5 s'));
  });
});
