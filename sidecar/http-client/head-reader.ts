import { HEADER_NAME, HEADER_VALUE } from '../../core/untrusted/header-syntax.ts';
import { detached } from '../../core/untrusted/fields.ts';
import { withoutBlanks } from '../../core/untrusted/http-blanks.ts';
import { KnownLines, type HeaderLine } from '../../core/untrusted/known-lines.ts';
import { InvalidResponse } from './invalid-response.ts';

/** Maximum bytes of all names and values of a head, or of the trailers of one response: the limit of Node.js. */
const MAX_FIELD_BYTES = 16 * 1024;
/** A head that arrives at once is read from one string. A longer string would also copy the body. */
const PIECE_BYTES = 4 * 1024;

const CR = 13;
/** Characters of a line break. */
const LINE_BREAK = 2;
const SPACE = 32;
const ZERO = 48;

/** A tab between a value and the end of its line. */
const TAB_AT_END = /\t *$/;

/** The first characters of every status line. */
const PROTOCOL = 'HTTP/';

/**
 * Reads the head of a response, or the trailers after a chunked body, line by line as the bytes arrive. Bytes are latin1, one
 * character per byte. Throws `InvalidResponse` at the first invalid line.
 */
export class HeadReader {
  status = 0;
  /** The reason phrase. */
  message = '';
  /** true: HTTP/1.1, so the connection persists and bodies may be chunked. */
  isHttp11 = false;
  /** Names and values in order. */
  fields: string[] = [];
  /** true: the empty line was read. */
  isComplete = false;
  /** The received part of an unfinished line. */
  #unfinished = '';
  #bytes = 0;
  #expectsStatusLine = true;
  readonly #known: KnownLines<HeaderLine>;

  /** `known`: lines of other heads from the same server. */
  constructor(known = new KnownLines<HeaderLine>()) {
    this.#known = known;
  }

  /** Prepares for the next head. */
  expectHead(): void {
    this.#clear();
    this.#expectsStatusLine = true;
  }

  /** Prepares for trailers, which have no status line. */
  expectTrailers(): void {
    this.#clear();
    this.#expectsStatusLine = false;
  }

  #clear(): void {
    this.fields = [];
    this.isComplete = false;
    this.#unfinished = '';
    this.#bytes = 0;
  }

  /** Reads bytes up to `end`, or up to the end of the head. Returns the position after the bytes that were read. */
  read(bytes: Buffer, at: number, end: number): number {
    let from = at;
    while (from < end && !this.isComplete) {
      const to = Math.min(end, from + PIECE_BYTES);
      from = to - this.#readText(bytes.toString('latin1', from, to));
    }
    return from;
  }

  /** Returns the number of characters after the head. */
  #readText(piece: string): number {
    const text = this.#unfinished === '' ? piece : this.#unfinished + piece;
    let from = 0;
    for (;;) {
      const known = this.#expectsStatusLine
        ? undefined
        : this.#known.find(this.fields.length / 2, text, from);
      if (known !== undefined) {
        this.#add(known);
        from += known.length;
        continue;
      }
      const lineFeed = text.indexOf('\n', from);
      if (lineFeed < 0) break;
      const lineEnd = lineFeed - 1;
      if (lineEnd < from || text.charCodeAt(lineEnd) !== CR)
        throw new InvalidResponse('a line ends without CR');
      if (this.#expectsStatusLine) this.#readStatusLine(text, from, lineEnd);
      else if (lineEnd > from) this.#readField(text, from, lineEnd);
      else {
        this.isComplete = true;
        return text.length - lineFeed - 1;
      }
      from = lineFeed + 1;
    }
    this.#unfinished = text.slice(from);
    this.#checkUnfinished();
    return 0;
  }

  /** An unfinished line must not be stored without limit, and another protocol may never send the end of a line. */
  #checkUnfinished(): void {
    const line = this.#unfinished;
    this.#checkSize(line.length);
    const { length } = PROTOCOL;
    if (this.#expectsStatusLine && line.slice(0, length) !== PROTOCOL.slice(0, line.length))
      throw new InvalidResponse('the response does not begin with a status line');
  }

  #checkSize(more: number): void {
    if (this.#bytes + more >= MAX_FIELD_BYTES) throw new InvalidResponse('the head is too large');
  }

  #readStatusLine(text: string, from: number, to: number): void {
    const version = text.slice(from, from + 9);
    const isKnown =
      version === 'HTTP/1.1 ' ||
      version === 'HTTP/1.0 ' ||
      version === 'HTTP/0.9 ' ||
      version === 'HTTP/2.0 ';
    if (!isKnown) throw new InvalidResponse('the response does not begin with a status line');
    let status = 0;
    for (let at = from + 9; at < from + 12; at += 1) {
      const digit = text.charCodeAt(at) - ZERO;
      if (!(digit >= 0 && digit <= 9)) throw new InvalidResponse('the status is not a number');
      status = status * 10 + digit;
    }
    if (status < 100 || (to > from + 12 && text.charCodeAt(from + 12) !== SPACE))
      throw new InvalidResponse('the status is not a number of three digits');
    const message = text.slice(from + 13, to);
    if (message.includes('\r')) throw new InvalidResponse('CR in the reason phrase');
    this.#checkSize(message.length);
    this.#bytes += message.length;
    this.status = status;
    this.message = message;
    this.isHttp11 = version === 'HTTP/1.1 ';
    this.#expectsStatusLine = false;
  }

  #readField(text: string, from: number, to: number): void {
    const colon = text.indexOf(':', from);
    if (colon < 0 || colon >= to) throw new InvalidResponse('a header has no colon');
    const name = detached(text.slice(from, colon));
    let value = withoutBlanks(text, colon + 1, to);
    // Other parsers do not see chunks then, so the coding is not accepted.
    const isCoding = name.length === 17 && name.toLowerCase() === 'transfer-encoding';
    if (isCoding && value !== '' && TAB_AT_END.test(text.slice(colon, to))) value += '\t';
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value))
      throw new InvalidResponse('a header is invalid');
    const whole = text.slice(from, to + LINE_BREAK);
    const line = { name, value: detached(value), length: whole.length };
    this.#known.keep(this.fields.length / 2, whole, line);
    this.#add(line);
  }

  #add({ name, value }: HeaderLine): void {
    this.#bytes += name.length;
    this.#checkSize(value.length);
    this.#bytes += value.length;
    this.fields.push(name, value);
  }
}
