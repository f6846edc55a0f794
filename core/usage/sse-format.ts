/** A piece of a stream: text, or bytes of UTF-8. */
export type Chunk = string | Uint8Array;

/** What clients read in one part of a stream: an event or a line. */
export interface StreamEvent {
  /** Name of the event; null: none. */
  event: string | null;
  /** The data lines, joined by line feeds; null: none. */
  data: string | null;
}

/** Finds where the parts of a stream end. Keeps its state between chunks. */
export interface Ends {
  /** Positions after the ends of parts in the chunk, ascending. */
  in(chunk: Chunk): number[];
}

/** How a stream is divided into parts, and how a part is read. */
export interface StreamFormat {
  createEnds: () => Ends;
  read: (part: string) => StreamEvent;
}

/** Each character as text and as its byte. */
interface Character {
  text: string;
  byte: number;
}

const LF: Character = { text: '\n', byte: 0x0a };
const CR: Character = { text: '\r', byte: 0x0d };
const COLON: Character = { text: ':', byte: 0x3a };

const indexOf = (chunk: Chunk, { text, byte }: Character, from: number): number =>
  typeof chunk === 'string' ? chunk.indexOf(text, from) : chunk.indexOf(byte, from);

const isAt = (chunk: Chunk, { text, byte }: Character, at: number): boolean =>
  chunk[at] === (typeof chunk === 'string' ? text : byte);

/**
 * Lines end with CRLF, LF or CR. A comment in front of an event is a part of its own, so that a keep-alive comment does not wait
 * for the next event.
 */
class SseEnds implements Ends {
  #isLineEmpty = true;
  #isComment = false;
  /** The part has a line that is not a comment. */
  #hasFields = false;
  /** A line feed at the begin of the next chunk belongs to the last line end. */
  #isAfterReturn = false;

  in(chunk: Chunk): number[] {
    if (chunk.length === 0) return [];
    const ends: number[] = [];
    let [at, feed, carriageReturn] = [0, indexOf(chunk, LF, 0), indexOf(chunk, CR, 0)];
    if (this.#isAfterReturn && feed === 0) {
      // The part may already be sent: its last byte must not wait for the next part.
      if (this.#isLineEmpty && !this.#hasFields) ends.push(1);
      at = 1;
      feed = indexOf(chunk, LF, at);
    }
    for (;;) {
      const end = firstOf(feed, carriageReturn);
      if (end < 0) break;
      if (end > at) this.#startLine(chunk, at);
      at = end + (end === carriageReturn && feed === end + 1 ? 2 : 1);
      if (this.#endLine()) ends.push(at);
      if (feed >= 0 && feed < at) feed = indexOf(chunk, LF, at);
      if (carriageReturn >= 0 && carriageReturn < at) carriageReturn = indexOf(chunk, CR, at);
    }
    if (at < chunk.length) this.#startLine(chunk, at);
    this.#isAfterReturn = isAt(chunk, CR, chunk.length - 1);
    return ends;
  }

  #startLine(chunk: Chunk, at: number): void {
    if (!this.#isLineEmpty) return;
    this.#isLineEmpty = false;
    this.#isComment = isAt(chunk, COLON, at);
  }

  /** Returns whether the part ends with this line. */
  #endLine(): boolean {
    const isEnd = this.#isLineEmpty || (this.#isComment && !this.#hasFields);
    this.#hasFields = !isEnd;
    this.#isLineEmpty = true;
    return isEnd;
  }
}

class LineEnds implements Ends {
  in(chunk: Chunk): number[] {
    const ends: number[] = [];
    for (let at = indexOf(chunk, LF, 0); at >= 0; at = indexOf(chunk, LF, at + 1)) ends.push(at + 1);
    return ends;
  }
}

/** Server-sent events. */
export const SSE: StreamFormat = { createEnds: () => new SseEnds(), read: readEvent };

/** Newline-delimited JSON, such as Ollama's streams. */
export const LINES: StreamFormat = { createEnds: () => new LineEnds(), read: readLine };

/** The smaller position; -1: not found. */
function firstOf(a: number, b: number): number {
  if (a < 0) return b;
  return b < 0 ? a : Math.min(a, b);
}

function readEvent(part: string): StreamEvent {
  const last = part.length - 2;
  // Most events are one line of data.
  if (
    part.startsWith('data: ') &&
    part.indexOf('\n') === last &&
    part.endsWith('\n\n') &&
    !part.includes('\r')
  )
    return { event: null, data: part.slice(6, last) };
  const text = part.includes('\r') ? part.replaceAll(/\r\n?/g, '\n') : part;
  let event: string | null = null;
  let data: string | null = null;
  for (let at = 0; at < text.length;) {
    const found = text.indexOf('\n', at);
    const end = found < 0 ? text.length : found;
    if (text.startsWith('data', at) && (text[at + 4] === ':' || at + 4 === end)) {
      const value = valueIn(text, at + 5, end);
      data = data === null ? value : `${data}\n${value}`;
    } else if (text.startsWith('event:', at)) event = valueIn(text, at + 6, end);
    at = end + 1;
  }
  return { event: event === '' ? null : event, data };
}

/** The value of a field, without one leading space. */
function valueIn(text: string, from: number, end: number): string {
  return text.slice(text[from] === ' ' ? from + 1 : from, end);
}

function readLine(part: string): StreamEvent {
  const data = part.trim();
  return { event: null, data: data === '' ? null : data };
}
