import { LINES, SSE, type StreamFormat } from '../usage/sse-format.ts';
import type { Frame } from './model-wire.ts';
import { ShortJson } from './short-json.ts';

/** Bytes. Of a longer frame, `data` has marks in place of long strings (`ShortJson`); without them it has as many bytes at most. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

/** Splits a stream into frames, independent of chunk boundaries. The frames together have all bytes of the stream. */
export interface FrameSplitter {
  /** The frames that end in this chunk, and the parts of a frame that cannot be read. The chunk must not be changed later. */
  push(chunk: Buffer): Frame[];
  /** Bytes of the frame that is not complete. */
  readonly heldBytes: number;
  /** There is no room for the incomplete frame: the part of it that passes now. It ends with a long string, or cannot be read. */
  part(): Frame[];
  /** The rest of the stream. An event without a blank line at its end is still read, because many servers end this way. */
  end(): Frame[];
}

/**
 * Splits server-sent events. Lines end with CRLF, LF or CR. A comment in front of an event is a frame of its own, so that a
 * keep-alive comment does not wait for the next event.
 */
export function createSseFrames(maxBytes: number = MAX_FRAME_BYTES): FrameSplitter {
  return splitterOf(SSE, maxBytes);
}

/** Splits newline-delimited JSON, such as Ollama's streams. */
export function createLineFrames(maxBytes: number = MAX_FRAME_BYTES): FrameSplitter {
  return splitterOf(LINES, maxBytes);
}

/** A frame with other data, in the form of `frame`: an SSE event or a line. */
export function frameLike({ raw, short }: Frame, data: string, event: string | null): Frame {
  const end = lineEndOf(raw);
  const bytes = (text: string): Buffer => short?.restore(text, raw) ?? Buffer.from(text);
  if (isLine(raw)) return { raw: bytes(data + end), event: null, data };
  const name = event === null ? '' : `event: ${event}${end}`;
  const lines = data.replaceAll('\n', `${end}data: `);
  return { raw: bytes(`${name}data: ${lines}${end}${end}`), event, data };
}

const [LF, CR] = [0x0a, 0x0d] as const;
const BYTE_ORDER_MARK = '\uFEFF';

function splitterOf(format: StreamFormat, maxBytes: number): FrameSplitter {
  const ends = format.createEnds();
  let isFirst = true;
  const read = (raw: Buffer): Frame => {
    const text = raw.toString('utf8');
    const part = isFirst && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
    isFirst = false;
    const { event, data } = format.read(part);
    return { raw, event, data };
  };
  const frame = new OpenFrame(read, maxBytes);
  return {
    get heldBytes() {
      return frame.length;
    },
    part: () => frame.part(),
    push(chunk) {
      const frames: Frame[] = [];
      let start = 0;
      for (const end of ends.in(chunk)) {
        frame.add(chunk.subarray(start, end), true, frames);
        start = end;
      }
      if (start < chunk.length) frame.add(start === 0 ? chunk : chunk.subarray(start), false, frames);
      return frames;
    },
    end() {
      const frames: Frame[] = [];
      frame.add(Buffer.alloc(0), true, frames);
      return frames;
    },
  };
}

/** The frame that is not complete. */
class OpenFrame {
  /** Bytes that are held. */
  length = 0;
  readonly #read: (raw: Buffer) => Frame;
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  /** Of a large frame. */
  #short: ShortJson | null = null;
  /** The rest of the frame passes as it arrives. */
  #isUnread = false;

  constructor(read: (raw: Buffer) => Frame, maxBytes: number) {
    this.#read = read;
    this.#maxBytes = maxBytes;
  }

  add(piece: Buffer, isEnd: boolean, frames: Frame[]): void {
    if (piece.length > 0) this.#pieces.push(piece);
    this.length += piece.length;
    if (this.#short !== null) this.#short.add(piece);
    else if (this.length > this.#maxBytes && !this.#isUnread) this.#shorten();
    if (this.#short?.isTooLong === true) frames.push(this.#unread());
    else if (this.#isUnread && this.length > 0) frames.push(plain(this.#taken()));
    else if (isEnd && this.length + (this.#short?.passed ?? 0) > 0) frames.push(this.#whole());
    if (!isEnd) return;
    [this.#short, this.#isUnread] = [null, false];
  }

  part(): Frame[] {
    if (this.length === 0) return [];
    if (this.#isUnread) return [plain(this.#taken())];
    const part = (this.#short ?? this.#shorten()).part();
    if (part === null) return [this.#unread()];
    const held = this.#taken();
    const raw = held.subarray(0, part.bytes);
    this.#pieces = [held.subarray(part.bytes)];
    this.length = held.length - part.bytes;
    return [part.prefix === null ? plain(raw) : { ...this.#read(part.prefix), raw, part: 'begin' }];
  }

  #shorten(): ShortJson {
    const short = new ShortJson(this.#maxBytes);
    for (const piece of this.#pieces) short.add(piece);
    this.#short = short;
    return short;
  }

  #whole(): Frame {
    const short = this.#short;
    const raw = this.#taken();
    if (short === null) return this.#read(raw);
    const frame = { ...this.#read(short.bytes), raw };
    return short.passed === 0 ? { ...frame, short } : { ...frame, part: 'end' };
  }

  #unread(): Frame {
    this.#isUnread = true;
    this.#short = null;
    return { ...plain(this.#taken()), part: 'begin' };
  }

  /** The held bytes as one buffer. */
  #taken(): Buffer {
    const [first] = this.#pieces;
    const raw =
      this.#pieces.length === 1 && first !== undefined ? first : Buffer.concat(this.#pieces, this.length);
    [this.#pieces, this.length] = [[], 0];
    return raw;
  }
}

/** A frame without data. */
const plain = (raw: Buffer): Frame => ({ raw, event: null, data: null });

/** Fields of SSE events never begin with a brace. */
function isLine(raw: Buffer): boolean {
  return /^\s*[{[]/.test(raw.toString('latin1', 0, 64));
}

function lineEndOf(raw: Buffer): string {
  const last = raw.at(-1);
  if (last === CR) return '\r';
  return last === LF && raw.at(-2) === CR ? '\r\n' : '\n';
}
