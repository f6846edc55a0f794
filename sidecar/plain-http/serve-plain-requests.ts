import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { KnownLines } from '../../core/untrusted/known-lines.ts';
import { ChunkStore } from '../../runtime/chunk-store.ts';
import { readInto } from '../../runtime/read-buffer.ts';
import type { ClientBody, ClientRequest } from '../proxy/client-message.ts';
import { isLingering } from '../proxy/connection-end.ts';
import type { Framed } from '../proxy/framing.ts';
import type { LoadLimits, PipelineShare } from '../proxy/load-limits.ts';
import { HeldPages, HeldReads } from './held-reads.ts';
import { PlainResponse } from './plain-response.ts';
import { readPlainRequest, type PlainLine, type PlainRequest } from './read-plain-request.ts';

/** A plain request with its response. */
export interface PlainExchange {
  request: ClientRequest;
  response: PlainResponse;
  framed: Framed & { ok: true };
  /** null: the request has no body. */
  body: ClientBody | null;
}

export interface PlainOptions {
  /** Milliseconds for which clients may keep a connection without a request in flight. */
  idleMs: number;
  /** Counts bytes that arrive before the response. */
  load: Pick<LoadLimits, 'admitWaiting' | 'giveBack' | 'maxHeldReads' | 'cut'>;
  /** Milliseconds for the body after its head; default 10. */
  collectingMs?: number;
  serve(exchange: PlainExchange): void;
  /** Whether Node.js may parse the next request of a connection that it has got. When this changes, call `readOn`. */
  mayParse(socket: Socket): boolean;
  /** Whether there is room for another HTTP/2 session. Default: the server speaks HTTP/1.1 only. */
  mayBeginHttp2?: () => boolean;
}

interface ConnectionOptions extends PlainOptions {
  /** Lines of the requests on all connections. */
  lines: KnownLines<PlainLine>;
  /** The connections that Node.js has got. */
  reads: WeakMap<Socket, HeldReads>;
  pages: HeldPages;
}

/** Milliseconds until the first request, as Node.js waits for a head. */
const FIRST_MS = 60_000;
/** A connection is closed so many milliseconds after the idle time: a request may be on its way. */
const IDLE_MARGIN_MS = 1_000;
/** Bytes of a request, with its body. The memory of a request in flight includes them. */
const MAX_REQUEST = 16 * 1024;
/** Many clients send the body in a second packet. */
const COLLECTING_MS = 10;
/** At so many bytes that arrive before the response, reading stops. Until then, the end of the connection is noticed. */
const MAX_EARLY = 16 * 1024;
/** First bytes of HTTP/2. A session limits itself what it reads. */
const HTTP2 = 'PRI ';
/** All connections read into this buffer: the bytes are parsed or copied before the next read. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Serves the plain requests of a server without Node's parser and response objects, which are a quarter of the cost of a request. A
 * connection begins here, and ends here if all its requests are plain. At the first other request, or at bytes before the
 * response, Node.js gets the connection with these bytes and keeps it. Call it before other listeners of `connection` are added.
 * @returns the listeners of connections that Node.js gets, which run after its own, and a function that parses what a connection holds
 */
export function servePlainRequests(
  server: Server,
  options: PlainOptions,
): { onHandedOver: ((socket: Socket) => void)[]; readOn: (socket: Socket) => void } {
  const [serveHttp] = server.listeners('connection') as ((socket: Socket) => void)[];
  const onHandedOver: ((socket: Socket) => void)[] = [];
  const handOver = (socket: Socket): void => {
    if (serveHttp !== undefined) Reflect.apply(serveHttp, server, [socket]);
    for (const listener of onHandedOver) listener(socket);
  };
  const reads = new WeakMap<Socket, HeldReads>();
  const { load } = options;
  const pages = new HeldPages({
    mayParse: (socket) => options.mayParse(socket),
    maxHeldReads: load.maxHeldReads,
    onCut: () => (load.cut += 1),
  });
  const served = { ...options, reads, pages, lines: new KnownLines<PlainLine>() };
  const connections = new Set<PlainConnection>();
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    // A connection with an ignored upgrade comes again.
    if (socket.bytesRead > 0) handOver(socket);
    else
      connections.add(
        new PlainConnection(socket, served, (connection, keepsOn) => {
          connections.delete(connection);
          if (keepsOn) handOver(socket);
        }),
      );
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    closeIdle();
    for (const connection of connections) connection.closeIfIdle();
  };
  const closeAll = server.closeAllConnections.bind(server);
  server.closeAllConnections = () => {
    closeAll();
    for (const connection of connections) connection.shed();
  };
  return { onHandedOver, readOn: (socket) => reads.get(socket)?.feed() };
}

