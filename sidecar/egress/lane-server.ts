import { createServer, type Server, type ServerResponse } from 'node:http';
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { bind, endOf } from '../../runtime/http-listener.ts';
import { servePlainRequests } from '../plain-http/serve-plain-requests.ts';
import { MAX_HEADER_FIELDS } from '../proxy/framing.ts';
import { ignoreUpgrade, wantsWebSocket } from '../proxy/ignore-upgrade.ts';
import { writeProblem } from '../proxy/problem-response.ts';
import { cutSockets, openSockets } from '../stop/open-sockets.ts';
import { stoppedCall } from '../stop/stopped-response.ts';
import { HTTP2_OPTIONS, Http2Sessions } from './http2-sessions.ts';
import { http2Client, nodeClient, plainClient, type LaneClient } from './lane-client.ts';
import type { LaneContext } from './lane-context.ts';
import { admit } from './lane-entrance.ts';
import { LaneExchange } from './lane-exchange.ts';
import { handleLaneUpgrade } from './lane-upgrade.ts';
import { failureOf, problemOf, respondWith } from './own-response.ts';
import { sniffHttp2 } from './sniff-http2.ts';

/** Responses of models may take as long as they want, and so may connections between them. */
const SERVER_OPTIONS = {
  requestTimeout: 0,
  headersTimeout: 60_000,
  keepAliveTimeout: 75_000,
  // `frame` checks the Host header.
  requireHostHeader: false,
} as const;

export interface LaneServer {
  readonly port: number;
  /** Resolves when no client is connected. */
  idle(): Promise<void>;
  close(graceMs: number): Promise<void>;
}

/** Serves the lanes on one loopback address; rejects if the port is in use. */
export async function startLaneServer(
  context: LaneContext,
  { host, port }: { host: string; port: number },
): Promise<LaneServer> {
  const server = createServer(SERVER_OPTIONS);
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  server.maxConnections = context.load.maxConnections;
  const http2 = http2ServerOf(context);
  const sessions = new Http2Sessions(http2, context.load);
  sniffHttp2(server, http2);
  /** The response to the last request that Node.js has read, of each connection. */
  const newest: NewestResponses = new WeakMap();
  const { readOn } = servePlainRequests(server, {
    idleMs: SERVER_OPTIONS.keepAliveTimeout,
    load: context.load,
    serve: (exchange) => serve(context, plainClient(exchange)),
    mayBeginHttp2: () => sessions.admit(),
    // One request of a connection after the other: the client libraries of vendors do not pipeline.
    mayParse: (socket) => {
      const response = newest.get(socket);
      return response?.writableFinished !== false || !response.req.complete;
    },
  });
  const sockets = openSockets(server);
  const end = endOf(server, {
    clock: context.clock,
    onCut: () => {
      for (const socket of sockets) socket.destroy();
    },
  });
  context.stop.onStop(() => cutSockets(sockets));
  handleRequests(server, context, newest, readOn);
  return {
    port: await bind(server, { host, port }),
    idle: async () => {
      for (const socket of sockets) await new Promise((resolve) => socket.once('close', resolve));
    },
    close: async (graceMs) => {
      sessions.close();
      await end(graceMs);
    },
  };
}

type NewestResponses = WeakMap<Duplex, ServerResponse>;

function handleRequests(
  server: Server,
  context: LaneContext,
  newest: NewestResponses,
  readOn: (socket: Socket) => void,
): void {
  /**
   * An earlier request may still wait for its response. Writing to the bare socket would then send the wrong response, and Node.js
   * throws if a socket gets two.
   */
  const isFree = (socket: Duplex): boolean => {
    const isSent = newest.get(socket)?.writableFinished !== false;
    if (!isSent) socket.destroy();
    return isSent;
  };
  server.on('request', (request, response) => {
    const { socket } = request;
    newest.set(socket, response);
    response.once('finish', () => readOn(socket));
    serve(context, nodeClient(request, response));
  });
  server.on('upgrade', (request, socket, head) => {
    if (!isFree(socket)) return;
    if (wantsWebSocket(request)) handleLaneUpgrade(context, request, socket as Socket, head);
    else ignoreUpgrade(server, request, socket, head);
  });
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    if (!isFree(socket)) return;
    writeProblem(socket, { status: 405, detail: 'CONNECT is not supported on the port of the lanes' });
  });
}

function http2ServerOf(context: LaneContext): Http2Server {
  const server = createHttp2Server(HTTP2_OPTIONS);
  server.on('sessionError', () => undefined);
  const take = (request: Http2ServerRequest, response: Http2ServerResponse): void =>
    serve(context, http2Client(request, response));
  server.on('request', take);
  server.on('checkContinue', (request, response) => {
    // The client has already reset the stream. Writing on it throws.
    if (request.stream.closed) return;
    response.writeContinue();
    take(request, response);
  });
  return server;
}

function serve(context: LaneContext, client: LaneClient): void {
  const result = admit(context, client);
  if ('admitted' in result) new LaneExchange(context, client, result.admitted).start();
  else if ('stopped' in result) respondWith(client, stoppedCall(result.route.lane, result.stopped), []);
  else if ('overload' in result) respondWith(client, failureOf(result.overload.lane, 'overload'), []);
  else {
    if (result.problem.close) client.response.shouldKeepAlive = false;
    respondWith(client, problemOf(result.problem), []);
  }
}
