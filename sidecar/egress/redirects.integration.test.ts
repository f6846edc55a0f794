import type { RequestListener } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterEach, describe, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { laneManifest, startEgressRig, type EgressRig } from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';

/** The official clients through lanes to servers that redirect each path to the one with a slash at its end. */
let rig: EgressRig;
afterEach(() => rig.close());

function shop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  server.registerTool('buy', { description: 'Buys.' }, () => ({ content: [{ type: 'text', text: 'ok' }] }));
  server.registerTool('steal', { description: 'Steals.' }, () => ({ content: [] }));
  return server;
}

/** One transport per request, as in the examples of the SDK. */
const streamable: RequestListener = (request, response) => {
  const transport = new StreamableHTTPServerTransport({});
  void shop()
    .connect(transport as Transport)
    .then(() => transport.handleRequest(request, response));
};

function olderSse(): RequestListener {
  const open = new Map<string, SSEServerTransport>();
  return (request, response) => {
    const known = open.get(new URL(request.url ?? '', rig.vendor.url).searchParams.get('sessionId') ?? '');
    if (known !== undefined) {
      void known.handlePostMessage(request, response);
      return;
    }
    const transport = new SSEServerTransport('/messages/', response);
    open.set(transport.sessionId, transport);
    void shop().connect(transport);
  };
}

type Location = (path: string) => string;

/** `location`: how the server writes the address of a path in a redirect. */
async function start(serve: RequestListener, location: Location): Promise<void> {
  const servers = [{ name: 'shop', url: 'https://shop.example.com/mcp' }];
  rig = await startEgressRig({
    lanes: 'openai=vendor/v1,mcp:shop=vendor/mcp',
    manifest: laneManifest({ mcp: { servers } }),
  });
  rig.vendor.server.removeAllListeners('request').on('request', (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split(/(?=\?)/);
    if (path.endsWith('/')) serve(request, response);
    else response.writeHead(307, { location: location(`${path}/${query}`) }).end();
  });
}

const LOCATIONS: readonly [string, Location][] = [
  ['an absolute address', (path) => rig.vendor.url + path],
  ['an address with http:', (path) => rig.vendor.url.replace('https:', 'http:') + path],
  ['a path', (path) => path],
  ['an address without protocol', (path) => `//${new URL(rig.vendor.url).host}${path}`],
];

describe.each(LOCATIONS)('a server that redirects with %s', (_name, location) => {
  test.each<[string, () => RequestListener, (url: URL) => Transport]>([
    ['streamable HTTP', () => streamable, (url) => new StreamableHTTPClientTransport(url)],
    ['HTTP+SSE', olderSse, (url) => new SSEClientTransport(url)],
  ])('serves the MCP client over %s through the lane', async (_transport, serve, transportTo) => {
    await start(serve(), location);
    const client = new Client({ name: 'a-test', version: '1.0.0' });
    await client.connect(transportTo(new URL('/mcp/shop', rig.url)));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['buy', 'steal']);
    expect(await client.callTool({ name: 'buy', arguments: {} })).toMatchObject({
      content: [{ type: 'text', text: 'ok' }],
    });
    await client.close();
    const ran = (): boolean => rig.egress.log.newest().some((call) => call.toolsExecuted.includes('buy'));
    await until(ran, 'the executed tool in the log');
    const { toolsCalled } = rig.egress.log.facts().mcpServers.get('shop')!;
    expect([...toolsCalled]).toEqual([['buy', 1]]);
  });
});

test('a vendor that redirects serves the client of OpenAI through the lane', async () => {
  await start(
    (_request, response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          JSON.stringify({ model: 'gpt-5', choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } }),
        ),
    (path) => rig.vendor.url + path,
  );
  const client = new OpenAI({ apiKey: 'sk-secret', baseURL: `${rig.url}/openai/v1` });
  await client.chat.completions.create({ model: 'gpt-5', messages: [{ role: 'user', content: 'hi' }] });
  await until(() => rig.egress.log.newest().length === 2, 'the calls in the log');
  expect(rig.egress.log.newest()).toMatchObject([
    { statusCode: 307, usage: null },
    { statusCode: 200, model: 'gpt-5', usage: { promptTokens: 3, completionTokens: 1 } },
  ]);
  expect(rig.egress.reservations.total.tokens).toBe(0);
});
