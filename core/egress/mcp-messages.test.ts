import { describe, expect, test } from '@jest/globals';
import { mcpDenial, readMcpResponses, readMcpRequest, type McpRequest } from './mcp-messages.ts';
import { mcpUpstreamPath } from './lane-addresses.ts';

const call = (id: number | string | undefined, name: unknown, args: unknown = { path: '/a' }) => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  method: 'tools/call',
  params: { name, arguments: args },
});
const LIST = { jsonrpc: '2.0', id: 'l', method: 'tools/list' };

function read(body: unknown): McpRequest {
  const request = readMcpRequest(body);
  if (request === null) throw new Error('not JSON-RPC');
  return request;
}

describe('requests', () => {
  test.each<[string, unknown, McpRequest]>([
    [
      'a tool call',
      call(1, 'read_file'),
      {
        isBatch: false,
        requests: [{ id: 1, method: 'tools/call' }],
        toolCalls: [{ id: 1, name: 'read_file', arguments: { path: '/a' } }],
      },
    ],
    [
      'another request',
      LIST,
      { isBatch: false, requests: [{ id: 'l', method: 'tools/list' }], toolCalls: [] },
    ],
    [
      'the next page of a list',
      { ...LIST, params: { cursor: 'p2' } },
      { isBatch: false, requests: [{ id: 'l', method: 'tools/list', cursor: 'p2' }], toolCalls: [] },
    ],
    [
      'a batch',
      [LIST, call(2, 'read_file', undefined)],
      {
        isBatch: true,
        requests: [
          { id: 'l', method: 'tools/list' },
          { id: 2, method: 'tools/call' },
        ],
        toolCalls: [{ id: 2, name: 'read_file', arguments: { path: '/a' } }],
      },
    ],
    [
      'a call as a notification',
      call(undefined, 'read_file'),
      {
        isBatch: false,
        requests: [],
        toolCalls: [{ id: null, name: 'read_file', arguments: { path: '/a' } }],
      },
    ],
    [
      'a response of the client',
      { jsonrpc: '2.0', id: 3, result: {} },
      { isBatch: false, requests: [], toolCalls: [] },
    ],
    [
      'a call without a name',
      call(4, 5),
      { isBatch: false, requests: [{ id: 4, method: 'tools/call' }], toolCalls: [] },
    ],
  ])('%s', (_, body, expected) => {
    expect(readMcpRequest(body)).toEqual(expected);
  });

  test.each([
    ['no object', 'text'],
    ['an empty batch', []],
    ['a batch without a message', [1, 'text', null]],
  ])('%s passes unread', (_, body) => {
    expect(readMcpRequest(body)).toBeNull();
  });

  test.each([
    ['of 101 messages', Array.from({ length: 101 }, () => call(1, 'delete_all')), 101],
    ['with something else', [1, call(1, 'delete_all'), null], 1],
    ['of another version', { ...call(1, 'delete_all'), jsonrpc: '1.0' }, 1],
  ])('the calls of a body %s are read, because a server may run them', (_, body, count) => {
    const { toolCalls, requests } = read(body);
    expect(toolCalls).toHaveLength(count);
    expect(requests.length).toBeLessThanOrEqual(100);
  });

  test('a long name is not cut, so that it does not equal a declared name', () => {
    const name = 'a'.repeat(10_000);
    expect(read(call(1, name)).toolCalls[0]?.name).toBe(name);
  });

  test('members of the prototype are not read', () => {
    const body: unknown = JSON.parse('{"jsonrpc":"2.0","__proto__":{"method":"tools/call","id":1}}');
    expect(readMcpRequest(body)).toEqual({ isBatch: false, requests: [], toolCalls: [] });
  });
});

test.each([
  [
    'a list of tools',
    { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'read_file' }, {}, { name: 'delete_file' }] } },
    [{ kind: 'tools', id: 1, names: ['read_file', 'delete_file'] }],
  ],
  [
    'a page of a list',
    { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'a' }], nextCursor: 'p2' } },
    [{ kind: 'tools', id: 1, names: ['a'], next: 'p2' }],
  ],
  [
    'a last page with an empty cursor',
    { jsonrpc: '2.0', id: 1, result: { tools: [], nextCursor: '' } },
    [{ kind: 'tools', id: 1, names: [] }],
  ],
  [
    'a list with a name that would have to be cut',
    { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'a'.repeat(201) }, { name: 'b'.repeat(200) }] } },
    [{ kind: 'tools', id: 1, names: ['b'.repeat(200)] }],
  ],
  [
    'a tool result',
    { jsonrpc: '2.0', id: 2, result: { content: [] } },
    [{ kind: 'result', id: 2, isError: false }],
  ],
  [
    'a failed tool',
    { jsonrpc: '2.0', id: 2, result: { content: [], isError: true } },
    [{ kind: 'result', id: 2, isError: true }],
  ],
  [
    'a JSON-RPC error',
    { jsonrpc: '2.0', id: 2, error: { code: -32_602, message: 'unknown tool' } },
    [{ kind: 'result', id: 2, isError: true }],
  ],
  ['a request of the server', { jsonrpc: '2.0', id: 3, method: 'sampling/createMessage' }, []],
  ['a notification', { jsonrpc: '2.0', method: 'notifications/progress' }, []],
  ['something else', 'text', []],
])('the response %s', (_, body, expected) => {
  expect(readMcpResponses(body)).toEqual(expected);
});

describe('a denial', () => {
  const because = { message: 'delete_file is not declared', violations: ['tool_not_declared'] };

  test('as a result is read by the model', () => {
    expect(mcpDenial(read(call(7, 'delete_file')), because)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: { content: [{ type: 'text', text: because.message }], isError: true },
    });
  });

  test('of a batch has a response for each request', () => {
    expect(mcpDenial(read([LIST, call(2, 'delete_file')]), because)).toMatchObject([
      {
        ...{ jsonrpc: '2.0', id: 'l' },
        error: {
          ...{ code: -32_001, message: because.message },
          data: { violations: because.violations, blocked: true },
        },
      },
      { id: 2, result: { isError: true } },
    ]);
  });

  test('of a notification has no body', () => {
    expect(mcpDenial(read(call(undefined, 'delete_file')), because)).toBeNull();
  });
});

describe('paths', () => {
  const upstream = new URL('https://tools.example.com/base/sse?key=1');

  test.each([
    ['', '/base/sse?key=1'],
    ['?key=2', '/base/sse?key=2'],
    ['/sub?x=1', '/base/sse/sub?x=1'],
    ['/~/messages?session=1', '/messages?session=1'],
  ])('%j below the lane is %s at the upstream', (rest, expected) => {
    expect(mcpUpstreamPath(upstream, rest)).toBe(expected);
  });
});
