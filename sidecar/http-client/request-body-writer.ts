import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { UpstreamRequest } from '../proxy/upstream.ts';
import { lastChunk, type RequestHead } from './request-head.ts';

/** Maximum bytes of a body that is sent as a string with its head: one cheap call. A longer body would be copied. */
const MAX_TEXT = 15 * 1024;

/** Sends a complete request in one write, or in two if the body is long. */
export function writeWhole(
  socket: Socket,
  { text, isChunked, length }: RequestHead,
  body: Buffer | null,
  trailers: UpstreamRequest['trailers'],
): void {
  const bytes = body?.length ?? 0;
  if (isChunked) {
    socket.cork();
    socket.write(text, 'latin1');
    if (body !== null && bytes > 0) writeChunk(socket, body);
    socket.write(lastChunk(trailers()), 'latin1');
    socket.uncork();
    return;
  }
  if (bytes !== (length ?? 0)) throw new Error('the body does not have the declared length');
  if (body === null || bytes === 0) socket.write(text, 'latin1');
  else if (bytes <= MAX_TEXT) socket.write(text + body.toString('latin1'), 'latin1');
  else {
    socket.cork();
    socket.write(text, 'latin1');
    socket.write(body);
    socket.uncork();
  }
}

function writeChunk(socket: Socket, chunk: Buffer): void {
  const size = `${chunk.length.toString(16)}\r\n`;
  if (chunk.length <= MAX_TEXT) {
    socket.write(`${size}${chunk.toString('latin1')}\r\n`, 'latin1');
    return;
  }
  socket.cork();
  socket.write(size, 'latin1');
  socket.write(chunk);
  socket.write('\r\n', 'latin1');
  socket.uncork();
}

/**
 * Sends a body as it arrives. While the kernel does not accept all bytes, the body is paused, so that further bytes are stored
 * where small chunks are copied together.
 */
export class RequestBodyWriter {
  readonly #socket: Socket;
  readonly #body: Readable;
  readonly #head: RequestHead;
  readonly #trailers: UpstreamRequest['trailers'];
  readonly #onEnd: () => void;
  readonly #onError: (error: Error) => void;
  #sent = 0;

  constructor(
    socket: Socket,
    { body, trailers }: { body: Readable; trailers: UpstreamRequest['trailers'] },
    head: RequestHead,
    on: { end: () => void; error: (error: Error) => void },
  ) {
    this.#socket = socket;
    this.#body = body;
    this.#head = head;
    this.#trailers = trailers;
    this.#onEnd = on.end;
    this.#onError = on.error;
  }

  /** Sends the head immediately: it must not wait for the body. */
  start(): void {
    this.#socket.write(this.#head.text, 'latin1');
    this.#body.on('data', this.#send).on('end', this.#finish).on('error', this.#onError);
    this.#waitForRoom();
  }

  /** Call it when the request is over. */
  stop(): void {
    this.#body.off('data', this.#send).off('end', this.#finish).off('error', this.#onError);
    // The body may still fail, because it is destroyed.
    this.#body.on('error', () => undefined);
  }

  readonly #send = (chunk: Buffer): void => {
    const { isChunked, length } = this.#head;
    if (chunk.length === 0) return;
    this.#sent += chunk.length;
    if (isChunked) writeChunk(this.#socket, chunk);
    // Further bytes would be read as the next request.
    else if (this.#sent > (length ?? 0)) {
      this.#onError(new Error('the body is longer than its length'));
      return;
    } else this.#socket.write(chunk);
    this.#waitForRoom();
  };

  #waitForRoom(): void {
    if (this.#socket.writableLength === 0) return;
    this.#body.pause();
    // Written after all other bytes. The high-water mark of the socket would allow further bytes earlier.
    this.#socket.write('', this.#goOn);
  }

  readonly #goOn = (error?: Error | null): void => {
    if (!error && !this.#body.destroyed) this.#body.resume();
  };

  readonly #finish = (): void => {
    const { isChunked, length } = this.#head;
    if (!isChunked && this.#sent !== length) {
      this.#onError(new Error('the body is shorter than its length'));
      return;
    }
    if (isChunked) this.#socket.write(lastChunk(this.#trailers()), 'latin1');
    this.#onEnd();
  };
}
