import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { call } from './common.mjs';

async function names(options) {
  const client = new Client({ name: 'client', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(process.env.SHOP_MCP_URL), options));
  try {
    return (await client.listTools()).tools.map(({ name }) => name);
  } finally {
    await client.close();
  }
}

await call({
  oauth: () =>
    names({ authProvider: new ClientCredentialsProvider({ clientId: 'agent', clientSecret: 'secret' }) }),
  token: () => names({ requestInit: { headers: { authorization: `Bearer ${process.env.TOKEN}` } } }),
});
