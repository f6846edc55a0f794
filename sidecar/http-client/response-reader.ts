import type { HeaderLine, KnownLines } from '../../core/untrusted/known-lines.ts';
import type { UpstreamHandler } from '../proxy/upstream.ts';
import { ChunkReader } from './chunk-reader.ts';
import { framingOf, type BodyEnd } from './framing.ts';
import { HeadReader } from './head-reader.ts';
import { InvalidResponse } from './invalid-response.ts';

/** Receives one response, in this order: information*, head, data*, end. A chunk of data is not used again. */
export type ResponseSink = Pick<UpstreamHandler, 'onInformation' | 'onHead' | 'onData' | 'onEnd'>;

type State = BodyEnd | 'head' | 'over';

const NO_FIELDS: readonly string[] = [];

/**
 * Reads one response after the other as the bytes arrive. Nothing is stored except the head that is being read. Throws
 * `InvalidResponse` if the bytes are not one valid response; the reader must not be used after that.
 */
export class ResponseReader {
  /** true: the connection may be used for another request. Valid after the end of a response. */
  persists = false;
  /** Value of Keep-Alive. */
  keepAlive = '';
  readonly #head: HeadReader;
  readonly #chunks: ChunkReader;
  #sink: ResponseSink | null = null;
  #isHead = false;
  #state: State = 'over';
  /** Missing bytes of a body with a length. */
  #missing = 0;

  /** `known`: header lines of other responses of the same server. */
  constructor(known?: KnownLines<HeaderLine>) {
    this.#head = new HeadReader(known);
    this.#chunks = new ChunkReader(this.#head);
  }

  /** Prepares for the response to the next request. */
  expect(sink: ResponseSink, method: string): void {
    this.#sink = sink;
    this.#isHead = method === 'HEAD';
    this.#state = 'head';
    this.#head.expectHead();
  }

  /** Stops in the middle of a response: `read` passes on nothing more. */
  stop(): void {
    this.#state = 'over';
    this.#sink = null;
  }

  /** true: the response is complete, or was stopped. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /**
   * Reads bytes up to `end`, or up to the end of the response. Returns the position after the bytes that were read. The buffer
   * is changed, and may be used again afterwards.
   */
  read(bytes: Buffer, end: number): number {
    let at = 0;
    while (at < end) {
      switch (this.#state) {
        case 'head':
          at = this.#head.read(bytes, at, end);
          if (this.#head.isComplete) this.#endHead();
          break;
        case 'length':
          at = this.#readSized(bytes, at, end);
          break;
        case 'chunks':
          at = this.#readChunks(bytes, at, end);
          break;
        case 'close':
          this.#pass(bytes, at, end);
          return end;
        default:
          return at;
      }
    }
    return at;
  }

  /** The agent has ended the connection. Only a body without a length is complete now. */
  readEnd(): void {
    if (this.#state === 'close') this.#end(NO_FIELDS);
    else if (this.#state !== 'over')
      throw new InvalidResponse('the connection ended before the end of the response');
  }

  #endHead(): void {
    const head = this.#head;
    const { status, message, fields } = head;
    if (status === 101) throw new InvalidResponse('the agent switched protocols without an upgrade request');
    const { end, length, persists, keepAlive } = framingOf(head, this.#isHead);
    if (status < 200) {
      head.expectHead();
      this.#sink?.onInformation(status, fields);
      if (!persists) throw new InvalidResponse('an informational response ends the connection');
      return;
    }
    this.persists = persists;
    this.keepAlive = keepAlive;
    this.#missing = length;
    this.#state = end;
    if (end === 'chunks') this.#chunks.reset();
    this.#sink?.onHead(status, message, fields);
    if (end === 'none' || (end === 'length' && length === 0)) this.#end(NO_FIELDS);
  }

  #readSized(bytes: Buffer, at: number, end: number): number {
    const to = Math.min(end, at + this.#missing);
    this.#missing -= to - at;
    this.#pass(bytes, at, to);
    if (this.#missing === 0) this.#end(NO_FIELDS);
    return to;
  }

  #readChunks(bytes: Buffer, at: number, end: number): number {
    const chunks = this.#chunks;
    const to = chunks.decode(bytes, at, end);
    if (chunks.dataEnd > at) this.#pass(bytes, at, chunks.dataEnd);
    if (chunks.error !== null) throw chunks.error;
    if (chunks.isComplete) this.#end(this.#head.fields);
    return to;
  }

  /** Copies the bytes: the buffer belongs to all connections. */
  #pass(bytes: Buffer, from: number, to: number): void {
    this.#sink?.onData(Buffer.from(bytes.subarray(from, to)));
  }

  #end(rawTrailers: readonly string[]): void {
    // A handler may have stopped the response.
    if (this.#state === 'over') return;
    const sink = this.#sink;
    this.stop();
    sink?.onEnd(rawTrailers);
  }
}
