type Decoder = InstanceType<typeof TextDecoder>;

/** Keeps no state between two calls without `stream`. */
const WHOLE = new TextDecoder('utf-8', { ignoreBOM: true });
const FIRST_NON_ASCII = 0x80;
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Decodes UTF-8 that arrives in chunks. A decoder that keeps its state costs twice as much, and its memory outside the heap makes
 * garbage collection slower, so it is created at the first chunk that may end within a character.
 */
export class StreamDecoder {
  #stateful: Decoder | null = null;
  #isStart = true;

  decode(chunk: Uint8Array): string {
    const isWhole = (chunk[chunk.length - 1] ?? 0) < FIRST_NON_ASCII;
    if (this.#stateful === null && isWhole) return this.#next(WHOLE.decode(chunk));
    this.#stateful ??= new TextDecoder('utf-8', { ignoreBOM: true });
    return this.#next(this.#stateful.decode(chunk, { stream: true }));
  }

  /** Returns the text of an incomplete character. */
  end(): string {
    return this.#next(this.#stateful?.decode() ?? '');
  }

  /** A byte order mark at the start is not a part of the text. */
  #next(text: string): string {
    if (!this.#isStart || text === '') return text;
    this.#isStart = false;
    return text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  }
}
