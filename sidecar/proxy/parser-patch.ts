import type { Socket } from 'node:net';
// Uses the default export: Node.js does not detect the named exports of this CommonJS module.
import symbols from 'undici/lib/core/symbols.js';

const { kParser } = symbols;

/** undici's parser of one connection; only the members that are patched here. */
interface Parser {
  /** The reason phrase received so far. */
  statusText: string;
  /** Keep-alive of the current response. */
  shouldKeepAlive: boolean;
  onStatus(bytes: Buffer): number;
  onHeadersComplete(status: number, upgrade: boolean, shouldKeepAlive: boolean): number;
}

/** Unregistered status code that replaces an unrequested 100, because undici closes the connection on a 100. */
const UNASKED_CONTINUE = 199;

/**
 * Fixes three deviations of undici's parser from RFC 9112 and RFC 9110 section 15.2:
 * - It keeps only the second part of a reason phrase that arrives in two segments.
 * - It breaks the connection if the agent sends an unrequested 100.
 * - It treats a reset as the normal end of a response that ends with its connection.
 *
 * Call it after undici has taken over the socket. Throws if undici no longer has that parser.
 */
export function patchParser(socket: Socket): void {
  const parser = (socket as Socket & { [kParser]?: Parser | null })[kParser];
  if (typeof parser?.onStatus !== 'function')
    throw new Error('cannot patch the parser of undici: unknown version');
  const completeHeaders = parser.onHeadersComplete.bind(parser);
  parser.onStatus = (bytes) => {
    parser.statusText += bytes.toString('latin1');
    return 0;
  };
  parser.onHeadersComplete = (status, upgrade, shouldKeepAlive) =>
    completeHeaders(status === 100 ? UNASKED_CONTINUE : status, upgrade, shouldKeepAlive);
  // undici treats a reset as a truncation only if the response keeps its connection open.
  socket.prependListener('error', () => (parser.shouldKeepAlive = true));
}
