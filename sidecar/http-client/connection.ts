import { connect, type OnReadOpts, type Socket } from 'node:net';
import type { HeaderLine, KnownLines } from '../../core/untrusted/known-lines.ts';
import { internalFailure, type UpstreamFailure } from '../proxy/upstream.ts';
import { InvalidResponse } from './invalid-response.ts';
import { RequestBodyWriter, writeWhole } from './request-body-writer.ts';
import { requestHead } from './request-head.ts';
import { ResponseReader } from './response-reader.ts';
import type { TlsTarget } from './tls-target.ts';
import type { Transfer } from './transfer.ts';

/** Where a client connects to. */
export interface Target {
  /** A TCP address, or the path of a Unix socket. */
  address: { host: string; port: number } | { path: string };
  /** null: no TLS. */
  tls: TlsTarget | null;
  /** Precedes every path. */
  prefix: string;
  /** Host header of requests without one. */
  host: string;
  connectTimeoutMs: number;
}

/** What a connection reports to its pool. */
export interface ConnectionOwner {
  /** Header lines of the responses to all requests. */
  readonly knownLines: KnownLines<HeaderLine>;
  /** The response is complete, and the connection may be used again. `keepAlive`: the agent's Keep-Alive header. */
  onFree(connection: Connection, keepAlive: string): void;
  /** The agent has closed an idle connection at the moment of its use. Called before the request on it fails. */
  onStale(): void;
  onClose(connection: Connection): void;
}

/**
 * All connections read into this buffer: the bytes are parsed or copied before the next read. A buffer for each read would
 * cost more than the copies.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** One connection to the agent, which serves one request after the other. */
export class Connection {
  /** Monotonic time at which an idle connection must not be used any more. */
  idleUntilMs = 0;
  readonly #target: Target;
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #reader: ResponseReader;
  #transfer: Transfer | null;
  #writer: RequestBodyWriter | null = null;
  #connecting: NodeJS.Timeout | null;
  /** true: an earlier response was received, so the agent may close the connection at any time. */
  #isUsed = false;
  /** true: a byte of the current response was received. */
  #hasResponse = false;
  /** true: the current request is sent completely. */
  #isSent = false;
  /** true: the handler reads no more for now. */
  #isPaused = false;
  /** true: the socket is stopped. A TLS socket still passes on the records that it has already received. */
  #isStopped = false;
  #isReading = false;
  #isClosed = false;

