import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { PolicyMode } from '../../core/shapes/values.ts';
import {
  laneManifest,
  startEgressRig,
  type EgressRig,
  type EgressRigOptions,
} from '../../testing/sidecar/egress-rig.ts';
import { until } from '../../testing/time/until.ts';

let rig: EgressRig;
afterEach(() => rig.close());

const start = async (options: EgressRigOptions = {}): Promise<EgressRig> =>
  (rig = await startEgressRig({
    lanes: 'openai=vendor/v1,mcp:files=vendor/mcp',
    manifest: laneManifest({
      mcp: {
        servers: [{ name: 'files', url: 'https://files.example.com/mcp' }],
      },
    }),
    ...options,
  }));

interface Call {
  response: IncomingMessage;
  vendor: ServerResponse;
  /** Waits until the agent has received this text after the texts before. */
  receives: (text: string) => Promise<void>;
}

/** A call whose response the test sends part by part. */
function call(
  path: string,
  sent: {
    method?: string;
    body?: object;
    head: Record<string, string>;
    first: string;
  },
): Promise<Call> {
  const { method = 'POST', body, head, first } = sent;
  return new Promise((resolve, reject) => {
    let vendor: ServerResponse | null = null;
    rig.vendor.respond = (_seen, response) => {
      vendor = response.writeHead(200, head);
      vendor.write(first);
    };
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const options = { host: '127.0.0.1', port: rig.port, path, method, headers, agent: false } as const;
    const request = httpRequest(options, (response) => {
      let received = '';
      response.on('data', (chunk: Buffer) => (received += chunk.toString())).on('error', () => undefined);
      const receives = async (text: string): Promise<void> => {
        await until(() => received.length >= text.length);
        expect(received.slice(0, text.length)).toBe(text);
        received = received.slice(text.length);
      };
      if (vendor !== null) resolve({ response, vendor, receives });
    });
    request.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const listed = (name: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [{ name }] } });
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const JSON_HEAD = { 'content-type': 'application/json' };
const SSE_HEAD = { 'content-type': 'text/event-stream' };
const halves = (text: string): [string, string] => [text.slice(0, 20), text.slice(20)];
const toolsOffered = async (): Promise<readonly string[] | undefined> => {
  await until(() => rig.egress.log.newest().length === 1);
  return rig.egress.log.newest()[0]?.toolsOffered;
};

describe('a response of an MCP server passes as it arrives, and is read:', () => {
  test('JSON, with its own head', async () => {
    await start();
    const [first, rest] = halves(listed('read'));
    const head = { ...JSON_HEAD, 'content-length': String(first.length + rest.length), etag: '"1"' };
    const { response, vendor, receives } = await call('/mcp/files', { body: LIST, head, first });
    expect(response.headers).toMatchObject(head);
    await receives(first);
    vendor.end(rest);
    await receives(rest);
    expect(await toolsOffered()).toEqual(['read']);
  });

  test('a JSON message per line, without an end', async () => {
    await start();
    const first = '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}\n';
    const body = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen' };
    const { vendor, receives } = await call('/mcp/files', { body, head: JSON_HEAD, first });
    await receives(first);
    vendor.write(first);
    await receives(first);
    vendor.end();
    expect(await toolsOffered()).toEqual([]);
  });

  test('a part of an event', async () => {
    await start();
    const [first, rest] = halves(`: x\r\nid: 7\r\nretry: 500\r\ndata: ${listed('read')}\r\n\r\n`);
    const { vendor, receives } = await call('/mcp/files', { body: LIST, head: SSE_HEAD, first });
    await receives(first);
    vendor.write(rest);
    await receives(rest);
    await until(() => rig.egress.policy.undeclaredIn(['read'], []).length === 0);
    vendor.end(first);
    await receives(first);
    expect(await toolsOffered()).toEqual(['read']);
  });

  test('a part of an event on the stream of a GET, after the first event', async () => {
    await start();
    const first = ': ping\n\nid: 1\nretry: 500\ndata: \n\nid: 2\nda';
    const { vendor, receives } = await call('/mcp/files', { method: 'GET', head: SSE_HEAD, first });
    await receives(first);
    const rest = `ta: ${listed('read')}\n\nevent: endpoint\ndata: /m\n\n`;
    vendor.write(rest);
    await receives(rest);
    vendor.end('data: x');
    await receives('data: x');
    expect(await toolsOffered()).toEqual(['read']);
  });

  test('JSON that is too large to be read, without its memory', async () => {
    const memoryBytes = 16 * 1024 * 1024;
    await start({ memoryBytes });
    const first = `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"_meta":{"x":[`;
    const { vendor, receives } = await call('/mcp/files', { body: LIST, head: JSON_HEAD, first });
    await receives(first);
    const rest = `${'1,'.repeat(rig.load.maxEgressBody / 2)}1]}}}`;
    vendor.write(rest);
    await receives(rest);
    expect(rig.egress.log.counts.get('mcp:files')?.unread.size).toBe(1);
    // All memory of the lanes, except for the body of the request.
    expect(rig.load.keepForEgress(memoryBytes / 16 - JSON.stringify(LIST).length)).toBe(true);
    vendor.end();
  });

  test('a response that breaks off', async () => {
    await start();
    const [first] = halves(listed('read'));
    const { response, vendor, receives } = await call('/mcp/files', { body: LIST, head: JSON_HEAD, first });
    await receives(first);
    vendor.destroy();
    await until(() => response.errored !== null);
    expect(await toolsOffered()).toEqual([]);
  });
});

test('the first event of the older transport is changed, and its events pass as a whole', async () => {
  await start();
  const first = 'retry: 500\n\nevent: endpoint\ndata: /m\n\ndata: {';
  const { vendor, receives } = await call('/mcp/files', { method: 'GET', head: SSE_HEAD, first });
  await receives('retry: 500\n\nevent: endpoint\ndata: /mcp/files/~/m\n\n');
  vendor.end('}\n\n');
  await receives('data: {}\n\n');
});

test('on a lane that fails closed, no event passes before it is read, also after the first one', async () => {
  await start({ memoryBytes: 16 * 1024 * 1024, failModes: { all: 'closed', lanes: new Map() } });
  const first = 'id: 1\ndata: \n\n';
  const { response, vendor, receives } = await call('/mcp/files', { method: 'GET', head: SSE_HEAD, first });
  await receives(first);
  let later = '';
  response.on('data', (chunk: Buffer) => (later += chunk.toString()));
  vendor.write(`data: [${'1,'.repeat(rig.load.maxEgressBody / 2)}`);
  await until(() => response.errored !== null);
  expect(later).toBe('');
});

describe('a response of a model that is never changed passes as it arrives, and is read:', () => {
  const usage = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 };
  test.each<[string, string, PolicyMode, object]>([
    ['embeddings', '/openai/v1/embeddings', 'track', { data: [], model: 'gpt-5', usage }],
    ['chat, in the mode off', '/openai/v1/chat/completions', 'off', { choices: [], model: 'gpt-5', usage }],
  ])('%s', async (_what, path, mode, response) => {
    await start({ mode });
    const [first, rest] = halves(JSON.stringify(response));
    await passes(path, { head: JSON_HEAD, first, rest });
  });

  test('a stream in the mode track, without usage that the lane requested', async () => {
    await start({ mode: 'track' });
    const [first, rest] = halves(`data: ${JSON.stringify({ choices: [], model: 'gpt-5', usage })}\n\n`);
    await passes('/openai/v1/chat/completions', { head: SSE_HEAD, first, rest });
  });

  async function passes(
    path: string,
    { head, first, rest }: { head: Record<string, string>; first: string; rest: string },
  ): Promise<void> {
    const body = { model: 'gpt-5', input: 'x', messages: [] };
    const { vendor, receives } = await call(path, { body, head, first });
    await receives(first);
    vendor.end(rest);
    await receives(rest);
    await until(() => rig.egress.log.newest().length === 1);
    expect(rig.egress.log.newest()[0]?.usage).toMatchObject({ promptTokens: 8 });
  }
});
