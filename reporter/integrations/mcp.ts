import { at, Observer, safely, type IntegrationOptions, type ObservingReporter } from './observer.ts';

export type { IntegrationOptions, ObservingReporter } from './observer.ts';

/** A `Server` of `@modelcontextprotocol/sdk`. */
export interface ProtocolServer {
  setRequestHandler: unknown;
  createMessage: unknown;
}

/** An `McpServer` of `@modelcontextprotocol/sdk`. */
export interface HighLevelServer {
  readonly server: ProtocolServer;
}

type Handler = (request: unknown, ...more: unknown[]) => unknown;

/** The members that are replaced, as functions. */
interface Replaceable {
  setRequestHandler: (schema: unknown, handler: Handler) => unknown;
  createMessage: (...args: unknown[]) => Promise<unknown>;
  /** Not public: the handlers by method. A server that has none is only followed from now on. */
  _requestHandlers?: unknown;
}

const CALL = 'tools/call';

/** A second installation would report each tool twice. */
const installed = new WeakSet<object>();

/**
 * Reports the tools of an MCP server. With `checkPolicy`, the policy is evaluated before each model call through the client
 * (sampling). The protocol has no tokens: report the model calls of a tool with `reporter.behavior().model(…)` or with the
 * integration of their library.
 */
export function install(
  reporter: ObservingReporter,
  server: HighLevelServer | ProtocolServer,
  options?: IntegrationOptions,
): void {
  const target = ('server' in server ? server.server : server) as Replaceable;
  if (installed.has(target)) return;
  installed.add(target);
  const observer = new Observer(reporter, options);
  const { setRequestHandler, createMessage, _requestHandlers: handlers } = target;
  const known: unknown = handlers instanceof Map ? handlers.get(CALL) : undefined;
  if (handlers instanceof Map && typeof known === 'function')
    handlers.set(CALL, observed(known as Handler, observer));
  target.setRequestHandler = (schema, handler) =>
    setRequestHandler.call(target, schema, methodOf(schema) === CALL ? observed(handler, observer) : handler);
  target.createMessage = async (...args) => {
    await observer.beforeModel();
    return createMessage.apply(target, args);
  };
}

function observed(handler: Handler, observer: Observer): Handler {
  return async (request, ...more) => {
    const name = at(request, 'params', 'name');
    if (typeof name !== 'string') return handler(request, ...more);
    const behavior = observer.behavior();
    const startedMs = performance.now();
    const end = (success: boolean): void =>
      safely(() => observer.tool(behavior, name, { success, latencyMs: performance.now() - startedMs }));
    try {
      const result = await handler(request, ...more);
      end(at(result, 'isError') !== true);
      return result;
    } catch (error) {
      end(false);
      throw error;
    }
  };
}

/** The method of a request schema of zod 3 or zod 4; a string in later versions of the SDK. */
function methodOf(schema: unknown): unknown {
  if (typeof schema === 'string') return schema;
  const method = at(schema, 'shape', 'method') ?? at(schema, '_zod', 'def', 'shape', 'method');
  return at(method, 'value') ?? at(method, '_def', 'value') ?? at(method, '_zod', 'def', 'values', 0);
}
