import { get, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { matrixOf } from '../../core/egress/matrix.ts';
import {
  laneManifest,
  post,
  startEgressRig,
  type EgressRig,
  type SeenRequest,
} from '../../testing/sidecar/egress-rig.ts';
import { someFacts } from '../../testing/fleet/facts.ts';
import { until } from '../../testing/time/until.ts';

/** An agent with the MCP server `files`. The manifest does not declare the server `other`. */
const manifest = laneManifest({
  mcp: { servers: [{ name: 'files', url: 'https://files.example.com/mcp' }] },
});

let rig: EgressRig;
beforeEach(async () => {
  rig = await startEgressRig({
    lanes: 'openai=vendor/v1,mcp:files=vendor/mcp,mcp:other=vendor/other',
    manifest,
  });
});
afterEach(() => rig.close());

const rpc = (method: string, params: object = {}, id: number | string = 1): object => ({
  ...{ jsonrpc: '2.0', id, method, params },
});
const result = (value: object, id: number | string = 1): object => ({ jsonrpc: '2.0', id, result: value });
const named = (...names: string[]): object[] => names.map((name) => ({ name }));

function responseWith(body: object | string, type = 'application/json'): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  rig.vendor.respond = (_seen, response) => void response.writeHead(200, { 'content-type': type }).end(text);
}

/** A client requests the list of a server, or one page of it. */
async function list(server: string, page: object, params: object = {}): Promise<void> {
  responseWith(result(page));
  await post(rig.port, `/mcp/${server}`, rpc('tools/list', params));
}

/** Whether a call of the tool reaches the server. */
async function isCalled(server: string, name: string): Promise<boolean> {
  const before = rig.vendor.requests.length;
  responseWith(result({ content: [] }));
  await post(rig.port, `/mcp/${server}`, rpc('tools/call', { name, arguments: {} }));
  return rig.vendor.requests.length > before;
}

const recorded = (calls: number): Promise<unknown> => until(() => rig.egress.log.newest().length === calls);

/** Whether a request that offers the tool reaches the model. */
async function isOffered(tool: object): Promise<boolean> {
  responseWith({ model: 'gpt-5', choices: [] });
  const request = { model: 'gpt-5', messages: [], tools: [tool] };
  return (await post(rig.port, '/openai/v1/chat/completions', request)).status === 200;
}
const own = (name: string): object => ({ type: 'function', function: { name } });

describe('a tool that a declared server lists', () => {
  beforeEach(() => list('files', { tools: named('read', 'code_interpreter') }));

  test.each(['read', 'files_read', 'files.read', 'mcp__files__read'])(
    'is offered to a model as %s',
    async (name) => {
      expect(await isOffered(own(name))).toBe(true);
    },
  );

  test('is not called on the lane of an undeclared server', async () => {
    expect([await isCalled('files', 'read'), await isCalled('other', 'read')]).toEqual([true, false]);
  });

  test.each(['other_read', 'mcp__other__read'])(
    'is not offered as %s, a tool of another server',
    async (name) => {
      expect(await isOffered(own(name))).toBe(false);
    },
  );

  test('is not the tool of the same name that the vendor runs', async () => {
    const request = (tool: object): object => ({ model: 'gpt-5', input: 'x', tools: [tool] });
    responseWith({ model: 'gpt-5', output: [] });
    const ask = async (tool: object): Promise<number> =>
      (await post(rig.port, '/openai/v1/responses', request(tool))).status;
    expect(await ask({ type: 'function', name: 'code_interpreter' })).toBe(200);
    expect(await ask({ type: 'code_interpreter', container: { type: 'auto' } })).toBe(403);
  });
});

test('a tool that an undeclared server lists or runs is allowed on no lane', async () => {
  await list('other', { tools: named('steal') });
  expect([await isCalled('other', 'steal'), await isCalled('files', 'read')]).toEqual([false, true]);
  await list('files', { tools: named('read') });
  expect([await isCalled('files', 'steal'), await isOffered(own('steal'))]).toEqual([false, false]);
});

