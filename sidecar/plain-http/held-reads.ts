import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { isLingering } from '../proxy/connection-end.ts';

export interface HeldReadsOptions {
  /** Whether the parser may get the next head of a connection. */
  mayParse(socket: Socket): boolean;
  /** Bytes that all connections may hold. Above this number, the one that has held bytes for longest is closed. */
  maxHeldReads: number;
  /** Called when a connection was closed. */
  onCut(): void;
}

const PAGE_BYTES = 4 * 1024;

/** The memory for what connections hold. It is used again, because buffers would stay in memory until the next garbage collection. */
export class HeldPages {
  readonly options: HeldReadsOptions;
  /** Connections that hold pages, in the order in which they began to. */
  readonly #holders = new Set<HeldReads>();
  readonly #free: Buffer[] = [];
  #count = 0;

  constructor(options: HeldReadsOptions) {
    this.options = options;
  }

  take(holder: HeldReads): Buffer {
    this.#holders.add(holder);
    if (this.#free.length === 0 && this.#count * PAGE_BYTES >= this.options.maxHeldReads) {
      const [oldest] = this.#holders;
      this.options.onCut();
      oldest?.cut();
    }
    const page = this.#free.pop();
    if (page !== undefined) return page;
    this.#count += 1;
    return Buffer.allocUnsafeSlow(PAGE_BYTES);
  }

  give(page: Buffer): void {
    this.#free.push(page);
  }

  /** `holder` holds no pages any more. */
  left(holder: HeldReads): void {
    this.#holders.delete(holder);
  }
}

/** The members of a connection of Node.js that have no other name. */
interface Handle {
  reading: boolean;
  readStart(): number;
  readStop(): number;
  /** true: the HTTP parser does not read from the handle, but gets what the socket emits. */
  _consumed: boolean;
}

const END_OF_HEAD = '\r\n\r\n';

/** A part of a page. */
interface HeldPart {
  page: Buffer;
  from: number;
  to: number;
}

/**
 * Holds what a connection has read, and passes it to Node's parser in parts with the end of one head: the parser continues to the end of
 * what it gets, and each request takes a hundred times the memory of its bytes. The connection is not read while bytes are held.
 */
export class HeldReads {
  readonly #socket: Socket;
  readonly #handle: Handle;
  readonly #pages: HeldPages;
  readonly #push: (chunk: Buffer | null) => boolean;
  readonly #held: HeldPart[] = [];
  #isFeeding = false;

  /** Call it before Node.js gets the connection. */
  constructor(socket: Socket, pages: HeldPages) {
    const handle = (socket as unknown as { _handle: Handle })._handle;
    this.#socket = socket;
    this.#handle = handle;
    this.#pages = pages;
    handle._consumed = true;
    const start = handle.readStart.bind(handle);
    // Node.js starts to read after each request. It only needs to know that this was no error.
    handle.readStart = () => (this.#held.length > 0 ? 0 : start());
    this.#push = (chunk) => Readable.prototype.push.call(socket, chunk);
    socket.push = (chunk: Buffer | null) => (chunk === null ? this.#push(null) : this.add(chunk));
    // After Node.js has emitted what was put back.
    socket.on('resume', () => process.nextTick(this.feed)).once('close', this.#drop);
  }

  /** Passes on what the parser may get now. */
  readonly feed = (): void => {
    if (this.#isFeeding || this.#held.length === 0) return;
    this.#isFeeding = true;
    for (;;) {
      const [first] = this.#held;
      if (first === undefined) break;
      first.from += this.#pass(first.page.subarray(first.from, first.to));
      if (first.from < first.to || this.#held.length === 0) break;
      this.#held.shift();
      this.#pages.give(first.page);
    }
    this.#isFeeding = false;
    if (this.#held.length > 0) return;
    this.#pages.left(this);
    if (this.#handle.reading && !this.#socket.destroyed) this.#handle.readStart();
  };

  /** Closes the connection, and frees what it holds. */
  cut(): void {
    this.#socket.destroy();
    this.#drop();
  }

  /** Adds bytes that were read. They may change after this call. */
  add(chunk: Buffer): boolean {
    if (this.#held.length > 0) {
      this.#hold(chunk);
      return true;
    }
    this.#isFeeding = true;
    const passed = this.#pass(chunk);
    this.#isFeeding = false;
    if (passed === chunk.length || this.#socket.destroyed) return true;
    this.#hold(chunk.subarray(passed));
    this.#handle.readStop();
    return true;
  }

  /** Passes on as much of `bytes` as the parser may get, and returns their number. After the last response, they are dropped. */
  #pass(bytes: Buffer): number {
    const socket = this.#socket;
    if (isLingering(socket)) return bytes.length;
    let at = 0;
    while (
      at < bytes.length &&
      socket.readableFlowing === true &&
      socket.readableLength === 0 &&
      this.#pages.options.mayParse(socket)
    ) {
      const end = bytes.indexOf(END_OF_HEAD, at);
      const to = end < 0 ? bytes.length : end + END_OF_HEAD.length;
      this.#push(Buffer.from(bytes.subarray(at, to)));
      at = to;
    }
    return at;
  }

  #hold(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
      if (this.#socket.destroyed) return;
      const page = this.#pages.take(this);
      this.#held.push({ page, from: 0, to: bytes.copy(page, 0, at, at + PAGE_BYTES) });
    }
  }

  readonly #drop = (): void => {
    for (const { page } of this.#held.splice(0)) this.#pages.give(page);
    this.#pages.left(this);
  };
}
