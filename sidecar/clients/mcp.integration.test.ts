import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import {
  BREAKS,
  DENIAL,
  inEachSetting,
  KEEPS,
  type ServedRig,
  type Setting,
} from '../../testing/client-rig.ts';
import { until } from '../../testing/proxy-rig.ts';

/** The progress that the client has heard of. */
let heard: number[];

/** An MCP server with one tool. To a client that wants to know it tells each step, and waits until that was heard. */
function createMcpServer(): McpServer {
  const server = new McpServer({ name: 'orders', version: '1.0.0' }, { capabilities: { logging: {} } });
  server.registerTool(
    'count_to',
    { description: 'Counts', inputSchema: { n: z.number() } },
    async ({ n }, { sendNotification, _meta }) => {
      const { progressToken } = _meta ?? {};
      for (let progress = 1; progressToken !== undefined && progress <= n; progress += 1) {
        await sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress, total: n },
        });
        await until(() => heard.at(-1) === progress, `step ${progress} at the client`);
      }
      return { content: [{ type: 'text', text: `counted to ${n} – “done”` }] };
    },
  );
  return server;
}

/** The SDK's server behind the sidecar, over one of its transports. */
interface Served {
  servers: McpServer[];
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

function serveStreamable(): Served {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const servers: McpServer[] = [];
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    const server = createMcpServer();
    servers.push(server);
    await server.connect(transport);
    return transport;
  };
  return {
    servers,
    answer: async (request, response) => {
      const known = sessions.get(String(request.headers['mcp-session-id']));
      await (known ?? (await open())).handleRequest(request, response);
    },
  };
}

function serveSse(): Served {
  const sessions = new Map<string, SSEServerTransport>();
  const servers: McpServer[] = [];
  return {
    servers,
    answer: async (request, response) => {
      if (request.method === 'GET') {
        const transport = new SSEServerTransport('/messages', response);
        sessions.set(transport.sessionId, transport);
        const server = createMcpServer();
        servers.push(server);
        await server.connect(transport);
        return;
      }
      const id = new URL(request.url ?? '', 'http://agent').searchParams.get('sessionId') ?? '';
      await sessions.get(id)?.handlePostMessage(request, response);
    },
  };
}

const TRANSPORTS = {
  'streamable HTTP': {
    serve: serveStreamable,
    connect: (url: string) => new StreamableHTTPClientTransport(new URL('/mcp', url)) as Transport,
  },
  SSE: {
    serve: serveSse,
    // The old transport is what older servers still speak.
    connect: (url: string) => new SSEClientTransport(new URL('/sse', url)) as Transport,
  },
};

for (const name of Object.keys(TRANSPORTS) as (keyof typeof TRANSPORTS)[])
  inEachSetting(`the MCP client over ${name}`, (setting) => suite(name, setting));

function suite(name: keyof typeof TRANSPORTS, { mode, serve }: Setting): void {
  let served: Served;
  let rig: ServedRig;
  let client: Client;
  /** Streams of what the server says unasked, as the agent has them open. */
  let streams: Set<ServerResponse>;

  const play = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method === 'GET') {
      streams.add(response);
      response.on('close', () => streams.delete(response));
    }
    void served.answer(request, response);
  };

  beforeEach(async () => {
    heard = [];
    streams = new Set();
    served = TRANSPORTS[name].serve();
    rig = await serve(play);
    client = new Client({ name: 'a-client', version: '1.0.0' });
    await client.connect(TRANSPORTS[name].connect(rig.url));
  });
  afterEach(async () => {
    await client.close();
    await rig.close();
  });

  test('shakes hands and lists the tools', async () => {
    expect(client.getServerVersion()).toEqual({ name: 'orders', version: '1.0.0' });
    const { tools } = await client.listTools();
    expect(tools.map((tool) => [tool.name, tool.description])).toEqual([['count_to', 'Counts']]);
  });

  test('calls a tool and hears of each step of it before the next one', async () => {
    const result = await client.callTool({ name: 'count_to', arguments: { n: 5 } }, undefined, {
      onprogress: ({ progress }) => heard.push(progress),
    });
    expect(result.content).toEqual([{ type: 'text', text: 'counted to 5 – “done”' }]);
    expect(heard).toEqual([1, 2, 3, 4, 5]);
  });

  test('hears what the server says unasked', async () => {
    const said: unknown[] = [];
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void said.push(params.data),
    );
    // The stream for it opens by itself, after the handshake.
    await until(() => [...streams].some(({ headersSent }) => headersSent), 'the stream');
    await served.servers[0]?.sendLoggingMessage({ level: 'info', data: 'look' });
    await until(() => said.length > 0, 'the notification');
    expect(said).toEqual(['look']);
  });

  test('that leaves ends its stream at the agent', async () => {
    await until(() => streams.size === 1, 'the stream');
    await client.close();
    await until(() => streams.size === 0, 'the end of the stream');
  });

  test('calls twenty tools at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) => client.callTool({ name: 'count_to', arguments: { n } })),
    );
    expect(results.map(({ content }) => content)).toEqual(
      Array.from({ length: 20 }, (_, n) => [{ type: 'text', text: `counted to ${n} – “done”` }]),
    );
  });

  test('is told in this mode’s way that the call of a tool is denied, and goes on after it', async () => {
    const call = (n: number) => client.callTool({ name: 'count_to', arguments: { n } });
    const counted = (n: number) => ({ content: [{ type: 'text', text: `counted to ${n} – “done”` }] });
    // Two requests shook hands. Over SSE a result may be there before its own request is answered.
    expect(await call(1)).toMatchObject(counted(1));
    await rig.completed(3);
    rig.reports = BREAKS;
    if (mode === 'enforce' && name === 'SSE')
      // What the tool gave travels on a stream that was judged when it began: enforce cannot stop it, and may tell too.
      await call(2).catch((error: unknown) => expect(String(error)).toContain('PolicyViolation'));
    else if (mode === 'enforce') await expect(call(2)).rejects.toThrow(/PolicyViolation/);
    else expect(await call(2)).toMatchObject(counted(2));
    await rig.completed(4);
    rig.reports = KEEPS;
    expect(await call(3)).toMatchObject(counted(3));
    const posts = (await rig.completed(5)).filter(({ method }) => method === 'POST').slice(-3);
    expect(posts.map(({ outcome, blocked }) => [outcome, blocked])).toEqual([
      ['allow', undefined],
      ['deny', mode === 'enforce' ? true : undefined],
      ['allow', undefined],
    ]);
    expect(posts[1]?.policyViolations).toEqual([DENIAL]);
  });
}