describe('on the lane of a declared server', () => {
  test('a tool that its list does not have is denied, and the model reads why', async () => {
    await list('files', { tools: named('read') });
    const { status, headers, body } = await post(
      rig.port,
      '/mcp/files',
      rpc('tools/call', { name: 'drop_all', arguments: {} }, 'seven'),
    );
    expect([status, headers['x-platform-policy-violations']]).toEqual([200, 'tool_not_declared']);
    expect(JSON.parse(body)).toMatchObject({ id: 'seven', result: { isError: true } });
    expect(rig.vendor.requests).toHaveLength(1);
  });

  test('a name of the manifest is allowed although the list does not have it', async () => {
    await list('files', { tools: [] });
    expect([await isCalled('files', 'search'), await isCalled('files', 'read')]).toEqual([true, false]);
  });

  test('every tool is allowed until the list is known', async () => {
    expect(await isCalled('files', 'read')).toBe(true);
    responseWith({ jsonrpc: '2.0', id: 1, error: { code: -32_603, message: 'not now' } });
    await post(rig.port, '/mcp/files', rpc('tools/list'));
    expect(await isCalled('files', 'write')).toBe(true);
    await list('files', { tools: named('read') });
    expect(await isCalled('files', 'write')).toBe(false);
  });

  test('the result of a tool is not a list', async () => {
    await list('files', { tools: named('read') });
    responseWith(result({ content: [], tools: named('drop_all') }));
    await post(rig.port, '/mcp/files', rpc('tools/call', { name: 'read', arguments: {} }));
    expect([await isCalled('files', 'drop_all'), await isOffered(own('drop_all'))]).toEqual([false, false]);
  });
});

describe('a new list removes names', () => {
  const known = async (): Promise<boolean[]> => [
    await isCalled('files', 'write'),
    await isCalled('files', 'read'),
    await isOffered(own('write')),
    await isOffered(own('read')),
  ];
  const REPLACED = [false, true, false, true];
  beforeEach(() => list('files', { tools: named('read', 'write') }));

  test('if it has one page', async () => {
    await list('files', { tools: named('read') });
    expect(await known()).toEqual(REPLACED);
  });

  test('with its last page', async () => {
    await list('files', { tools: named('find'), nextCursor: 'p2' });
    expect(await known()).toEqual([true, true, true, true]);
    await list('files', { tools: named('read') }, { cursor: 'p2' });
    expect(await known()).toEqual(REPLACED);
    expect(await isCalled('files', 'find')).toBe(true);
  });

  test('in a batch', async () => {
    responseWith([result({ tools: named('read') }, 2), result({}, 1)]);
    await post(rig.port, '/mcp/files', [rpc('ping'), rpc('tools/list', {}, 2)]);
    expect(await known()).toEqual(REPLACED);
  });

  test('in an event', async () => {
    const note = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    const events = [note, result({ tools: named('read') })];
    responseWith(events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(''), 'text/event-stream');
    await post(rig.port, '/mcp/files', rpc('tools/list'));
    expect(await known()).toEqual(REPLACED);
  });

  test('on the stream of the older transport', async () => {
    let stream: ServerResponse | null = null;
    const responses: Record<string, (seen: SeenRequest, response: ServerResponse) => void> = {
      GET: (_seen, response) => {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
        stream.write('event: endpoint\ndata: /messages?sessionId=1\n\n');
      },
      POST: (_seen, response) => {
        response.writeHead(202).end();
        stream?.write(`event: message\ndata: ${JSON.stringify(result({ tools: named('read') }, 7))}\n\n`);
      },
    };
    rig.vendor.respond = (seen, response) => responses[seen.method]?.(seen, response);
    const events = get(`${rig.url}/mcp/files`);
    const listed = new Promise<void>((resolve) => {
      events.on('response', (response) => {
        response.on('error', () => undefined);
        response.once('data', () => {
          void post(rig.port, '/mcp/files/~/messages?sessionId=1', rpc('tools/list', {}, 7));
          response.once('data', () => resolve());
        });
      });
    });
    await listed;
    events.destroy();
    expect(await known()).toEqual(REPLACED);
  });

  test('and the comparison keeps them, because the calls before were allowed', async () => {
    await isOffered(own('write'));
    await isCalled('files', 'write');
    await list('files', { tools: named('read') });
    await isCalled('files', 'drop_all');
    await recorded(5);
    const { rows } = matrixOf(manifest, someFacts({ egress: rig.egress.facts() }));
    const verdictOf = (name: string): string | undefined => rows.find((row) => row.name === name)?.verdict;
    expect([verdictOf('write'), verdictOf('drop_all')]).toEqual(['match', 'undeclared']);
  });
});

test('a denied call shows neither its tool nor its server', async () => {
  const call = rpc('tools/call', { name: 'pay', arguments: { amount: 500 } });
  const { body } = await post(rig.port, '/mcp/files', call);
  expect(body).toContain('tool_arguments_invalid');
  await recorded(1);
  expect(rig.egress.facts()).toMatchObject({ mcpServers: new Map(), hosts: new Map() });
  expect([...rig.audit.seen.times.keys()]).toEqual([]);
});