/** A connection as long as its requests are plain. */
class PlainConnection implements PipelineShare {
  /** Bytes reserved for `#early`. */
  bytes = 0;
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  /** Called once, when this object has no part in the connection any more. `keepsOn`: Node.js gets the connection. */
  readonly #onLeave: (connection: PlainConnection, keepsOn: boolean) => void;
  /** The response to the request in flight. */
  #response: PlainResponse | null = null;
  /** Bytes that arrived before the response was sent. */
  readonly #early = new ChunkStore();
  #isUsed = false;
  /** true: Node.js has the connection. */
  #hasLeft = false;
  /** The first part of a request, until the timer ends or the rest arrives. */
  #begun: { bytes: Buffer; timer: NodeJS.Timeout } | null = null;

  constructor(
    socket: Socket,
    options: ConnectionOptions,
    onLeave: (connection: PlainConnection, keepsOn: boolean) => void,
  ) {
    this.#socket = socket;
    this.#options = options;
    this.#onLeave = onLeave;
    if (!readInto(socket, { buffer: READ_BUFFER, callback: this.#took })) socket.on('data', this.#readChunk);
    socket
      .setTimeout(Math.min(FIRST_MS, options.idleMs))
      .on('end', this.#ended)
      .on('close', this.#closed)
      .on('error', this.#failed)
      .on('drain', this.#drained)
      .on('timeout', this.#idle);
  }

  /** Closes the connection at once. */
  shed(): void {
    this.#socket.destroy();
  }

  closeIfIdle(): void {
    if (this.#isUsed && this.#response === null && this.#begun === null) this.shed();
  }

  /** Returns false if Node.js wants no more bytes now. */
  readonly #took = (count: number, buffer: Uint8Array): boolean => {
    if (this.#hasLeft) {
      const read = buffer.subarray(0, count);
      // An HTTP/2 connection has no other copy.
      return this.#socket.push(this.#options.reads.has(this.#socket) ? read : Buffer.from(read));
    }
    this.#read(buffer as Buffer, count);
    return true;
  };

  readonly #readChunk = (chunk: Buffer): void => this.#read(chunk, chunk.length);

  /** Reads the first `count` of `bytes`, which change after this call. */
  #read(bytes: Buffer, count: number): void {
    if (isLingering(this.#socket)) return;
    if (this.#response !== null) {
      this.#keep(Buffer.from(bytes.subarray(0, count)));
      return;
    }
    const begun = this.#takeBegun();
    if (begun === null) this.#readRequest(bytes, count, true);
    else {
      const whole = Buffer.concat([begun, bytes.subarray(0, count)]);
      this.#readRequest(whole, whole.length, false);
    }
  }

  #readRequest(bytes: Buffer, count: number, mayBeContinued: boolean): void {
    const plain = readPlainRequest(bytes, count, this.#options.lines);
    const isShort = plain !== null && plain.bodyAt + plain.bodyBytes <= MAX_REQUEST;
    if (isShort && plain.missing === 0) {
      this.#serve(plain, bytes);
      return;
    }
    const read = bytes.subarray(0, count);
    if (isShort && mayBeContinued)
      this.#begun = {
        bytes: Buffer.from(read),
        timer: setTimeout(this.#giveUp, this.#options.collectingMs ?? COLLECTING_MS),
      };
    else this.#handOver(read);
  }

  /** Keeps bytes that arrived before the response. */
  #keep(chunk: Buffer): void {
    if (this.bytes === 0 && this.#options.load.admitWaiting(this, 0, Infinity) === 0) {
      this.shed();
      return;
    }
    this.#early.add(chunk);
    if (this.#early.bytes > MAX_EARLY) this.#socket.pause();
  }

  #takeEarly(): Buffer {
    if (this.bytes > 0) this.#options.load.giveBack(this, this.bytes);
    return this.#early.take();
  }

  #takeBegun(): Buffer | null {
    if (this.#begun === null) return null;
    const { bytes, timer } = this.#begun;
    clearTimeout(timer);
    this.#begun = null;
    return bytes;
  }

  /** The rest of the request does not arrive soon, and the agent may want to see its beginning. */
  readonly #giveUp = (): void => {
    const begun = this.#takeBegun();
    if (begun !== null && !this.#socket.destroyed) this.#handOver(begun);
  };

  #serve({ method, target, host, rawHeaders, bodyAt, bodyBytes }: PlainRequest, bytes: Buffer): void {
    if (!this.#isUsed) this.#socket.setTimeout(this.#options.idleMs + IDLE_MARGIN_MS);
    this.#isUsed = true;
    const request: ClientRequest = {
      ...{ method, url: target, httpVersion: '1.1', rawHeaders, rawTrailers: [], complete: true },
      socket: this.#socket,
    };
    const response = new PlainResponse(request, Math.floor(this.#options.idleMs / 1000));
    this.#response = response;
    response.on('finish', this.#sent);
    this.#options.serve({
      request,
      response,
      framed: { ok: true, path: target, host, body: bodyBytes === 0 ? 'none' : 'sized', bodyBytes },
      body: bodyBytes === 0 ? null : new PlainBody(Buffer.from(bytes.subarray(bodyAt, bodyAt + bodyBytes))),
    });
  }

  /** The response is sent. */
  readonly #sent = (): void => {
    const keepsAlive = this.#response?.shouldKeepAlive === true;
    this.#response = null;
    if (this.#socket.destroyed) return;
    const early = this.bytes === 0 ? null : this.#takeEarly();
    if (!keepsAlive) this.#socket.destroySoon();
    else if (early !== null) this.#handOver(early);
  };

  /** Node.js gets the connection. `bytes` were read and not handled; they may change after this call. */
  #handOver(bytes: Buffer): void {
    const socket = this.#socket;
    const { reads, pages, mayBeginHttp2 } = this.#options;
    const isHttp2 = mayBeginHttp2 !== undefined && bytes.toString('latin1', 0, HTTP2.length) === HTTP2;
    if (isHttp2 && !mayBeginHttp2()) {
      this.shed();
      return;
    }
    this.#leave();
    socket.setTimeout(0).pause();
    const held = isHttp2 ? null : new HeldReads(socket, pages);
    if (held === null) socket.unshift(Buffer.from(bytes));
    else reads.set(socket, held);
    this.#onLeave(this, true);
    socket.resume();
    held?.add(bytes);
  }

  #leave(): void {
    this.#hasLeft = true;
    this.#socket
      .off('data', this.#readChunk)
      .off('end', this.#ended)
      .off('close', this.#closed)
      .off('error', this.#failed)
      .off('drain', this.#drained)
      .off('timeout', this.#idle);
  }

  /** The client sends no more. As in Node.js, its response is not completed. */
  readonly #ended = (): void => {
    this.#takeBegun();
    this.#socket.end();
  };

  readonly #closed = (): void => {
    this.#takeBegun();
    this.#takeEarly();
    this.#response?.closed();
    this.#onLeave(this, false);
  };

  readonly #failed = (): void => void this.#socket.destroy();

  readonly #drained = (): void => void this.#response?.emit('drain');

  readonly #idle = (): void => {
    if (this.#response === null) this.#socket.destroy();
  };
}

const NO_BYTES = Buffer.alloc(0);

/** The body of a plain request. */
class PlainBody implements ClientBody {
  #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(_bodyBytes: number, onChunk: (chunk: Buffer) => void): Buffer {
    const bytes = this.#bytes;
    onChunk(bytes);
    this.drop();
    return bytes;
  }

  drop(): void {
    this.#bytes = NO_BYTES;
  }
}
