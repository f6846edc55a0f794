import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { gatherChunks, hasBody } from './chunk-store.ts';
import { sendProblem } from './http-app.ts';
import { Problem } from './problem.ts';
import { UnfinishedHeads } from './unfinished-heads.ts';

/** Limits on the memory that the clients of a server can occupy. */
export interface ConnectionLimits {
  /** Open connections of one group. Above this number, the connection that was idle longest is closed, not the new one. */
  maxConnections: number;
  /** Connections with an incomplete head. Above this number, the oldest of them is closed. */
  maxUnfinishedHeads: number;
  /** Unanswered requests of one connection. The next request gets 503 and ends the connection. */
  maxUnanswered: number;
  /** Header fields of one request. A request with more gets 431. */
  maxHeaderFields: number;
  /** Bytes of all responses that clients do not read. Above this number, the oldest of these connections is closed. */
  maxUnreadBytes: number;
  /** Connections of different groups do not count against each other. */
  groupOf: (socket: Socket) => string;
  onRefused: () => void;
  /** Called when a connection was closed because of a limit. */
  onCut: () => void;
}

/** Limits of a port whose clients are parts of the cluster: about 60 MB if all heads and connections are used. */
export const CLUSTER_LIMITS: ConnectionLimits = {
  maxConnections: 1_000,
  maxUnfinishedHeads: 256,
  maxUnanswered: 8,
  maxHeaderFields: 128,
  maxUnreadBytes: 16 * 2 ** 20,
  groupOf: () => '',
  onRefused: () => undefined,
  onCut: () => undefined,
};

/** A response with fewer buffered bytes counts as in transit, not as unread. */
const UNREAD_BYTES = 64 * 1024;
/** One open connection. */
interface Connection {
  /** The response that is being prepared or sent; null: the connection is idle. */
  current: ServerResponse | null;
  /** Requests that arrived while `current` was set. */
  waiting: (() => void)[];
  isRejected: boolean;
}

/**
 * Applies limits to a server before it listens. Pipelined requests of one connection are passed to `handler` one after the
 * other. Returns the request listener for the server.
 */
export function limitConnections(
  server: Server,
  handler: RequestListener,
  limits: ConnectionLimits,
): RequestListener {
  const connections = new Connections(limits);
  // Above this number Node.js responds with 431. A Node.js version that drops the excess fields instead keeps one too many,
  // and `problemOf` rejects the request.
  server.maxHeadersCount = limits.maxHeaderFields + 1;
  const heads = new UnfinishedHeads(server, limits.maxUnfinishedHeads, limits.onCut);
  const isTls: boolean = server instanceof TlsServer;
  server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections.open(socket);
    heads.watch(socket);
  });
  if (isTls) limitHandshakes(server, limits);
  return (request, response) => {
    heads.end(request.socket);
    const connection = connections.of(request.socket);
    if (connection === undefined || connection.isRejected) return;
    if (hasBody(request)) gatherChunks(request);
    const problem = problemOf(request, connection, limits);
    if (problem !== null) reject(connection, request, response, problem);
    else if (connection.current === null) connections.start(connection, request, response, handler);
    else
      connection.waiting.push(() => {
        connections.start(connection, request, response, handler);
      });
  };
}

/**
 * Limits the TCP connections that have not completed their TLS handshake: above `maxConnections`, the oldest is closed. They
 * are known by the address and port of the client, because the TLS socket is another object.
 */
function limitHandshakes(server: Server, { maxConnections, onCut }: ConnectionLimits): void {
  const begun = new Map<string, Socket>();
  const peerOf = ({ remoteAddress, remotePort }: Socket): string => [remoteAddress, remotePort].join(' ');
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    begun.set(peer, socket);
    socket.once('close', () => {
      if (begun.get(peer) === socket) begun.delete(peer);
    });
    const [oldest] = begun;
    if (begun.size <= maxConnections || oldest === undefined) return;
    begun.delete(oldest[0]);
    onCut();
    oldest[1].destroy();
  });
  server.on('secureConnection', (socket: Socket) => begun.delete(peerOf(socket)));
}