  /** Connects, then sends the request of `first`. */
  constructor(target: Target, owner: ConnectionOwner, first: Transfer) {
    this.#target = target;
    this.#owner = owner;
    this.#reader = new ResponseReader(owner.knownLines);
    this.#transfer = first;
    const { address, tls } = target;
    const onread: OnReadOpts = {
      buffer: READ_BUFFER,
      callback: (count, bytes) => this.#read(bytes as Buffer, count),
    };
    this.#socket = tls === null ? connect({ ...address, onread }) : tls.connect({ ...address, onread });
    this.#socket
      .setNoDelay(true)
      .setKeepAlive(true, 60_000)
      .on(tls === null ? 'connect' : 'secureConnect', () => this.#connected())
      .on('end', () => this.#ended())
      .on('error', (error) => this.#lost(error))
      .on('close', () => this.#lost(new Error('the connection closed')));
    this.#connecting = setTimeout(() => this.#connectTimeOut(), target.connectTimeoutMs);
  }

  #connectTimeOut(): void {
    this.#fail({ kind: 'timeout', error: new Error('no connection in time') });
  }

  #connected(): void {
    if (this.#connecting !== null) clearTimeout(this.#connecting);
    this.#connecting = null;
    const transfer = this.#transfer;
    this.#transfer = null;
    // The request has ended meanwhile, but the next one can use the connection.
    if (transfer === null || transfer.isOver) this.#owner.onFree(this, '');
    else this.send(transfer);
  }

  /** Sends a request on an idle connection. */
  send(transfer: Transfer): void {
    transfer.start();
    if (transfer.isOver) {
      // It has timed out while it waited, or its handler threw, and nothing was sent. After an overload many have timed out, so the
      // connection must not end with each.
      this.#owner.onFree(this, this.#reader.keepAlive);
      return;
    }
    transfer.connection = this;
    this.#transfer = transfer;
    this.#hasResponse = false;
    this.#isSent = false;
    try {
      this.#write(transfer);
    } catch (error) {
      this.#fail({ kind: 'broken', error: error as Error });
    }
  }

  #write(transfer: Transfer): void {
    const { request } = transfer;
    const { body } = request;
    const head = requestHead(request, this.#target.prefix, this.#target.host);
    this.#reader.expect(transfer, request.method);
    if (body === null || Buffer.isBuffer(body)) {
      this.#isSent = true;
      writeWhole(this.#socket, head, body, request.trailers);
      // Otherwise the body would stay in memory until the end of the response.
      request.body = null;
      return;
    }
    this.#writer = new RequestBodyWriter(this.#socket, { body, trailers: request.trailers }, head, {
      end: () => (this.#isSent = true),
      error: (error) => this.#fail({ kind: 'broken', error }),
    });
    this.#writer.start();
  }

  pause(): void {
    this.#isPaused = true;
    // Otherwise reading stops after the current read, unless the response is complete by then.
    if (this.#isReading) return;
    this.#isStopped = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (!this.#isReading) this.#start();
  }

  #start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#socket.resume();
  }

  /** Closes the connection. A request that uses it gets no more events from it. */
  cut(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#connecting !== null) clearTimeout(this.#connecting);
    this.#detach();
    this.#reader.stop();
    this.#socket.destroy();
    this.#owner.onClose(this);
  }

  /** Closes the connection. A request that uses it fails. */
  close(): void {
    this.#fail({ kind: 'broken', error: new Error('the client is closed') });
  }

  #detach(): void {
    this.#writer?.stop();
    this.#writer = null;
    if (this.#transfer !== null) this.#transfer.connection = null;
    this.#transfer = null;
  }

  /** Returns false to stop reading. */
  #read(bytes: Buffer, count: number): boolean {
    if (this.#isClosed) return false;
    // Bytes that no request asked for would be read as the next response.
    if (this.#reader.isOver) {
      this.#fail({ kind: 'broken', error: new Error('the agent sent bytes that belong to no response') });
      return false;
    }
    this.#hasResponse = true;
    this.#isReading = true;
    try {
      const end = this.#reader.read(bytes, count);
      if (this.#reader.isOver) this.#complete(end === count);
      else this.#transfer?.onRead();
    } catch (error) {
      this.#fail(error instanceof InvalidResponse ? { kind: 'broken', error } : internalFailure(error));
    }
    this.#isReading = false;
    if (this.#isPaused) this.#isStopped = true;
    else this.#start();
    return !this.#isPaused;
  }

  /** The response is complete. `isLast`: no bytes follow it. */
  #complete(isLast: boolean): void {
    if (this.#isClosed) return;
    const { persists, keepAlive } = this.#reader;
    const isReusable = isLast && persists && this.#isSent && this.#socket.writableLength === 0;
    if (!isReusable) {
      this.cut();
      return;
    }
    this.#detach();
    this.#isUsed = true;
    this.resume();
    this.#owner.onFree(this, keepAlive);
  }

  #ended(): void {
    if (this.#isClosed) return;
    if (this.#hasResponse && !this.#reader.isOver) {
      try {
        this.#reader.readEnd();
        this.cut();
        return;
      } catch {
        // Reported below.
      }
    }
    this.#lost(new Error('the agent closed the connection'));
  }

  #lost(error: Error): void {
    if (this.#connecting !== null) {
      this.#target.tls?.dropSession();
      this.#fail({ kind: 'unreachable', error });
      return;
    }
    const isStale = this.#isUsed && !this.#hasResponse;
    if (isStale && !this.#isClosed) this.#owner.onStale();
    this.#fail({ kind: isStale ? 'stale' : 'broken', error });
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#isClosed) return;
    const transfer = this.#transfer;
    this.cut();
    transfer?.fail(failure);
  }
}
