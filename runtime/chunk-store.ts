import type { IncomingMessage } from 'node:http';

/** Chunks of at least this many bytes are stored as they are; smaller chunks are copied together into pieces of this size. */
export const PIECE_BYTES = 4 * 1024;

/**
 * Stores chunks until they are read. Node.js needs about 400 bytes of memory for each chunk, so one-byte chunks would cost
 * hundreds of times what a byte budget counts.
 */
export class ChunkStore {
  #bytes = 0;
  #chunks: Buffer[] = [];
  /** Buffer with room for more small chunks; null: no small chunk is being collected. */
  #piece: Buffer | null = null;
  #used = 0;

  /** Number of stored bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    const isFirst = this.#bytes === 0;
    this.#bytes += chunk.length;
    // A single chunk is not copied: most bodies arrive in one chunk.
    if (isFirst || chunk.length >= PIECE_BYTES) {
      this.#closePiece();
      this.#chunks.push(chunk);
      return;
    }
    if (this.#piece === null || this.#used + chunk.length > PIECE_BYTES) {
      this.#closePiece();
      this.#piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    }
    this.#piece.set(chunk, this.#used);
    this.#used += chunk.length;
  }

  /** Returns all stored bytes in one buffer and empties the store. */
  take(): Buffer {
    this.#closePiece();
    const [first] = this.#chunks;
    const all = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.clear();
    return all;
  }

  clear(): void {
    this.#bytes = 0;
    this.#used = 0;
    this.#piece = null;
    this.#chunks = [];
  }

  #closePiece(): void {
    if (this.#piece !== null) this.#chunks.push(this.#piece.subarray(0, this.#used));
    this.#piece = null;
    this.#used = 0;
  }
}

/** A chunk below this many bytes is tiny. Node.js needs at least 1 µs per chunk, so 64 KiB of them delay all connections. */
const TINY_BYTES = 16;
/** Tiny chunks of one body that are read in one turn of the event loop. With more of them, reading pauses for a while. */
const MAX_TINY = 256;
/** Pause in milliseconds for each tiny chunk above `MAX_TINY`. */
const PAUSE_PER_TINY_MS = 0.5;

/** Minimum milliseconds between the releases of two bodies: released together they would delay every other connection. */
const BETWEEN_RELEASES_MS = 100;
let lastReleaseMs = -Infinity;

/** Slows down a body that arrives in tiny chunks. */
export class ChunkBrake {
  readonly #release: () => void;
  /** Tiny chunks in this turn of the event loop. */
  #tiny = 0;
  #isHeld = false;

  /** `release` is called when reading the body may continue. */
  constructor(release: () => void) {
    this.#release = release;
  }

  /** true: do not read the body now. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Counts a chunk. Returns false if nothing more may be read until the release. */
  passes(chunk: Buffer): boolean {
    if (chunk.length >= TINY_BYTES) return !this.#isHeld;
    this.#tiny += 1;
    if (this.#tiny === 1) setImmediate(this.#endTurn);
    if (this.#tiny > MAX_TINY) this.#isHeld = true;
    return !this.#isHeld;
  }

  readonly #endTurn = (): void => {
    const excess = this.#tiny - MAX_TINY;
    this.#tiny = 0;
    if (excess > 0) setTimeout(this.#end, excess * PAUSE_PER_TINY_MS).unref();
  };

  readonly #end = (): void => {
    const now = performance.now();
    const sinceLast = now - lastReleaseMs;
    if (sinceLast < BETWEEN_RELEASES_MS) {
      setTimeout(this.#end, BETWEEN_RELEASES_MS - sinceLast).unref();
      return;
    }
    lastReleaseMs = now;
    this.#isHeld = false;
    this.#release();
  };
}

/** true: the request headers announce a body of at least one byte. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Milliseconds after which small chunks are passed to a reader that has not read the previous chunks. */
const GATHER_MS = 50;

/** Copies the small chunks of a request body together before they reach the request's own buffer. */
export function gatherChunks(request: IncomingMessage): void {
  const store = new ChunkStore();
  const read = request._read.bind(request);
  const brake = new ChunkBrake(() => {
    if (!request.complete) read(0);
  });
  // The request's own buffer requests more data whenever it has room.
  request._read = (size) => {
    if (!brake.isHeld) read(size);
  };
  const push = request.push.bind(request);
  let isWaiting = false;
  const flush = (): boolean => store.bytes === 0 || push(store.take());
  const flushLater = (): void => {
    isWaiting = false;
    flush();
  };
  request.push = (chunk: Buffer | null) => {
    if (chunk === null) {
      flush();
      return push(null);
    }
    const isSlow = !brake.passes(chunk);
    store.add(chunk);
    const hasRoom = store.bytes < PIECE_BYTES || flush();
    if (!isWaiting && store.bytes > 0) {
      isWaiting = true;
      if (request.readableLength === 0) setImmediate(flushLater);
      else setTimeout(flushLater, GATHER_MS);
    }
    return hasRoom && !isSlow;
  };
}
