import { cut, isRecord, own } from '../untrusted/fields.ts';
import { foldedName } from './folded-name.ts';
import { present } from '../untrusted/present.ts';
import { isExactNumber, type ExactNumber } from './wires/exact-json.ts';

/** Id of a JSON-RPC request. */
export type RpcId = string | number;

/** A `tools/call` request of an MCP client. */
export interface McpToolCall {
  /** null: a notification, which gets no response. */
  id: RpcId | null;
  name: string;
  /** undefined: the request has none. */
  arguments: unknown;
}

/** The JSON-RPC messages of one POST of an MCP client. */
export interface McpRequest {
  /** The first requests, in their order: a denial responds to these. `cursor`: of a list; absent: its first page is requested. */
  requests: readonly { id: RpcId | ExactNumber; method: string; cursor?: string }[];
  toolCalls: readonly McpToolCall[];
  /** The body is a list of messages, which protocol version 2025-03-26 allows. */
  isBatch: boolean;
}

/** What one message of an MCP server contains. */
export type McpResponse =
  /** A page of the list of tools. `next`: the cursor of the next page; absent: the list ends. */
  | { kind: 'tools'; id: RpcId; names: readonly string[]; next?: string }
  /** `isError`: the tool failed, or the server rejected the call. */
  | { kind: 'result'; id: RpcId; isError: boolean };

/** Code of the JSON-RPC error of another request in a batch with a denied call. */
const DENIED = -32_001;
/** Code of JSON-RPC. */
const PARSE_ERROR = -32_700;
/** Messages of a server's batch that are read, and requests of a batch that get a response. */
const MAX_MESSAGES = 100;
/** Tools of one server whose names are known. */
export const MAX_TOOLS = 2_000;
/** UTF-16 units. */
export const MAX_NAME = 200;
const MAX_CURSOR = 2_000;

/**
 * Reads the body of a POST. null: it has no message, so it passes unread. A server may run the calls of a body with other or
 * invalid entries, of any length, and without `jsonrpc`, so they are read too. For a denial, pass the body that `exactJson` returns:
 * an id of a client can be larger than the numbers of JavaScript.
 */
export function readMcpRequest(body: unknown): McpRequest | null {
  const isBatch = Array.isArray(body);
  const messages = (isBatch ? (body as unknown[]) : [body]).filter(isRecord);
  if (messages.length === 0) return null;
  return {
    isBatch,
    requests: messages.slice(0, MAX_MESSAGES).flatMap((message) => {
      const [known, method] = [own(message, 'id'), own(message, 'method')];
      const id = isExactNumber(known) ? known : idOf(message);
      if (id === null || typeof method !== 'string') return [];
      const cursor = cursorOf(own(message, 'params'), 'cursor');
      return [{ id, method: cut(method, MAX_NAME), ...present({ cursor }) }];
    }),
    toolCalls: messages.flatMap(toolCallOf),
  };
}

/** Members of messages, and of the parameters of `tools/call`. */
const MESSAGE: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const PARAMS: ReadonlySet<string> = new Set(['name', 'arguments']);

/** Whether a message has a name of JSON-RPC in another spelling, which only some servers read: it could hide the method or the tool. */
export function hasOtherSpelling(body: unknown): boolean {
  const messages = (Array.isArray(body) ? (body as unknown[]) : [body]).filter(isRecord);
  return messages.some((message) => {
    const params = own(message, 'params');
    const isCall = own(message, 'method') === 'tools/call' && isRecord(params);
    return isRespelled(message, MESSAGE) || (isCall && isRespelled(params, PARAMS));
  });
}

const isRespelled = (record: Record<string, unknown>, names: ReadonlySet<string>): boolean =>
  Object.keys(record).some((key) => !names.has(key) && names.has(foldedName(key)));

function toolCallOf(message: Record<string, unknown>): McpToolCall[] {
  if (own(message, 'method') !== 'tools/call') return [];
  const params = own(message, 'params');
  const name = isRecord(params) ? own(params, 'name') : undefined;
  // The name is compared with declared names, so it is not cut here: a cut name could equal a declared one.
  if (!isRecord(params) || typeof name !== 'string') return [];
  return [{ id: idOf(message), name, arguments: own(params, 'arguments') }];
}

/** Reads one message of a server, or the messages of a batch. Requests and notifications of the server are not listed. */
export function readMcpResponses(body: unknown): McpResponse[] {
  const messages: unknown[] = Array.isArray(body) ? body.slice(0, MAX_MESSAGES) : [body];
  return messages.filter(isRecord).flatMap((message): McpResponse[] => {
    const id = own(message, 'jsonrpc') === '2.0' ? idOf(message) : null;
    if (id === null || Object.hasOwn(message, 'method')) return [];
    if (isRecord(own(message, 'error'))) return [{ kind: 'result', id, isError: true }];
    const result = own(message, 'result');
    if (!isRecord(result)) return [];
    const tools = own(result, 'tools');
    const next = cursorOf(result, 'nextCursor');
    if (Array.isArray(tools)) return [{ kind: 'tools', id, names: namesIn(tools), ...present({ next }) }];
    return [{ kind: 'result', id, isError: own(result, 'isError') === true }];
  });
}

function namesIn(tools: readonly unknown[]): string[] {
  return tools.slice(0, MAX_TOOLS).flatMap((tool) => {
    const name = isRecord(tool) ? own(tool, 'name') : undefined;
    // A longer name is not cut, because it could equal the name of another tool.
    return typeof name === 'string' && name.length <= MAX_NAME ? [name] : [];
  });
}

/** Clients take an empty cursor for none. */
function cursorOf(from: unknown, name: 'cursor' | 'nextCursor'): string | null {
  const cursor = isRecord(from) ? own(from, name) : null;
  return typeof cursor === 'string' && cursor !== '' ? cut(cursor, MAX_CURSOR) : null;
}

/**
 * The response to a POST with a denied call, which gets a tool result with `isError`, because the model reads it. Each request of a batch is denied: the calls of a batch may depend on each other,
 * and only protocol version 2025-03-26 has batches. null: the POST has only notifications, so it gets 202 without a body.
 */
export function mcpDenial(
  request: McpRequest,
  { message, violations }: { message: string; violations: readonly string[] },
): unknown {
  const denials = request.requests.map(({ id, method }) => {
    if (method === 'tools/call')
      return { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: message }], isError: true } };
    return { jsonrpc: '2.0', id, error: { code: DENIED, message, data: { violations, blocked: true } } };
  });
  if (denials.length === 0) return null;
  return request.isBatch ? denials : denials[0];
}

/** The response to a body that is not JSON-RPC in UTF-8, which both transports require. */
export const mcpRefusal = (message: string): unknown => ({
  jsonrpc: '2.0',
  id: null,
  error: { code: PARSE_ERROR, message },
});

function idOf(message: Record<string, unknown>): RpcId | null {
  const id = own(message, 'id');
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
