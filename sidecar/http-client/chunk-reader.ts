import type { HeadReader } from './head-reader.ts';
import { InvalidResponse } from './invalid-response.ts';

/** Maximum bytes of a chunk's extensions, and of leading zeros of its size: the limit of Node.js. */
const MAX_LINE_BYTES = 16 * 1024;
/** Eight digits are 4 GiB, and a number holds thirteen exactly. */
const MAX_SIZE = Number.MAX_SAFE_INTEGER;

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const QUOTED = '"(?:[\\t\\x20!\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"';
/** RFC 9112 section 7.1.1, without blanks; as in Node.js, a value may be empty. */
const EXTENSIONS = new RegExp(`^(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED})?)?)*$`);

const CR = 13;
const LF = 10;
const SEMICOLON = 59;

const SIZE = 0;
const EXTENSION = 1;
const SIZE_LF = 2;
const DATA = 3;
const DATA_CR = 4;
const DATA_LF = 5;
const TRAILERS = 6;

/** Reads a chunked body as its bytes arrive. */
export class ChunkReader {
  /** true: the body and its trailers are complete. */
  isComplete = false;
  /** Position after the data that the last call of `decode` has moved together. */
  dataEnd = 0;
  /** Set if the bytes after the data are invalid. */
  error: InvalidResponse | null = null;
  readonly #trailers: HeadReader;
  #state = SIZE;
  #size = 0;
  /** Digits of the size so far. */
  #digits = 0;
  #extension = '';

  /** `trailers`: reads the trailers after the body. */
  constructor(trailers: HeadReader) {
    this.#trailers = trailers;
  }

  reset(): void {
    this.isComplete = false;
    this.error = null;
    this.#expectSize();
  }

  /**
   * Decodes bytes up to `end`, or up to the end of the body. Moves the data of all chunks to `at`, so that the data of one read
   * is one piece up to `dataEnd`. Returns the position after the bytes that were read.
   */
  decode(bytes: Buffer, at: number, end: number): number {
    this.dataEnd = at;
    try {
      return this.#decode(bytes, at, end);
    } catch (error) {
      if (!(error instanceof InvalidResponse)) throw error;
      // The caller passes on the data before the invalid bytes first.
      this.error = error;
      return end;
    }
  }

  #decode(bytes: Buffer, from: number, end: number): number {
    let at = from;
    while (at < end) {
      switch (this.#state) {
        case SIZE:
          at = this.#readSize(bytes, at, end);
          break;
        case EXTENSION:
          at = this.#readExtension(bytes, at, end);
          break;
        case SIZE_LF:
          expect(bytes[at], LF);
          at += 1;
          this.#endSizeLine();
          break;
        case DATA:
          at = this.#moveData(bytes, at, end);
          break;
        case DATA_CR:
          expect(bytes[at], CR);
          at += 1;
          this.#state = DATA_LF;
          break;
        case DATA_LF:
          expect(bytes[at], LF);
          at += 1;
          this.#expectSize();
          break;
        default:
          at = this.#trailers.read(bytes, at, end);
          if (!this.#trailers.isComplete) return at;
          if (hasLength(this.#trailers.fields))
            throw new InvalidResponse('a trailer is named Content-Length');
          this.isComplete = true;
          return at;
      }
    }
    return at;
  }

  #expectSize(): void {
    this.#state = SIZE;
    this.#size = 0;
    this.#digits = 0;
  }

  #readSize(bytes: Buffer, from: number, end: number): number {
    for (let at = from; at < end; at += 1) {
      const byte = bytes[at] ?? 0;
      const digit = digitOf(byte);
      if (digit >= 0) {
        this.#size = this.#size * 16 + digit;
        this.#digits += 1;
        if (this.#size > MAX_SIZE || this.#digits > MAX_LINE_BYTES)
          throw new InvalidResponse('a chunk is too large');
        continue;
      }
      if (this.#digits === 0) throw new InvalidResponse('a chunk has no size');
      if (byte === CR) this.#state = SIZE_LF;
      else if (byte === SEMICOLON) {
        this.#extension = ';';
        this.#state = EXTENSION;
      } else throw new InvalidResponse('the size of a chunk is invalid');
      return at + 1;
    }
    return end;
  }

  #readExtension(bytes: Buffer, from: number, end: number): number {
    const cr = bytes.indexOf(CR, from);
    const to = cr < 0 || cr >= end ? end : cr;
    if (this.#extension.length + to - from > MAX_LINE_BYTES)
      throw new InvalidResponse('the extensions of a chunk are too large');
    this.#extension += bytes.toString('latin1', from, to);
    if (to === end) return end;
    if (!EXTENSIONS.test(this.#extension)) throw new InvalidResponse('an extension of a chunk is invalid');
    this.#extension = '';
    this.#state = SIZE_LF;
    return to + 1;
  }

  #endSizeLine(): void {
    if (this.#size > 0) {
      this.#state = DATA;
      return;
    }
    this.#trailers.expectTrailers();
    this.#state = TRAILERS;
  }

  #moveData(bytes: Buffer, at: number, end: number): number {
    const to = Math.min(end, at + this.#size);
    if (this.dataEnd < at) bytes.copyWithin(this.dataEnd, at, to);
    this.dataEnd += to - at;
    this.#size -= to - at;
    if (this.#size === 0) this.#state = DATA_CR;
    return to;
  }
}

function expect(byte: number | undefined, expected: number): void {
  if (byte !== expected) throw new InvalidResponse('a line of a chunked body does not end with CRLF');
}

function hasLength(trailers: readonly string[]): boolean {
  return trailers.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-length');
}

/** The value of a hexadecimal digit; -1: another byte. */
function digitOf(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
