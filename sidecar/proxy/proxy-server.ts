import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { bind, endOf } from '../../runtime/http-listener.ts';
import { isLingering, lingerAtEnd } from './connection-end.ts';
import { Exchange, type ProxyContext } from './exchange.ts';
import { frame, lineOf, MAX_HEADER_FIELDS } from './framing.ts';
import { HTTP2_PREFACE, type Http2Refusals } from './http2-refusal.ts';
import { ignoreUpgrade, wantsWebSocket } from './ignore-upgrade.ts';
import { costOfHead, type LoadLimits } from './load-limits.ts';
import { Pipeline } from './pipeline.ts';
import { answerProblem, OVERLOAD, refuse, writeProblem } from './problem-answer.ts';
import { requestIdOf } from './request-id.ts';
import { UnfinishedHeads } from './unfinished-heads.ts';
import { createUpgrader, type Upgrader } from './upgrade.ts';
import type { UpstreamOptions } from './upstream.ts';

export interface ProxyServer {
  readonly port: number;
  /** Stops accepting, lets what is in flight finish for `graceMs` milliseconds, then cuts it. */
  close(graceMs: number): Promise<void>;
}

export interface ProxyServerOptions {
  host: string;
  port: number;
  agent: UpstreamOptions;
  http2: Http2Refusals;
}

/** Node's defaults would cut long answers and long uploads; a balancer's idle connections live for a minute. */
const SERVER_OPTIONS = {
  requestTimeout: 0,
  headersTimeout: 60_000,
  keepAliveTimeout: 75_000,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
  // Looked at in `frame`: where Node refuses for itself it goes on with what follows on the connection.
  requireHostHeader: false,
} as const;

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE';

/** What is under way on one connection. */
type PipelineOf = (socket: Socket) => Pipeline<Exchange>;

/** Starts the proxy; rejects when the port cannot be bound. */
export async function startProxyServer(
  context: ProxyContext,
  options: ProxyServerOptions,
): Promise<ProxyServer> {
  const upgrader = createUpgrader(context, options.agent);
  const server = createServer(SERVER_OPTIONS);
  // Beyond it Node.js answers 431; a version that drops what is beyond leaves one too many, which is refused here.
  server.maxHeadersCount = MAX_HEADER_FIELDS + 1;
  server.maxConnections = context.load.maxConnections;
  server.on('drop', () => (context.load.dropped += 1));
  const end = endOf(server, { onCut: () => upgrader.close() });
  const { load } = context;
  const heads = new UnfinishedHeads(server, load.maxUnfinishedHeads, () => (load.cut += 1));
  const pipelineOf = createPipelines(load, heads);
  takeRequests(server, pipelineOf, context);
  takeSockets(server, pipelineOf, upgrader);
  takeErrors(server, pipelineOf, options.http2);
  return {
    port: await bind(server, options),
    close: async (graceMs) => {
      await end(graceMs);
      await context.upstream.close();
    },
  };
}

/** Whatever a connection is looked up for, the head that had begun on it is over. */
function createPipelines(load: LoadLimits, heads: UnfinishedHeads): PipelineOf {
  const pipelines = new WeakMap<Socket, Pipeline<Exchange>>();
  return (socket) => {
    heads.end(socket);
    let pipeline = pipelines.get(socket);
    if (pipeline === undefined) pipelines.set(socket, (pipeline = new Pipeline(socket, load)));
    return pipeline;
  };
}

type Take = (request: IncomingMessage, response: ServerResponse) => void;

function takeRequests(server: Server, pipelineOf: PipelineOf, context: ProxyContext): void {
  const unlessRefused =
    (take: Take): Take =>
    (request, response) => {
      if (pipelineOf(request.socket).newest !== null) take(request, response);
    };
  const onRequest: Take = (request, response) => {
    pass(context, pipelineOf(request.socket), request, response);
  };
  const onExpectation: Take = (request, response) => {
    pipelineOf(request.socket).newest = null;
    lingerAtEnd(request.socket);
    answerProblem(response, {
      status: 417,
      detail: 'the only expectation met here is 100-continue',
      close: true,
    });
  };
  const onContinue: Take = (request, response) => {
    if (frame(lineOf(request)).ok) response.writeContinue();
    onRequest(request, response);
  };
  server.on('request', unlessRefused(onRequest));
  server.on('checkContinue', unlessRefused(onContinue));
  server.on('checkExpectation', unlessRefused(onExpectation));
}

/** Where Node gives the bare socket away. */
function takeSockets(server: Server, pipelineOf: PipelineOf, upgrader: Upgrader): void {
  /** An earlier request of the connection may still wait for its answer, in whose place another must not come. */
  const isFree = (socket: Duplex): boolean => {
    const { isFree } = pipelineOf(socket as Socket);
    if (!isFree) socket.destroy();
    return isFree;
  };
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    if (!isFree(socket)) return;
    writeProblem(socket, { status: 405, detail: 'CONNECT is not proxied here', headers: { Allow: METHODS } });
  });
  server.on('upgrade', (request, socket, head) => {
    if (!isFree(socket)) return;
    if (wantsWebSocket(request)) upgrader.handle(request, socket, head);
    else ignoreUpgrade(server, request, socket, head);
  });
}

/** Where Node's parser cannot go on. */
function takeErrors(server: Server, pipelineOf: PipelineOf, http2: Http2Refusals): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const exchange = pipelineOf(socket as Socket).newest;
    // A client that ends in the middle of what it sends has left.
    const hasLeft = error.code === 'HPE_INVALID_EOF_STATE' && exchange !== undefined;
    if (isLingering(socket) && error.code !== 'ECONNRESET') return;
    if (error.code === 'ECONNRESET' || hasLeft || !socket.writable) socket.destroy();
    else if (exchange !== undefined) exchange?.breakOff(unreadable(error.code));
    else if (error.code === HTTP2_PREFACE) http2.refuse(socket);
    else refuse(socket, unreadable(error.code));
  });
}

function pass(
  context: ProxyContext,
  pipeline: Pipeline<Exchange>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const arrivedAtMs = context.clock.monotonicMs();
  const framed = frame(lineOf(request));
  if (!framed.ok) {
    pipeline.newest = null;
    lingerAtEnd(request.socket);
    answerProblem(response, { ...framed, close: true });
    return;
  }
  const admission = pipeline.admit(costOfHead(request.url ?? '', request.rawHeaders), framed.bodyBytes);
  if (admission === null) {
    pipeline.refuse();
    lingerAtEnd(request.socket);
    answerProblem(response, { ...OVERLOAD, close: true });
    return;
  }
  const requestId = requestIdOf(request.rawHeaders, context.audit.ring);
  const onAnswered = (): void => pipeline.answered();
  pipeline.add(
    new Exchange(context, { request, response, framed, requestId, arrivedAtMs, onAnswered }),
    admission,
  );
}

/** What Node's parser refused. */
function unreadable(code: string | undefined): { status: number; detail: string } {
  if (code === 'HPE_HEADER_OVERFLOW') return { status: 431, detail: 'the headers are too large or too many' };
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return { status: 408, detail: 'the head did not come in time' };
  return { status: 400, detail: 'the request is not valid HTTP/1.1' };
}
