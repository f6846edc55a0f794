// The same requests and expected documents against the reporters for Node.js and for Python.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseEventBatch } from '../../core/shapes/events.ts';
import { TestServers } from '../http/sockets.ts';
import { AGENTS, FOLDER } from './agents.ts';

interface Case {
  name: string;
  request: { method: string; path: string; requestId?: string | null; body?: unknown };
  /** The response of the policy engine. */
  engine?: { status: number; body: unknown };
  expect: {
    status: number;
    /** null: the header is absent. */
    headers: Record<string, string | null>;
    body: unknown;
    events?: unknown[];
    queries?: unknown[];
  };
}

const CASES = JSON.parse(readFileSync(join(FOLDER, 'cases.json'), 'utf8')) as Case[];
const HANDSHAKE = { jsonrpc: '2.0', id: 1, result: { protocolVersion: '2025-11-25' } };
/** Values that differ between runs, by name. */
const VARIABLE: Readonly<Record<string, string>> = {
  timestamp: '<time>',
  windowStartedAt: '<time>',
  latencyMs: '<ms>',
};

/** The services of an agent: sidecar, policy engine, model vendor, MCP server and Redis. */
async function startServices(servers: TestServers) {
  const found = {
    batches: [] as { requestId: string | null; events: unknown[] }[],
    queries: [] as unknown[],
  };
  let engine: Case['engine'];
  const serve: RequestListener = (request, response) => {
    void text(request).then((body) => {
      const url = request.url ?? '';
      let content: { status: number; body: unknown } = { status: 200, body: {} };
      if (url === '/events') {
        const parsed = parseEventBatch(JSON.parse(body));
        if (parsed.ok) found.batches.push(parsed.value);
        else content = { status: 400, body: {} };
      } else if (url.startsWith('/v1/data/')) {
        found.queries.push({ path: url, ...(JSON.parse(body) as object) });
        content = engine ?? { status: 500, body: {} };
      } else if (url === '/mcp') content.body = HANDSHAKE;
      else content.status = request.headers.authorization === 'Bearer sk-1' ? 200 : 401;
      response.writeHead(content.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(content.body));
    });
  };
  const url = `http://127.0.0.1:${await servers.http(serve)}`;
  const redis = (line: string) =>
    servers.tcp((socket) => socket.once('data', () => socket.end(`${line}\r\n`)));
  const env = {
    PATH: process.env['PATH'] ?? '',
    MANIFEST: join(FOLDER, 'agent.json'),
    PLATFORM_SIDECAR_URL: url,
    ENGINE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: 'sk-1',
    PLATFORM_SECRET_MY_LLM_KEY: 'x',
    MCP_URL: `${url}/mcp`,
    REDIS_ADDRESS: `127.0.0.1:${await redis('+PONG')}`,
    LOADING_ADDRESS: `127.0.0.1:${await redis('-LOADING the dataset')}`,
    EMPTY: '',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  return {
    env,
    /** Returns and forgets what arrived. */
    take: () => ({ batches: found.batches.splice(0), queries: found.queries.splice(0) }),
    respondQueries: (response: Case['engine']) => (engine = response),
  };
}

async function startAgent(command: readonly string[], env: Record<string, string>) {
  const [program = '', ...args] = command;
  const agent = spawn(program, args, { cwd: FOLDER, env, stdio: ['ignore', 'pipe', 'pipe'] });
  // Invalid reports are part of the cases, so warnings are expected.
  let warnings = '';
  agent.stderr.setEncoding('utf8').on('data', (lines: string) => (warnings += lines));
  for await (const line of createInterface(agent.stdout)) {
    const port = /^port (\d+)$/.exec(line)?.[1];
    if (port !== undefined) return { agent, port: Number(port) };
  }
  throw new Error(`${program} has no port: ${warnings}`);
}

interface Exchange {
  status: number | undefined;
  headers: IncomingMessage['headers'];
  body: unknown;
}

async function exchange(port: number, { method, path, requestId, body }: Case['request']): Promise<Exchange> {
  const content = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(typeof requestId === 'string' && { 'x-request-id': requestId }),
    ...(content !== undefined && { 'content-length': Buffer.byteLength(content) }),
  };
  const sent = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false });
  sent.end(content);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const raw = await text(response);
  const parsed: unknown =
    raw === '' ? null : JSON.parse(raw, (name, value: unknown) => VARIABLE[name] ?? value);
  return { status: response.statusCode, headers: response.headers, body: parsed };
}

describe.each(AGENTS)('$language', ({ command, isHere }) => {
  const each = isHere ? test.each(CASES) : test.skip.each(CASES);
  const servers = new TestServers();
  let services: Awaited<ReturnType<typeof startServices>>;
  let agent: ChildProcess | null = null;
  let port: number;

  beforeAll(async () => {
    if (!isHere) return;
    services = await startServices(servers);
    ({ agent, port } = await startAgent(command, services.env));
  });
  afterAll(async () => {
    agent?.kill('SIGKILL');
    await servers.close();
  });

  each('$name', async ({ request, engine, expect: wanted }) => {
    services.respondQueries(engine);
    const { status, headers, body } = await exchange(port, request);
    expect({ status, body }).toEqual({ status: wanted.status, body: wanted.body });
    for (const [name, value] of Object.entries(wanted.headers))
      expect([name, headers[name] ?? null]).toEqual([name, value]);
    await exchange(port, { method: 'POST', path: '/flush' });
    const { batches, queries } = services.take();
    const requestId = request.requestId ?? null;
    expect(batches.map((batch) => batch.requestId)).toEqual(batches.map(() => requestId));
    expect(batches.flatMap(({ events }) => events)).toEqual(wanted.events ?? []);
    expect(queries).toEqual(wanted.queries ?? []);
  });
});
