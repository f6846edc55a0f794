import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { bind, endOf } from '../../runtime/http-listener.ts';
import { UnfinishedHeads } from '../../runtime/unfinished-heads.ts';
import { cutSockets, openSockets, stoppable } from '../stop/open-sockets.ts';
import { isHealthCheck, stoppedProblem } from '../stop/stopped-response.ts';
import { servePlainRequests, type PlainExchange } from '../plain-http/serve-plain-requests.ts';
import { isLingering, lingerAtEnd, lingerOver } from './connection-end.ts';
import { Exchange } from './exchange.ts';
import type { ClientResponse } from './client-message.ts';
import { frame, MAX_HEADER_FIELDS, type Framed } from './framing.ts';
import { HTTP2_PREFACE, type Http2Refusals } from './http2-refusal.ts';
import { ignoreUpgrade, wantsWebSocket } from './ignore-upgrade.ts';
import { costOfHead } from './load-limits.ts';
import { Pipeline } from './pipeline.ts';
import {
  OVERLOAD,
  respondWithProblem,
  writeProblem,
  writeProblemAndLinger,
  type ProblemResponse,
} from './problem-response.ts';
import type { ProxyContext } from './proxy-context.ts';
import { BodyInlet } from './request-body.ts';
import { requestIdOf } from './request-id.ts';
import { createUpgrader, type Upgrader } from './upgrade.ts';
import type { UpstreamOptions, UpstreamRequest } from './upstream.ts';

export interface ProxyServer {
  readonly port: number;
  /** Stops accepting connections, lets requests in flight finish for `graceMs` milliseconds, then cuts the remaining ones. */
  close(graceMs: number): Promise<void>;
}

export interface ProxyServerOptions {
  host: string;
  port: number;
  agent: UpstreamOptions;
  http2: Http2Refusals;
}

/** Node's defaults would cut long responses and long uploads. Load balancers keep idle connections for a minute. */
const SERVER_OPTIONS = {
  requestTimeout: 0,
  headersTimeout: 60_000,
  keepAliveTimeout: 75_000,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
  // `frame` checks the Host header. If Node rejected the request itself, it would continue with the next bytes.
  requireHostHeader: false,
} as const;

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE';

/** Returns the pipeline of a connection. */
type PipelineOf = (socket: Socket) => Pipeline<Exchange>;

/** Starts the proxy; rejects when the port cannot be bound. */
export async function startProxyServer(
  { upstream, ...rest }: ProxyContext,
  options: ProxyServerOptions,
): Promise<ProxyServer> {
  const { stop, load } = rest;
  const passes = ({ method, path, body }: UpstreamRequest): boolean =>
    isHealthCheck(rest.manifest(), { method, path, hasBody: body !== null });
  const context = { ...rest, upstream: stoppable(upstream, stop, passes) };
  const upgrader = createUpgrader(context, options.agent);
  const server = createServer(SERVER_OPTIONS);
  // Above this number Node.js responds with 431. A Node.js version that drops the excess fields instead keeps one too many,
  // and `frame` rejects the request.
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  server.maxConnections = context.load.maxConnections;
  server.on('drop', () => (context.load.dropped += 1));
  const pipelines = new WeakMap<Socket, Pipeline<Exchange>>();
  const { onHandedOver, readOn } = servePlainRequests(server, {
    idleMs: SERVER_OPTIONS.keepAliveTimeout,
    load,
    serve: (exchange) => passPlain(context, exchange),
    mayParse: (socket) => pipelines.get(socket)?.mayParse !== false,
  });
  const end = endOf(server, { onCut: () => upgrader.close() });
  const heads = new UnfinishedHeads(server, load.maxUnfinishedHeads, () => (load.cut += 1));
  onHandedOver.push((socket) => heads.watch(socket));
  /** Every lookup of a connection means that its current head is complete or rejected. */
  const pipelineOf: PipelineOf = (socket) => {
    heads.end(socket);
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) pipelines.set(socket, (pipeline = new Pipeline(socket, load, readOn)));
    return pipeline;
  };
  const sockets = openSockets(server);
  stop.onStop(() => cutSockets(sockets));
  handleRequests(server, pipelineOf, context);
  handleBareSockets(server, pipelineOf, upgrader);
  handleClientErrors(server, pipelineOf, options.http2);
  return {
    port: await bind(server, options),
    close: async (graceMs) => {
      await end(graceMs);
      await context.upstream.close();
    },
  };
}

type Handler = (request: IncomingMessage, response: ServerResponse, pipeline: Pipeline<Exchange>) => void;

function handleRequests(server: Server, pipelineOf: PipelineOf, context: ProxyContext): void {
  const unlessRejected =
    (handle: Handler) =>
    (request: IncomingMessage, response: ServerResponse): void => {
      const pipeline = pipelineOf(request.socket);
      if (pipeline.newest !== null) handle(request, response, pipeline);
    };
  const onRequest: Handler = (request, response, pipeline) => {
    pass(context, pipeline, request, response);
  };
  const onExpectation: Handler = (_request, response, pipeline) => {
    pipeline.reject();
    refuse(response, { status: 417, detail: 'the only supported expectation is 100-continue' });
  };
  const onContinue: Handler = (request, response, pipeline) => {
    if (context.stop.current === null && frame(request).ok) response.writeContinue();
    onRequest(request, response, pipeline);
  };
  server.on('request', unlessRejected(onRequest));
  server.on('checkContinue', unlessRejected(onContinue));
  server.on('checkExpectation', unlessRejected(onExpectation));
}

