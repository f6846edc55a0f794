import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { respondOAuth, PROTECTED_PATH } from './mcp-oauth.ts';

/** An MCP server of the official SDK with the tools `multiply` and `delete_order`, over both transports. */
export interface McpShop {
  /** `/mcp`: streamable HTTP with sessions. `/protected`: the same with OAuth. `/sse`: the older HTTP+SSE transport. */
  url: string;
  /** Names of the tools that ran since the last `clear`. */
  ran: string[];
  clear(): void;
  close(): Promise<void>;
}

export async function startMcpShop(): Promise<McpShop> {
  const sessions = new Map<string, StreamableHTTPServerTransport | SSEServerTransport>();
  const listener: RequestListener = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://shop');
    const known = sessions.get(String(request.headers['mcp-session-id'] ?? searchParams.get('sessionId')));
    if (respondOAuth(request, response, { pathname, url: shop.url })) return;
    if (pathname === '/sse' && request.method === 'GET') {
      // The announced endpoint is an absolute path, as servers of this transport have it.
      const transport = new SSEServerTransport('/messages', response);
      sessions.set(transport.sessionId, transport);
      void newServer().connect(transport);
    } else if (pathname === '/messages' && known instanceof SSEServerTransport)
      void known.handlePostMessage(request, response);
    else if ((pathname === '/mcp' || pathname === PROTECTED_PATH) && !(known instanceof SSEServerTransport))
      void (known === undefined ? opened() : Promise.resolve(known)).then((transport) =>
        transport.handleRequest(request, response),
      );
    else response.writeHead(404).end();
  };
  const opened = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id: string) => void sessions.set(id, transport),
    });
    await newServer().connect(transport);
    return transport;
  };
  const newServer = (): McpServer => {
    const server = new McpServer({ name: 'shop', version: '1.0.0' });
    const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
    server.registerTool('multiply', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => {
      shop.ran.push('multiply');
      return text(String(a * b));
    });
    server.registerTool('delete_order', { inputSchema: { order: z.string() } }, ({ order }) => {
      shop.ran.push('delete_order');
      return text(`${order} is deleted`);
    });
    return server;
  };
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const shop: McpShop = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ran: [],
    clear: () => (shop.ran = []),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return shop;
}
