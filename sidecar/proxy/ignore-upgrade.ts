import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { pairsOf, valuesOf } from './headers.ts';

/** Whether the client requests a WebSocket, possibly among other protocols. Such a client cannot use a plain HTTP response. */
export function wantsWebSocket({ rawHeaders }: IncomingMessage): boolean {
  return /\bwebsocket\b/i.test(valuesOf(rawHeaders, 'upgrade').join(','));
}

/**
 * The proxy ignores upgrades that it does not forward, as RFC 9110 section 7.8 allows. Java's own client offers h2c with each request.
 * This function puts the request back without its `Upgrade` header, with all bytes after the request, and parses it again.
 * Node's `shouldUpgradeCallback` would lose bytes that follow the request in the same segment.
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
