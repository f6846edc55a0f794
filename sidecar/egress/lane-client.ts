import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { PlainExchange } from '../plain-http/serve-plain-requests.ts';
import type { ClientBody, ClientRequest, ClientResponse } from '../proxy/client-message.ts';
import { cutOff, lingerOver } from '../proxy/connection-end.ts';
import { frame, type Framed } from '../proxy/framing.ts';
import { printable, recordOf, type HeaderList } from '../proxy/headers.ts';
import { BodyInlet } from '../proxy/request-body.ts';
import type { ResponseWriter } from '../proxy/response-writer.ts';
import type { ArrivingRequest } from './lane-entrance.ts';

/** A request of the agent with its response, over HTTP/1.1 or HTTP/2. */
export interface LaneClient extends ArrivingRequest {
  /** Receives the body. Call it when the head arrives. */
  receive(): ClientBody | null;
  readonly response: ClientResponse;
  /** Throws if a header is not valid. */
  writeHead(status: number, message: string, headers: HeaderList): void;
  /** Sends what was written, then ends the connection or stream, so that the client notices that the response is not complete. */
  cut(writer: ResponseWriter): void;
  /** Ends the connection or stream with an incomplete response. Earlier responses of the connection are sent first. */
  cutOff(): void;
  /** Ends the connection at once. */
  destroy(): void;
  /** Call it when the response is sent. */
  sent(): void;
  /** For a disconnection that the response does not notice. */
  onDisconnect(listener: () => void): void;
}

/** A request over HTTP/1.1 with its response. */
interface Http1Message extends Pick<LaneClient, 'response' | 'framed' | 'receive' | 'sent'> {
  request: ClientRequest;
}

/** Over HTTP/1.1. */
class Http1Client implements LaneClient {
  readonly method: string;
  readonly rawHeaders: HeaderList;
  readonly socket: Socket;
  readonly framed: Framed;
  readonly response: ClientResponse;
  readonly receive: () => ClientBody | null;
  readonly sent: () => void;

  constructor({ request, response, framed, receive, sent }: Http1Message) {
    this.method = request.method ?? 'GET';
    this.rawHeaders = request.rawHeaders;
    this.socket = request.socket;
    this.framed = framed;
    this.response = response;
    this.receive = receive;
    this.sent = sent;
  }

  writeHead(status: number, message: string, headers: HeaderList): void {
    this.response.writeHead(status, printable(message), [...headers]);
  }

  cut(writer: ResponseWriter): void {
    writer.cut();
  }

  cutOff(): void {
    cutOff(this.response);
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** A pipelined response before its turn has no socket, so it emits no 'close'. */
  onDisconnect(listener: () => void): void {
    if (this.response.socket === null) this.socket.setMaxListeners(0).once('close', listener);
  }
}

/** A request that Node.js has read. */
export const nodeClient = (request: IncomingMessage, response: ServerResponse): LaneClient =>
  new Http1Client({
    ...{ request, response, framed: frame(request) },
    receive: () => new BodyInlet(request),
    sent: () => lingerOver(request),
  });

/** A plain request. */
export const plainClient = ({ request, response, framed, body }: PlainExchange): LaneClient =>
  new Http1Client({ request, response, framed, receive: () => body, sent: () => undefined });

export function http2Client(request: Http2ServerRequest, response: Http2ServerResponse): LaneClient {
  const { stream } = request;
  const end = (): void => stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  return {
    method: request.method,
    rawHeaders: request.rawHeaders,
    socket: request.socket,
    framed: http2Framed(request),
    receive: () => ({ take: () => request, drop: () => undefined }),
    // Node.js gives both responses the members that the lanes use.
    response: response as unknown as ClientResponse,
    writeHead: (status, _message, headers) => {
      try {
        // Header names of HTTP/2 are in lower case, and repeated ones are a list.
        response.writeHead(status, { ...recordOf(headers) });
      } catch (error) {
        // Otherwise the headers would stay in the response, and the head of an error would fail as well.
        for (const name of response.getHeaderNames()) response.removeHeader(name);
        // Node.js does not remove this header.
        response.setHeader('date', new Date().toUTCString());
        throw error;
      }
    },
    cut: (writer) => {
      writer.flush();
      // The session sends what was written at the end of this turn of the event loop.
      setImmediate(end);
    },
    cutOff: end,
    destroy: end,
    sent: () => undefined,
    // Node.js ends both sides of a reset stream. When the response emits 'close', it and the body seem to be complete.
    onDisconnect: (listener) => void request.once('aborted', listener),
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
