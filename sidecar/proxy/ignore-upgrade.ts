import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { pairsOf, valuesOf } from './headers.ts';

/** A client that wants a WebSocket, among others or alone, can do nothing with an answer in HTTP. */
export function wantsWebSocket({ rawHeaders }: IncomingMessage): boolean {
  return /\bwebsocket\b/i.test(valuesOf(rawHeaders, 'upgrade').join(','));
}

/**
 * A server may leave an upgrade alone and answer in HTTP (RFC 9110 section 7.8); Java's own client asks for h2c with each
 * request. The request is put back without its `Upgrade`, with all that came behind it, and read anew. Node's way, a
 * `shouldUpgradeCallback`, loses what comes behind the request in the same segment, and reads on in the middle of it.
 */
export function ignoreUpgrade(server: Server, request: IncomingMessage, socket: Duplex, rest: Buffer): void {
  const { method = '', url = '', httpVersion, rawHeaders } = request;
  const lines = pairsOf(rawHeaders)
    .filter(([name]) => name.toLowerCase() !== 'upgrade')
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${url} HTTP/${httpVersion}\r\n${lines.join('')}\r\n`;
  socket.unshift(Buffer.concat([Buffer.from(head, 'latin1'), rest]));
  server.emit('connection', socket);
}
