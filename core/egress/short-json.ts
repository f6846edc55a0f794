/**
 * Bytes of a string that are kept. Names, ids and most arguments are shorter. Half of what a stream may hold without reserving memory:
 * otherwise the begin of a string could be too much to hold before it is known to be long.
 */
export const MAX_STRING_BYTES = 8 * 1024;

const [QUOTE, BACKSLASH, LF, CR, LETTER_U] = [0x22, 0x5c, 0x0a, 0x0d, 0x75] as const;
/** Bytes that end a run of plain text in a string. No string of JSON has a line end: it ends a quote outside of JSON, as in a comment. */
const SPECIAL = [QUOTE, BACKSLASH, LF, CR] as const;
const ESCAPE_DIGITS = 4;
/** After the number in a mark. */
const END = '~';

const isOpening = (byte: number): boolean => byte === 0x7b || byte === 0x5b;
const isClosing = (byte: number): boolean => byte === 0x7d || byte === 0x5d;
/** Of UTF-8: the byte is not the first one of its character. */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/**
 * A document that is too large to be parsed, such as one with a picture, with marks in place of what follows the first bytes of its long
 * strings. It is still valid JSON with the same structure. The bytes may be JSON, or an event with JSON in it.
 */
export class ShortJson {
  readonly #maxBytes: number;
  /** Stands for the rest of a string, with its number. Random: otherwise a model could write it, and a picture would be inserted there. */
  readonly #mark = `~${crypto.randomUUID()}~`;
  #kept = Buffer.allocUnsafeSlow(MAX_STRING_BYTES);
  #length = 0;
  /** Bytes of the document before the current chunk. */
  #offset = 0;
  /** The parts of the document that are left out. `end` Infinity: not received yet. */
  readonly #cuts: { start: number; end: number }[] = [];
  /** Closing brackets of what is open. */
  readonly #open: number[] = [];
  /** The document up to the last cut, as valid JSON: bytes that are kept, and the brackets behind them. null: a part had it. */
  #prefix: { length: number; closing: Buffer } | null = null;
  #passed = 0;
  #isString = false;
  /** Bytes of the current string. */
  #stringBytes = 0;
  /** Bytes of an escape sequence that follow; -1: the letter after the backslash. */
  #escape = 0;
  /** Begin of the bytes of the current chunk that are not copied yet. */
  #from = 0;

  /** `maxBytes`: of the short document. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** true: it has too much in addition to long strings, so it cannot be read. */
  get isTooLong(): boolean {
    return this.#length > this.#maxBytes;
  }

  /** The document, as far as it was received. */
  get bytes(): Buffer {
    return this.#kept.subarray(0, this.#length);
  }

  /** Bytes of the document that passed as parts. */
  get passed(): number {
    return this.#passed;
  }

  /**
   * The part of the document that passes now, because there is no room for it: up to the end of the last long string. `prefix`: the
   * document up to there, closed so that it can be parsed; null: as in the last part. null: nothing can pass, or it is too long.
   */
  part(): { bytes: number; prefix: Buffer | null } | null {
    const end = Math.min(this.#cuts.at(-1)?.end ?? 0, this.#offset);
    const bytes = end - this.#passed;
    if (bytes <= 0 || this.isTooLong) return null;
    const prefix = this.#prefix;
    [this.#passed, this.#prefix] = [end, null];
    if (prefix === null) return { bytes, prefix };
    return { bytes, prefix: Buffer.concat([this.#kept.subarray(0, prefix.length), prefix.closing]) };
  }

  add(chunk: Buffer): void {
    if (this.isTooLong) return;
    /** The next position of each special byte: a search from the begin of every string would read the chunk again and again. */
    const next = SPECIAL.map(() => -1);
    this.#from = 0;
    for (let at = 0; at < chunk.length;)
      at = this.#isString ? this.#readString(chunk, at, next) : this.#readStructure(chunk, at);
    if (!this.#isCut) this.#keep(chunk.subarray(this.#from));
    this.#offset += chunk.length;
  }

  /** `text`, written from this document, with the strings as they were. `raw`: the whole document. */
  restore(text: string, raw: Buffer): Buffer {
    const [begin = '', ...parts] = text.split(this.#mark);
    const restored = parts.flatMap((part) => {
      const end = part.indexOf(END);
      const cut = this.#cuts[Number(part.slice(0, end))];
      return [raw.subarray(cut?.start, cut?.end), Buffer.from(part.slice(end + 1))];
    });
    return Buffer.concat([Buffer.from(begin), ...restored]);
  }

  get #isCut(): boolean {
    return this.#cuts.at(-1)?.end === Infinity;
  }

  #readStructure(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (byte === QUOTE) {
        this.#isString = true;
        this.#stringBytes = 0;
        return at + 1;
      }
      // The closing bracket has the code of the opening one plus two.
      if (isOpening(byte)) this.#open.push(byte + 2);
      else if (isClosing(byte)) this.#open.pop();
    }
    return chunk.length;
  }

  #readString(chunk: Buffer, at: number, next: number[]): number {
    if (this.#escape !== 0) {
      this.#escape = this.#escape > 0 ? this.#escape - 1 : chunk[at] === LETTER_U ? ESCAPE_DIGITS : 0;
      this.#stringBytes += 1;
      return at + 1;
    }
    let end = chunk.length;
    for (let index = 0; index < SPECIAL.length; index += 1) {
      let found = next[index] ?? -1;
      if (found < at) found = chunk.indexOf(SPECIAL[index] ?? QUOTE, at);
      if (found < 0) found = chunk.length;
      next[index] = found;
      end = Math.min(end, found);
    }
    this.#readText(chunk, at, end);
    if (end === chunk.length) return end;
    if (chunk[end] === BACKSLASH) {
      this.#escape = -1;
      this.#stringBytes += 1;
      return end + 1;
    }
    this.#endString(end);
    return end + 1;
  }

  /** Cuts a string that becomes too long here, between two characters. */
  #readText(chunk: Buffer, at: number, end: number): void {
    let cut = at + Math.max(0, MAX_STRING_BYTES - this.#stringBytes);
    this.#stringBytes += end - at;
    while (cut < end && isContinuation(chunk[cut])) cut += 1;
    if (this.#isCut || cut > end || (cut === end && chunk[end] !== BACKSLASH)) return;
    this.#keep(chunk.subarray(this.#from, cut));
    this.#keep(Buffer.from(`${this.#mark}${this.#cuts.length}${END}`));
    this.#cuts.push({ start: this.#offset + cut, end: Infinity });
    this.#prefix = { length: this.#length, closing: Buffer.from([QUOTE, ...this.#open.toReversed()]) };
  }

  #endString(at: number): void {
    this.#isString = false;
    const last = this.#cuts.at(-1);
    if (last?.end !== Infinity) return;
    last.end = this.#offset + at;
    this.#from = at;
  }

  #keep(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#kept.length && length <= this.#maxBytes) {
      const larger = Buffer.allocUnsafeSlow(
        Math.min(this.#maxBytes, Math.max(length, 2 * this.#kept.length)),
      );
      larger.set(this.bytes);
      this.#kept = larger;
    }
    if (length <= this.#kept.length) this.#kept.set(bytes, this.#length);
    this.#length = length;
    if (this.isTooLong) this.#kept = Buffer.alloc(0);
  }
}
