import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Node's parser of a connection. It calls its member with the number `kOnMessageBegin` at the first byte of a head. */
interface HeadParser {
  constructor: { kOnMessageBegin?: number };
  socket: (Socket & { server?: unknown }) | null;
  [onMessageBegin: number]: ((this: HeadParser) => void) | null;
}

/**
 * Limits the connections with an incomplete head. Until a head is complete there is no request to count, but its fields occupy
 * memory.
 */
export class UnfinishedHeads {
  /** Connections in the order in which their heads began. */
  readonly #sockets = new Set<Socket>();
  readonly #watched = new WeakSet<Socket>();
  readonly #begin: (this: HeadParser) => void;

  /** With more than `most` connections, the one with the oldest incomplete head is closed and `onCut` is called. */
  constructor(server: Server, most: number, onCut: () => void) {
    const sockets = this.#sockets;
    // One function for all parsers. Node.js reuses parsers for other servers and for clients, hence the check.
    this.#begin = function () {
      const { socket } = this;
      if (socket?.server !== server) return;
      sockets.add(socket);
      if (sockets.size <= most) return;
      const [oldest] = sockets;
      if (oldest === undefined) return;
      sockets.delete(oldest);
      onCut();
      oldest.destroy();
    };
  }

  /** Call it when the current head of the connection is complete or rejected. */
  end(socket: Socket): void {
    this.#sockets.delete(socket);
  }

  /** Call it when Node.js has got a connection. */
  watch(socket: Socket): void {
    const { parser } = socket as { parser?: HeadParser };
    const begin = parser?.constructor.kOnMessageBegin;
    if (parser === undefined || begin === undefined)
      throw new Error('cannot watch the HTTP parser: unknown Node.js version');
    parser[begin] = this.#begin;
    // An ignored upgrade emits 'connection' again for the same socket.
    if (this.#watched.has(socket)) return;
    this.#watched.add(socket);
    // Upgrades come close to the number of listeners at which Node.js prints a warning.
    socket.setMaxListeners(socket.getMaxListeners() + 1).once('close', () => this.end(socket));
  }
}