/** Why a request is rejected; null: the request is accepted. */
function problemOf(
  { rawHeaders }: IncomingMessage,
  { current, waiting }: Connection,
  { maxHeaderFields, maxUnanswered, onRefused }: ConnectionLimits,
): Problem | null {
  const close = { connection: 'close' };
  if (rawHeaders.length > 2 * maxHeaderFields)
    return new Problem(431, `the request has more than ${maxHeaderFields} header fields`, {
      headers: close,
    });
  if (current === null || waiting.length + 1 < maxUnanswered) return null;
  onRefused();
  const headers = { 'retry-after': '1', ...close };
  return new Problem(503, 'too many unanswered requests on this connection', { headers });
}

function reject(
  connection: Connection,
  { socket }: IncomingMessage,
  response: ServerResponse,
  problem: Problem,
): void {
  connection.isRejected = true;
  stopParsing(socket);
  sendProblem(response, problem);
}

/** Node's parser of a connection. It calls `onIncoming` for each complete head. */
type ParsedSocket = Socket & { parser?: { onIncoming: () => number } | null };
/** Return value that the parser treats as an upgrade: it skips the bytes after that head in the current buffer. */
const STOP_PARSING = 2;

/** Stops parsing after a rejected request: Node.js would keep objects for each further request of the connection. */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as ParsedSocket;
  if (parser) parser.onIncoming = () => STOP_PARSING;
}

class Connections {
  readonly #limits: ConnectionLimits;
  /** Connections by group, the longest idle first. */
  readonly #groups = new Map<string, Map<Socket, Connection>>();
  /** Sockets by response, in the order in which the responses began. */
  readonly #busy = new Map<ServerResponse, Socket>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  of(socket: Socket): Connection | undefined {
    return this.#group(socket).get(socket);
  }

  open(socket: Socket): void {
    const group = this.#group(socket);
    const connection: Connection = { current: null, waiting: [], isRejected: false };
    group.set(socket, connection);
    socket.once('close', () => {
      group.delete(socket);
      connection.waiting = [];
      if (connection.current !== null) this.#busy.delete(connection.current);
    });
    if (group.size > this.#limits.maxConnections) this.#cut(longestIdle(group));
  }

  start(
    connection: Connection,
    request: IncomingMessage,
    response: ServerResponse,
    handler: RequestListener,
  ): void {
    const { socket } = request;
    connection.current = response;
    this.#busy.set(response, socket);
    this.#cutUnread(response);
    response.once('close', () => {
      this.#busy.delete(response);
      connection.current = null;
      const group = this.#group(socket);
      // The connection is idle from now on: move it to the end.
      if (group.delete(socket)) group.set(socket, connection);
      connection.waiting.shift()?.();
    });
    handler(request, response);
  }

  /** The newest response is not cut: its client has had no time to read. */
  #cutUnread(newest: ServerResponse): void {
    let unread = 0;
    for (const response of this.#busy.keys()) unread += response.writableLength;
    for (const [response, socket] of this.#busy) {
      if (unread <= this.#limits.maxUnreadBytes) return;
      if (response === newest || response.writableLength < UNREAD_BYTES) continue;
      unread -= response.writableLength;
      this.#cut(socket);
    }
  }

  #cut(socket: Socket | undefined): void {
    if (socket === undefined) return;
    // Not at its close event, which comes after all connections of this turn of the event loop: each of them closes another one.
    this.#group(socket).delete(socket);
    this.#limits.onCut();
    socket.destroy();
  }

  #group(socket: Socket): Map<Socket, Connection> {
    const name = this.#limits.groupOf(socket);
    let group = this.#groups.get(name);
    if (group === undefined) this.#groups.set(name, (group = new Map<Socket, Connection>()));
    return group;
  }
}

/** The connection that was idle longest; if none is idle, the connection that was busy longest. */
function longestIdle(group: ReadonlyMap<Socket, Connection>): Socket | undefined {
  for (const [socket, { current }] of group) if (current === null) return socket;
  return group.keys().next().value;
}
