import type { Socket } from 'node:net';
// By the default export: the names of this CommonJS module are not seen by Node.js.
import symbols from 'undici/lib/core/symbols.js';

const { kParser } = symbols;

/** undici's parser of one connection, as far as it is patched here. */
interface Parser {
  /** The reason phrase so far. */
  statusText: string;
  /** Of the answer that is being read. */
  shouldKeepAlive: boolean;
  onStatus(bytes: Buffer): number;
  onHeadersComplete(status: number, upgrade: boolean, shouldKeepAlive: boolean): number;
}

/** No status of any registry: stands for an unasked 100, which undici takes for the end of the connection. */
const UNASKED_CONTINUE = 199;

/**
 * Three things that undici's parser does otherwise than RFC 9112 and RFC 9110 section 15.2 want of a proxy: of a reason
 * phrase that comes in two segments it keeps the second one, an agent that says 100 without being asked breaks the
 * connection, and a reset is taken for the end of an answer that ends with its connection. Call it once undici has taken
 * the socket; throws when undici no longer has that parser.
 */
export function patchParser(socket: Socket): void {
  const parser = (socket as Socket & { [kParser]?: Parser | null })[kParser];
  if (typeof parser?.onStatus !== 'function')
    throw new Error('undici has another parser than the one patched here');
  const completeHeaders = parser.onHeadersComplete.bind(parser);
  parser.onStatus = (bytes) => {
    parser.statusText += bytes.toString('latin1');
    return 0;
  };
  parser.onHeadersComplete = (status, upgrade, shouldKeepAlive) =>
    completeHeaders(status === 100 ? UNASKED_CONTINUE : status, upgrade, shouldKeepAlive);
  // Only of an answer that leaves its connection open undici believes that a reset has cut it.
  socket.prependListener('error', () => (parser.shouldKeepAlive = true));
}
