import { get, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import {
  laneManifest,
  post,
  startEgressRig,
  type EgressRig,
  type TlsVendor,
} from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';

const CHAT = '/openai/v1/chat/completions';

let rig: EgressRig;
afterEach(() => rig.close());

/** An agent with the MCP server `files`, and lanes to it and to its model. */
async function start(path = '/mcp'): Promise<void> {
  rig = await startEgressRig({
    lanes: `openai=vendor/v1,mcp:files=vendor${path},mcp:other=vendor/mcp`,
    manifest: laneManifest({
      mcp: {
        servers: [{ name: 'files', url: 'https://files.example.com/mcp' }],
      },
    }),
  });
}

const message = (method: string, id: number, params: object = {}): object => ({
  ...{ jsonrpc: '2.0', id, method, params },
});
const toolCall = (name: string, id = 1): object => message('tools/call', id, { name, arguments: {} });
const result = (id: number, value: object): object => ({
  jsonrpc: '2.0',
  id,
  result: value,
});
const json =
  (body: object): TlsVendor['respond'] =>
  (_seen, response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** The status of a request to the model that offers a tool. */
async function offering(name: string): Promise<number> {
  rig.vendor.respond = json({ model: 'gpt-5', choices: [] });
  const tools = [{ type: 'function', function: { name } }];
  return (await post(rig.port, CHAT, { model: 'gpt-5', messages: [], tools })).status;
}

test.each(['9007199254740993', '123456789012345678901234567890', '1e400', '"9007199254740993"'])(
  'a denial has the id %s of the request',
  async (id) => {
    await start();
    const call = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"delete_all","arguments":{}}}`;
    const { body } = await post(rig.port, '/mcp/other', call);
    expect(body).toContain(`"id":${id},`);
    const batch = await post(rig.port, '/mcp/other', `[${call}]`);
    expect(batch.body).toContain(`"id":${id},`);
    expect(rig.vendor.requests).toHaveLength(0);
  },
);

describe('a sidecar that has not seen the list of a declared server', () => {
  test.each([
    ['counts a tool that the server ran as its tool', 'files', {}, 200],
    ['does not count a tool that failed', 'files', { isError: true }, 403],
    ['does not count a tool of an undeclared server', 'other', {}, 403],
  ])('%s', async (_what, server, value, status) => {
    await start();
    expect(await offering('read')).toBe(403);
    rig.vendor.respond = json(result(1, value));
    await post(rig.port, `/mcp/${server}`, toolCall('read'));
    expect(await offering('read')).toBe(status);
    expect(await offering('write')).toBe(403);
  });

  test('uses the list as soon as the server sends it', async () => {
    await start();
    rig.vendor.respond = json(result(1, {}));
    await post(rig.port, '/mcp/files', toolCall('read'));
    rig.vendor.respond = json(result(2, { tools: [{ name: 'write' }] }));
    await post(rig.port, '/mcp/files', message('tools/list', 2));
    expect([await offering('read'), await offering('write')]).toEqual([403, 200]);
    rig.vendor.respond = json(result(3, {}));
    await post(rig.port, '/mcp/files', toolCall('read', 3));
    expect(await offering('read')).toBe(403);
  });
});

describe('a call over the older transport', () => {
  /** The server responds to each message on the open stream with `value`. */
  async function startOlder(value: object): Promise<{ send: (body: object) => Promise<number> }> {
    await start('/sse');
    let stream: ServerResponse | null = null;
    rig.vendor.respond = (seen, response) => {
      if (seen.method === 'GET') {
        stream = response.writeHead(200, {
          'content-type': 'text/event-stream',
        });
        stream.write('event: endpoint\ndata: /messages?sessionId=1\n\n');
        return;
      }
      response.writeHead(202).end();
      const { id } = JSON.parse(seen.body) as { id: number };
      stream?.write(`event: message\ndata: ${JSON.stringify(result(id, value))}\n\n`);
    };
    const endpoint = await new Promise<string>((resolve) => {
      get(`${rig.url}/mcp/files`, (response) => {
        response.on('error', () => undefined);
        response.once('data', (chunk: Buffer) => resolve(/data: (.*)/.exec(chunk.toString())?.[1] ?? ''));
      });
    });
    expect(endpoint).toBe('/mcp/files/~/messages?sessionId=1');
    return {
      send: async (body) => (await post(rig.port, endpoint, body)).status,
    };
  }

  const logged = (): EgressCall | undefined =>
    rig.egress.log.newest().find(({ method }) => method === 'POST');

  test('is recorded with the tool that ran, when the result arrives on the stream', async () => {
    const { send } = await startOlder({ content: [] });
    expect(await send(toolCall('read', 7))).toBe(202);
    await until(() => logged()?.toolsExecuted.length === 1);
    expect(logged()).toMatchObject({
      toolsCalled: ['read'],
      toolsExecuted: ['read'],
      statusCode: 202,
    });
  });

  test('is recorded without it if the tool failed', async () => {
    const { send } = await startOlder({ isError: true });
    await send(toolCall('read', 7));
    await send(message('ping', 8));
    await until(() => rig.egress.log.newest().length === 2);
    expect(logged()).toMatchObject({
      toolsCalled: ['read'],
      toolsExecuted: [],
    });
  });
});
