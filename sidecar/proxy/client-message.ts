import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { StalledPeer } from './stalled-peer.ts';

/** A client's request. Node.js reads it, or `readPlainRequest`. */
export type ClientRequest = Pick<
  IncomingMessage,
  'method' | 'url' | 'httpVersion' | 'rawHeaders' | 'rawTrailers' | 'socket' | 'complete'
>;

/** The response to a client's request. Node.js writes it, or `PlainResponse`. */
export interface ClientResponse extends Pick<
  ServerResponse,
  | 'socket'
  | 'statusCode'
  | 'headersSent'
  | 'shouldKeepAlive'
  | 'chunkedEncoding'
  | 'writableEnded'
  | 'writableFinished'
  | 'writableLength'
  | 'writableHighWaterMark'
  | 'destroyed'
  | 'writeProcessing'
> {
  readonly req: ClientRequest;
  writeHead(status: number, message: string, headers: Record<string, string | number> | string[]): void;
  writeEarlyHints(hints: Record<string, string | string[]>): void;
  addTrailers(pairs: readonly [name: string, value: string][]): void;
  write(part: string | Buffer, encoding: 'latin1'): boolean;
  end(): void;
  end(part: string | Buffer, encoding: 'latin1' | 'utf8'): void;
  on(event: 'close' | 'finish', listener: () => void): this;
  once(event: 'close' | 'finish' | 'drain', listener: () => void): this;
  once(event: 'socket', listener: (socket: Socket) => void): this;
}

/** The body of a request. */
export interface ClientBody {
  /**
   * Returns the whole body if it arrived with the head, which costs less than a stream. Call it once, in the tick after the head.
   * @param bodyBytes Infinity: unknown in advance
   * @param onChunk gets each part as it is read; not called over HTTP/2
   */
  take(
    bodyBytes: number,
    onChunk: (chunk: Buffer) => void,
    stuck: Pick<StalledPeer, 'hold' | 'release'>,
  ): Buffer | Readable;
  /** Reads and drops the rest. Call it when the response is sent. */
  drop(): void;
}
