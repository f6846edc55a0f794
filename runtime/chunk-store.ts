import type { IncomingMessage } from 'node:http';

/** Bytes from which on a chunk stands for itself; smaller ones are copied together into pieces of this size. */
export const PIECE_BYTES = 4 * 1024;

/**
 * Chunks that wait for their reader. Node.js needs about 400 bytes for each chunk, so chunks of one byte would cost
 * hundreds of times what a budget in bytes counts.
 */
export class ChunkStore {
  #bytes = 0;
  #chunks: Buffer[] = [];
  /** Has room for further small chunks; null: no small one has followed another. */
  #piece: Buffer | null = null;
  #used = 0;

  /** Bytes that are stored. */
  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    const isFirst = this.#bytes === 0;
    this.#bytes += chunk.length;
    // The only one is not copied: most bodies come in one.
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

  /** Everything that is stored, in one buffer; the store is empty then. */
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

/** Bytes below which a chunk is tiny: Node.js needs a microsecond or more for each, so 64 KiB of them delay every other connection. */
const TINY_BYTES = 16;
/** Tiny chunks of one body that are read in one turn of the event loop. Beyond them it is read no further for a while. */
const MAX_TINY = 256;
/** Milliseconds for each of those beyond. */
const PAUSE_PER_TINY_MS = 0.5;

/** Milliseconds between the releases of two bodies: together they would delay every other connection. */
const BETWEEN_RELEASES_MS = 100;
let lastReleaseMs = -Infinity;

/** Slows down a body that comes in tiny chunks. */
export class ChunkBrake {
  readonly #release: () => void;
  /** Of this turn. */
  #tiny = 0;
  #isHeld = false;

  /** `release`: the body may be read on. */
  constructor(release: () => void) {
    this.#release = release;
  }

  /** The body is not to be read now. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** false: no more is to be read until the release. */
  passes(chunk: Buffer): boolean {
    if (chunk.length >= TINY_BYTES) return !this.#isHeld;
    this.#tiny += 1;
    if (this.#tiny === 1) setImmediate(this.#endTurn);
    if (this.#tiny > MAX_TINY) this.#isHeld = true;
    return !this.#isHeld;
  }

  readonly #endTurn = (): void => {
    const beyond = this.#tiny - MAX_TINY;
    this.#tiny = 0;
    if (beyond > 0) setTimeout(this.#end, beyond * PAUSE_PER_TINY_MS).unref();
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

/** Milliseconds until small chunks go on to a reader that has not taken the ones before. */
const GATHER_MS = 50;

/** Copies the small chunks of a request's body together before they reach the request's own buffer. */
export function gatherChunks(request: IncomingMessage): void {
  const store = new ChunkStore();
  const read = request._read.bind(request);
  const brake = new ChunkBrake(() => {
    if (!request.complete) read(0);
  });
  // The request's own buffer asks for more whenever it has room.
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
