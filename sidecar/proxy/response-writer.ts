import type { ClientResponse } from './client-message.ts';
import { cutOff } from './connection-end.ts';

/** Where a response comes from. It is paused while the client does not read. */
export interface Source {
  pause(): void;
  resume(): void;
}

/** Maximum bytes written as a string. Node writes a head and a short string in one cheap call; a buffer is more expensive. */
const MAX_TEXT = 15 * 1024;

/** Writes a response body. Everything received in one read is sent in one write, with the head and the end. */
export class ResponseWriter {
  /** true: the source is paused. */
  isFull = false;
  readonly #response: ClientResponse;
  readonly #source: Source;
  /** Chunks since the last flush. */
  #chunks: Buffer[] = [];
  /** true: there is a head or a chunk that is not sent. */
  #isPending = false;
  #isCut = false;

  constructor(response: ClientResponse, source: Source) {
    this.#response = response;
    this.#source = source;
  }

  /** The head is written. It is sent with the next flush. */
  begin(): void {
    this.#isPending = true;
  }

  /** The chunk is sent with the next flush. */
  write(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#isPending = true;
  }

  /** Sends the chunk at once. */
  send(chunk: Buffer): void {
    this.write(chunk);
    this.flush();
  }

  end(): void {
    if (this.#chunks.length === 0) this.#response.end();
    else this.#response.end(joined(this.#chunks), 'latin1');
  }

  /** Sends what was received of the response, including its head, then cuts the connection. */
  cut(): void {
    this.flush();
    this.#isCut = true;
    cutOff(this.#response);
  }

  /** Sends everything, including a head without body bytes. Call it after each read: nothing waits for later data. */
  flush(): void {
    if (!this.#isPending) return;
    this.#isPending = false;
    const response = this.#response;
    if (this.#isCut || response.writableEnded || response.destroyed) return;
    // Not flushHeaders() for a head without body: it writes UTF-8, so header bytes above ASCII would arrive as two bytes.
    const hasRoom = written(response, joined(this.#chunks));
    this.#chunks = [];
    if (hasRoom || this.isFull) return;
    this.isFull = true;
    this.#source.pause();
    response.once('drain', () => {
      this.isFull = false;
      this.#source.resume();
    });
  }
}

/**
 * Writes a part of the body. Node.js writes a part of a chunked body as four pieces; a text with its frame is one, which costs a third
 * less. The end of the body, with its trailers, is Node's.
 */
function written(response: ClientResponse, part: string | Buffer): boolean {
  if (typeof part !== 'string' || part === '' || !response.headersSent || !response.chunkedEncoding)
    return response.write(part, 'latin1');
  response.chunkedEncoding = false;
  const hasRoom = response.write(`${part.length.toString(16)}\r\n${part}\r\n`, 'latin1');
  response.chunkedEncoding = true;
  return hasRoom;
}

/** Joins the chunks. A short result is a latin1 string, one character per byte. */
function joined(chunks: readonly Buffer[]): string | Buffer {
  const [first] = chunks;
  let bytes = 0;
  for (const { length } of chunks) bytes += length;
  if (bytes > MAX_TEXT) return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
  let text = '';
  for (const chunk of chunks) text += chunk.toString('latin1');
  return text;
}
