import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { lingerOn } from './connection-end.ts';

/** Close frames of RFC 6455 with the code 1013, "try again later". That to the server has a mask, of zeros. */
const CLOSE = Buffer.from('880203f5', 'hex');
const MASKED_CLOSE = Buffer.from('88820000000003f5', 'hex');

/** Finds the ends of the frames of one direction. Reads only their heads. */
export class FrameEnds {
  #head: number[] = [];
  /** Bytes of the current frame after its head. */
  #left = 0;

  /** Whether the last frame is complete. */
  get isAtEnd(): boolean {
    return this.#left === 0 && this.#head.length === 0;
  }

  read(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) {
      const step = Math.min(this.#left, chunk.length - at);
      this.#left -= step;
      at += step;
      const next = chunk[at];
      if (step > 0 || next === undefined) continue;
      at += 1;
      this.#head.push(next);
      this.#readHead();
    }
  }

  #readHead(): void {
    const [, second = 0] = this.#head;
    const short = second & 0x7f;
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    const isMasked = (second & 0x80) !== 0;
    if (this.#head.length < 2 + lengthBytes + (isMasked ? 4 : 0)) return;
    const long = this.#head.slice(2, 2 + lengthBytes);
    this.#left = lengthBytes === 0 ? short : long.reduce((sum, byte) => sum * 256 + byte, 0);
    this.#head = [];
  }
}

/** A WebSocket whose both sides are connected. */
export class OpenWebSocket {
  readonly #client: Socket;
  readonly #server: Duplex;
  readonly #fromClient = new FrameEnds();
  readonly #fromServer = new FrameEnds();

  /** Connects both sides. */
  constructor(client: Socket, server: Duplex) {
    this.#client = client;
    this.#server = server;
    client.on('data', (chunk: Buffer) => this.#fromClient.read(chunk));
    server.on('data', (chunk: Buffer) => this.#fromServer.read(chunk));
    server.pipe(client);
    client.pipe(server);
  }

  /** Passes nothing more, and ends both sides with a close frame. Inside another frame it would be part of a message, so it is left out. */
  end(): void {
    this.#server.unpipe(this.#client);
    this.#client.unpipe(this.#server);
    endWith(this.#client, this.#fromServer.isAtEnd ? CLOSE : null);
    endWith(this.#server, this.#fromClient.isAtEnd ? MASKED_CLOSE : null);
  }
}

function endWith(side: Duplex, close: Buffer | null): void {
  if (close === null || !side.writable) {
    side.destroy();
    return;
  }
  side.end(close);
  lingerOn(side);
}

/** An upgrade, as far as it has got. */
export interface StartedUpgrade {
  client: Socket;
  outgoing?: ClientRequest;
  /** The server's socket, once it has switched protocols. */
  agent?: Socket;
  webSocket?: OpenWebSocket;
}

/** Ends an upgrade at once. Returns the number of connections of clients that were ended. */
export function cutUpgrade({ client, outgoing, agent, webSocket }: StartedUpgrade): number {
  if (client.destroyed) return 0;
  if (webSocket !== undefined) webSocket.end();
  else {
    // First, because the upgrade responds to the client when its request fails.
    client.resetAndDestroy();
    outgoing?.destroy();
    agent?.destroy();
  }
  return 1;
}
