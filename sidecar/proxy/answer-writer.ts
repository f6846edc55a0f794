import type { ServerResponse } from 'node:http';
import { cutOff } from './connection-end.ts';

/** The side that an answer comes from, held back while the client takes no more. */
export interface Source {
  pause(): void;
  resume(): void;
}

/** Node writes a head and a text in one cheap call, a head and bytes in a dear one; over this size its cheap call is none. */
const MAX_TEXT = 15 * 1024;

/** Writes the body of an answer: what came in one turn of the event loop goes out in one write, with the head or the end if they came in it too. */
export class AnswerWriter {
  readonly #response: ServerResponse;
  readonly #source: Source;
  /** Of this turn. */
  #chunks: Buffer[] = [];
  #willFlush = false;
  #isFull = false;
  #isCut = false;

  constructor(response: ServerResponse, source: Source) {
    this.#response = response;
    this.#source = source;
  }

  /** The source is held back. */
  get isFull(): boolean {
    return this.#isFull;
  }

  write(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.flushSoon();
  }

  end(): void {
    if (this.#chunks.length === 0) this.#response.end();
    else this.#response.end(joined(this.#chunks), 'latin1');
  }

  /** Breaks the answer off behind what has come of it, its head too. */
  cut(): void {
    if (this.#willFlush) this.#flush();
    this.#isCut = true;
    cutOff(this.#response);
  }

  /** Nothing waits for what may come later: at the end of this turn all of it goes out, a head too that no body came with. */
  flushSoon(): void {
    if (this.#willFlush) return;
    this.#willFlush = true;
    process.nextTick(this.#flush);
  }

  readonly #flush = (): void => {
    const response = this.#response;
    this.#willFlush = false;
    if (this.#isCut || response.writableEnded || response.destroyed) return;
    // Nor is a lone head flushed by flushHeaders(), which writes UTF-8: header bytes above ASCII would arrive as two.
    const hasRoom = response.write(joined(this.#chunks), 'latin1');
    this.#chunks = [];
    if (hasRoom || this.#isFull) return;
    this.#isFull = true;
    this.#source.pause();
    response.once('drain', () => {
      this.#isFull = false;
      this.#source.resume();
    });
  };
}

/** One piece; a short one as a string whose characters are its bytes. */
function joined(chunks: readonly Buffer[]): string | Buffer {
  const [first] = chunks;
  let bytes = 0;
  for (const { length } of chunks) bytes += length;
  if (bytes > MAX_TEXT) return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  let text = '';
  for (const chunk of chunks) text += chunk.toString('latin1');
  return text;
}
