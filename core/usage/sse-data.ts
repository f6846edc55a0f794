import { detached } from '../untrusted/fields.ts';
import type { Ends, StreamFormat } from './sse-format.ts';

export interface TextHandlers {
  /** `event`: name of the event; null: no name. */
  onData(data: string, event: string | null): void;
  /** Called once with the start of an event or line that is too long. */
  onSkip?(start: string): void;
}

/** Characters of a skipped event or line. */
const SKIPPED_START = 4096;

/**
 * Reads the text of a stream event by event or line by line, independent of chunk boundaries. Keeps one unfinished part of at most
 * `maxLength` UTF-16 units. A longer part is skipped completely.
 */
export class StreamReader {
  readonly #ends: Ends;
  readonly #read: StreamFormat['read'];
  readonly #handlers: TextHandlers;
  readonly #maxLength: number;
  #pieces: string[] = [];
  #held = 0;
  #isSkipping = false;

  constructor({ createEnds, read }: StreamFormat, handlers: TextHandlers, maxLength: number) {
    this.#ends = createEnds();
    this.#read = read;
    this.#handlers = handlers;
    this.#maxLength = maxLength;
  }

  /** UTF-16 units kept of the unfinished part. */
  heldLength(): number {
    return this.#isSkipping ? 0 : this.#held;
  }

  write(text: string): void {
    let start = 0;
    for (const end of this.#ends.in(text)) {
      const piece = text.slice(start, end);
      // The line feed may be in the next chunk instead, where it is a part of its own.
      this.#hold(piece, piece.endsWith('\r\n') ? piece.length - 1 : piece.length);
      this.#finish();
      start = end;
    }
    if (start < text.length) this.#hold(text.slice(start), text.length - start);
  }

  /** Ends the stream. A last event without a blank line still counts, because many servers end their streams this way. */
  end(): void {
    this.#finish();
  }

  #hold(piece: string, length: number): void {
    this.#held += length;
    if (this.#isSkipping) return;
    this.#pieces.push(piece);
    if (this.#held <= this.#maxLength) return;
    this.#handlers.onSkip?.(detached(this.#pieces.join('').slice(0, SKIPPED_START)));
    this.#isSkipping = true;
    this.#pieces = [];
  }

  #finish(): void {
    const [first = ''] = this.#pieces;
    // Most parts arrive in one piece.
    const part = this.#pieces.length > 1 ? this.#pieces.join('') : first;
    const { event, data } = this.#read(part);
    if (data !== null) this.#handlers.onData(data, event);
    this.#pieces = [];
    this.#held = 0;
    this.#isSkipping = false;
  }
}