/** Handles CONNECT and upgrades, for which Node.js passes the bare socket. */
function handleBareSockets(server: Server, pipelineOf: PipelineOf, upgrader: Upgrader): void {
  /** An earlier request may still wait for its response. Writing to the socket would then send the wrong response. */
  const isFree = (socket: Duplex): boolean => {
    const { isFree } = pipelineOf(socket as Socket);
    if (!isFree) socket.destroy();
    return isFree;
  };
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    if (!isFree(socket)) return;
    writeProblem(socket, { status: 405, detail: 'CONNECT is not supported', headers: { Allow: METHODS } });
  });
  server.on('upgrade', (request, socket, head) => {
    if (!isFree(socket)) return;
    if (wantsWebSocket(request)) upgrader.handle(request, socket, head);
    else ignoreUpgrade(server, request, socket, head);
  });
}

/** Handles errors of Node's parser. */
function handleClientErrors(server: Server, pipelineOf: PipelineOf, http2: Http2Refusals): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const exchange = pipelineOf(socket as Socket).newest;
    // A client that ends the connection in the middle of a request has disconnected.
    const hasLeft = error.code === 'HPE_INVALID_EOF_STATE' && exchange !== undefined;
    if (isLingering(socket) && error.code !== 'ECONNRESET') return;
    if (error.code === 'ECONNRESET' || hasLeft || !socket.writable) socket.destroy();
    else if (exchange !== undefined) exchange?.breakOff(parserProblem(error.code));
    else if (error.code === HTTP2_PREFACE) http2.refuse(socket);
    else writeProblemAndLinger(socket, parserProblem(error.code));
  });
}

function pass(
  context: ProxyContext,
  pipeline: Pipeline<Exchange>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const arrivedAtMs = context.clock.monotonicMs();
  const framed = frame(request);
  if (!framed.ok) {
    pipeline.reject();
    refuse(response, framed);
    return;
  }
  const stopped = stopProblem(context, request.method, framed);
  if (stopped !== null) {
    pipeline.reject();
    refuse(response, stopped);
    return;
  }
  const admission = pipeline.admit(costOfHead(request.url ?? '', request.rawHeaders), framed.bodyBytes);
  if (admission === null) {
    pipeline.reject();
    refuse(response, OVERLOAD);
    return;
  }
  const requestId = requestIdOf(request.rawHeaders, context.audit.ring);
  const onResponseSent = (): void => {
    lingerOver(request);
    pipeline.onResponseSent();
  };
  const body = framed.body === 'none' ? null : new BodyInlet(request);
  pipeline.add(
    new Exchange(context, { request, response, framed, body, requestId, arrivedAtMs, onResponseSent }),
    admission,
  );
}

/** Passes a plain request. Its connection has no other. */
function passPlain(context: ProxyContext, { request, response, framed, body }: PlainExchange): void {
  const arrivedAtMs = context.clock.monotonicMs();
  const { load, audit } = context;
  const stopped = stopProblem(context, request.method, framed);
  if (stopped !== null) {
    refuse(response, stopped);
    return;
  }
  const headBytes = costOfHead(framed.path, request.rawHeaders);
  if (!load.admit(headBytes)) {
    refuse(response, OVERLOAD);
    return;
  }
  response.on('close', () => {
    load.giveBackHead(headBytes);
    load.leave();
  });
  const requestId = requestIdOf(request.rawHeaders, audit.ring);
  const onResponseSent = (): void => undefined;
  new Exchange(context, { request, response, framed, body, requestId, arrivedAtMs, onResponseSent }).start(
    false,
    false,
  );
}

/** The response to a request while the agent is stopped; null: it passes. */
function stopProblem(
  { stop, manifest }: ProxyContext,
  method: string | undefined,
  { path, body }: Framed & { ok: true },
): ProblemResponse | null {
  const { current } = stop;
  if (current === null || isHealthCheck(manifest(), { method, path, hasBody: body !== 'none' })) return null;
  stop.refused.proxy += 1;
  return stoppedProblem(manifest(), current);
}

/** Responds in place of the agent to a request that does not reach it, and ends the connection. */
function refuse(response: ClientResponse, problem: ProblemResponse): void {
  lingerAtEnd(response.req.socket);
  respondWithProblem(response, { ...problem, close: true });
}

/** Maps an error code of Node's parser to a response. */
function parserProblem(code: string | undefined): { status: number; detail: string } {
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, detail: 'the headers are too large or too many' };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return { status: 408, detail: 'the request head was not received in time' };
  return { status: 400, detail: 'the request is not valid HTTP/1.1' };
}
