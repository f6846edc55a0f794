// TRANSPORT: sse for the older HTTP+SSE transport. MAJOR: 2 for the package @modelcontextprotocol/client.
import { call } from './common.mjs';

const PARTS = {
  1: async () => ({
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    ...(await import('@modelcontextprotocol/sdk/client/sse.js')),
  }),
  2: () => import('@modelcontextprotocol/client'),
};
const { MAJOR = '1', TRANSPORT, SHOP_MCP_URL } = process.env;
const { Client, StreamableHTTPClientTransport, SSEClientTransport } = await PARTS[MAJOR]();

async function session(use) {
  const client = new Client({ name: 'client', version: '1.0.0' });
  const Transport = TRANSPORT === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  await client.connect(new Transport(new URL(SHOP_MCP_URL)));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

await call({
  list: () => session(async (client) => (await client.listTools()).tools.map(({ name }) => name)),
  tool: () => session((client) => client.callTool({ name: 'multiply', arguments: { a: 6, b: 7 } })),
  forbidden: () =>
    session((client) => client.callTool({ name: 'delete_order', arguments: { order: 'A-1' } })),
  // The session goes on after a denial.
  both: () =>
    session(async (client) => [
      await client.callTool({ name: 'delete_order', arguments: { order: 'A-1' } }),
      await client.callTool({ name: 'multiply', arguments: { a: 6, b: 7 } }),
    ]),
});
