import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { lingerOver } from '../proxy/connection-end.ts';
import { frame, type Framed } from '../proxy/framing.ts';
import { printable, type HeaderList } from '../proxy/headers.ts';
import { BodyInlet } from '../proxy/request-body.ts';
import type { ResponseWriter } from '../proxy/response-writer.ts';
import type { Stuck } from '../proxy/stuck.ts';
import type { ArrivingRequest } from './lane-entrance.ts';
import { http2Headers } from './lane-headers.ts';

/** A request of the agent with its response, over HTTP/1.1 or HTTP/2. */
export interface LaneClient extends ArrivingRequest {
  /** Receives the body. Call it when the head arrives. */
  receive(): LaneBody;
  readonly response: ServerResponse;
  /** Throws if a header is not valid. */
  writeHead(status: number, message: string, headers: HeaderList): void;
  /** Sends what was written, then ends the connection or stream, so that the client notices that the response is not complete. */
  cut(writer: ResponseWriter): void;
  /** Ends the connection at once. */
  destroy(): void;
  /** Call it when the response is sent. */
  sent(): void;
  /** For a disconnection that the response does not notice. */
  onDisconnect(listener: () => void): void;
}

/** The body of a request. */
export interface LaneBody {
  /**
   * Returns the whole body if it arrived with the head, which costs less than a stream. Call it once, in the tick after the head.
   * @param bodyBytes Infinity: unknown in advance
   * @param onBytes gets the length of each part as it is read; not called over HTTP/2
   */
  take(
    bodyBytes: number,
    onBytes: (count: number) => void,
    stuck: Pick<Stuck, 'hold' | 'release'>,
  ): Buffer | Readable;
  /** Reads and drops the rest. Call it when the response is sent. */
  drop(): void;
}

/** Over HTTP/1.1. */
export class Http1Client implements LaneClient {
  readonly method: string;
  readonly rawHeaders: HeaderList;
  readonly headers: IncomingHttpHeaders;
  readonly socket: Socket;
  readonly framed: Framed;
  readonly response: ServerResponse;
  readonly #request: IncomingMessage;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.method = request.method ?? 'GET';
    this.rawHeaders = request.rawHeaders;
    this.headers = request.headers;
    this.socket = request.socket;
    this.framed = frame(request);
    this.response = response;
    this.#request = request;
  }

  receive(): LaneBody {
    return new BodyInlet(this.#request);
  }

  writeHead(status: number, message: string, headers: HeaderList): void {
    this.response.writeHead(status, printable(message), [...headers]);
  }

  cut(writer: ResponseWriter): void {
    writer.cut();
  }

  destroy(): void {
    this.socket.destroy();
  }

  sent(): void {
    lingerOver(this.#request);
  }

  /** A pipelined response before its turn has no socket, so it emits no 'close'. */
  onDisconnect(listener: () => void): void {
    if (this.response.socket === null) this.socket.setMaxListeners(0).once('close', listener);
  }
}

export function http2Client(request: Http2ServerRequest, response: Http2ServerResponse): LaneClient {
  const { stream } = request;
  const end = (): void => stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  return {
    method: request.method,
    rawHeaders: request.rawHeaders,
    headers: { ...request.headers, host: request.authority },
    socket: request.socket,
    framed: http2Framed(request),
    receive: () => ({ take: () => request, drop: () => undefined }),
    // Node.js gives both responses the members that the lanes use.
    response: response as unknown as ServerResponse,
    writeHead: (status, _message, headers) => void response.writeHead(status, http2Headers(headers)),
    // The writer writes at the end of this turn of the event loop.
    cut: () => void setImmediate(end),
    destroy: end,
    sent: () => undefined,
    onDisconnect: () => undefined,
  };
}

/** HTTP/2 frames requests itself: only the target can be ambiguous. */
function http2Framed({ url, authority, headers, stream }: Http2ServerRequest): Framed {
  if (!url.startsWith('/') || url.includes('#'))
    return { ok: false, status: 400, detail: 'the request target is not a path' };
  const length = headers['content-length'];
  const bodyBytes = stream.endAfterHeaders ? 0 : length === undefined ? Infinity : Number(length);
  return {
    ok: true,
    path: url,
    host: authority,
    body: bodyBytes === 0 ? 'none' : bodyBytes === Infinity ? 'chunked' : 'sized',
    bodyBytes,
  };
}
