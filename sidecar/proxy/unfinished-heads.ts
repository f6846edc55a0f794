import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Node's parser of a connection. It calls what it has under the number `kOnMessageBegin` with the first byte of a head. */
interface HeadParser {
  constructor: { kOnMessageBegin?: number };
  socket: (Socket & { server?: unknown }) | null;
  [onMessageBegin: number]: ((this: HeadParser) => void) | null;
}

/**
 * The connections of a server that are in the middle of a head. Until a head is complete no request exists that could be
 * counted, but its fields are in memory.
 */
export class UnfinishedHeads {
  /** In the order in which they began. */
  readonly #sockets = new Set<Socket>();
  readonly #watched = new WeakSet<Socket>();
  readonly #begin: (this: HeadParser) => void;

  /** Beyond `most` of them the longest unfinished is closed, and `onCut` called. */
  constructor(server: Server, most: number, onCut: () => void) {
    const sockets = this.#sockets;
    // One function for all parsers, which Node.js also reuses for other servers and for clients.
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
    server.on('connection', (socket) => this.#watch(socket));
  }

  /** The head that had begun is complete, or refused. */
  end(socket: Socket): void {
    this.#sockets.delete(socket);
  }

  #watch(socket: Socket): void {
    const { parser } = socket as { parser?: HeadParser };
    const begin = parser?.constructor.kOnMessageBegin;
    if (parser === undefined || begin === undefined)
      throw new Error('Node.js no longer has the parser that is watched here');
    parser[begin] = this.#begin;
    // The same one again, where an upgrade is left alone.
    if (this.#watched.has(socket)) return;
    this.#watched.add(socket);
    // Upgrades come close to the number that Node.js warns of.
    socket.setMaxListeners(socket.getMaxListeners() + 1).once('close', () => this.end(socket));
  }
}
