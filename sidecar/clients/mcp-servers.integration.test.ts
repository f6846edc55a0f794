import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import {
  StreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions,
} from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Check } from '../../core/shapes/health.ts';
import { holdDeadlines } from '../../testing/time/held-deadlines.ts';
import { until } from '../../testing/time/until.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { TestServers } from '../../testing/http/sockets.ts';

/** Open sessions of the SDK's servers, by server. A probe must leave no session open. */
const sessions = new Map<string, Set<string>>();
/** Number of sessions opened so far. */
let opened = 0;
const areAllEnded = (): boolean => [...sessions.values()].every((held) => held.size === 0);

const newServer = (name: string): McpServer =>
  new McpServer({ name, version: '1.0.0' }, { instructions: 'Ask me. '.repeat(2_000) });

/** As in the SDK's own examples: one transport per session, or one transport per request without sessions. */
function streamable(name: string, options: { stateful: boolean; json?: boolean }): RequestListener {
  const known = new Map<string, StreamableHTTPServerTransport>();
  const held = new Set<string>();
  sessions.set(name, held);
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const settings: StreamableHTTPServerTransportOptions = {
      ...(options.stateful && {
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id: string) => {
          opened += 1;
          held.add(id);
          known.set(id, transport);
        },
        onsessionclosed: (id: string) => void held.delete(id),
      }),
      ...(options.json && { enableJsonResponse: true }),
    };
    const transport = new StreamableHTTPServerTransport(settings);
    await newServer(name).connect(transport);
    return transport;
  };
  return (request, response) => {
    if (!options.stateful && request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    const transport = known.get(String(request.headers['mcp-session-id']));
    const ready = transport === undefined ? open() : Promise.resolve(transport);
    void ready.then((session) => session.handleRequest(request, response));
  };
}

function olderSse(name: string): RequestListener {
  const held = new Set<string>();
  sessions.set(name, held);
  return (request, response) => {
    if (request.method !== 'GET') {
      response.writeHead(404).end();
      return;
    }
    const transport = new SSEServerTransport('/messages', response);
    opened += 1;
    held.add(transport.sessionId);
    response.on('close', () => held.delete(transport.sessionId));
    void newServer(name).connect(transport);
  };
}

const SERVERS: Record<string, RequestListener> = {
  stateful: streamable('stateful', { stateful: true }),
  'stateful-json': streamable('stateful-json', { stateful: true, json: true }),
  stateless: streamable('stateless', { stateful: false }),
  'stateless-json': streamable('stateless-json', { stateful: false, json: true }),
  older: olderSse('older'),
  guarded: (_request, response) =>
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('{"error":"invalid_token"}'),
};

/** Sessions that a report opens: three with the stateful servers (one has two entries), and three with the older server. */
const SESSIONS = 6;

describe('the MCP servers of the official SDK, probed by a running sidecar', () => {
  const servers = new TestServers();
  let rig: SidecarRig;
  /** Number of connections to the server that hangs. */
  let hung = 0;

  beforeAll(async () => {
    const urls: Record<string, string> = {};
    for (const [name, handler] of Object.entries(SERVERS))
      urls[name] = `http://127.0.0.1:${await servers.http(handler)}/mcp`;
    const port = await servers.http((request, response) => {
      const path = request.url ?? '';
      if (path === '/sse') SERVERS['older']?.(request, response);
      else response.writeHead(404).end();
    });
    const entries = [
      ...Object.entries(urls).map(([name, url]) => ({ name, transport: 'http', url })),
      { name: 'older-declared', transport: 'sse', url: urls['older'] },
      { name: 'by-port', host: '127.0.0.1', port },
      { name: 'dead', transport: 'http', url: `http://127.0.0.1:${await servers.closedPort()}/mcp` },
      {
        name: 'hung',
        url: `http://127.0.0.1:${await servers.tcp(() => void (hung += 1))}/mcp`,
        healthCheck: { timeoutSeconds: 1 },
      },
      { name: 'local', transport: 'stdio', command: 'my-server' },
      { name: 'referenced', url: '$env:MCP_URL' },
    ];
    rig = await startSidecarRig({
      manifest: manifestText({ mcp: { servers: entries } }),
      agent: { '/health': 200, '/capabilities': 200 },
      env: { OPENAI_API_KEY: 'k', MCP_URL: urls['stateful'] ?? '' },
    });
  });
  afterAll(async () => {
    await rig.close();
    await servers.close();
  });

  /** Requests a report in which only the time limit of the hanging server expires. */
  async function report<T>(path: string): Promise<T> {
    using timers = holdDeadlines();
    const before = { hung, opened };
    const reporting = rig.report<T>(path);
    await until(() => hung > before.hung, 'the connection to the server that hangs');
    // Ending a session has a time limit too.
    await until(() => opened === before.opened + SESSIONS && areAllEnded(), 'the end of every session');
    await timers.pass(1_000);
    return reporting;
  }

  test('are reachable, except a dead and a hanging server, and no session stays open', async () => {
    const { checks, status } = await report<{ checks: Check[]; status: string }>('/health/ready');
    const found = checks
      .filter(({ category }) => category === 'mcp')
      .map(({ id, status, message }) => [id, status, ...(message === undefined ? [] : [message])]);
    expect(found).toEqual([
      ['mcp:stateful', 'pass'],
      ['mcp:stateful-json', 'pass'],
      ['mcp:stateless', 'pass'],
      ['mcp:stateless-json', 'pass'],
      ['mcp:older', 'pass'],
      ['mcp:guarded', 'pass'],
      ['mcp:older-declared', 'pass'],
      ['mcp:by-port', 'pass'],
      ['mcp:dead', 'fail', 'connection refused'],
      ['mcp:hung', 'fail', 'no response within 1 s'],
      ['mcp:local', 'skip', 'a stdio server is started by the agent and has no address'],
      ['mcp:referenced', 'pass'],
    ]);
    expect(status).toBe('degraded');
    expect(areAllEnded()).toBe(true);
  });

  test('are in the explore report with reachability and latency', async () => {
    const { mcpServers } = await report<{ mcpServers: object[] }>('/explore');
    const latencyMs = expect.any(Number);
    expect(mcpServers).toEqual(
      expect.arrayContaining([
        { name: 'stateful', reachable: true, latencyMs },
        { name: 'dead', reachable: false, latencyMs: null },
        { name: 'local', reachable: null, latencyMs: null },
      ]),
    );
  });
});
