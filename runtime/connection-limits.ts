import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gatherChunks } from './chunk-store.ts';
import { hasBody } from './has-body.ts';
import { sendProblem } from './http-app.ts';
import { Problem } from './problem.ts';

/** Bounds on what the clients of a server can make it hold in memory. */
export interface ConnectionLimits {
  /** Open connections of one group; beyond them the one that has been idle for longest is closed, not the new one. */
  maxConnections: number;
  /** Unanswered requests of one connection; the next one is answered 503 and ends it. */
  maxUnanswered: number;
  /** Fields of a head; beyond them it is answered 431. */
  maxHeaderFields: number;
  /** Bytes of all responses that their clients do not read; beyond them the oldest of these connections is closed. */
  maxUnreadBytes: number;
  /** Connections of different groups do not count against each other. */
  groupOf: (socket: Socket) => string;
  onRefused: () => void;
  /** A connection was closed. */
  onCut: () => void;
}

/** A response with fewer unread bytes is on its way, and not unread. */
const UNREAD_BYTES = 64 * 1024;
/** What Node's parser takes for an upgrade: it reads nothing behind that head in the bytes at hand. */
const STOP_PARSING = 2;

type ParsedSocket = Socket & { parser?: { onIncoming: () => number } | null };

/** One open connection. */
interface Connection {
  /** The response that is being made or sent; null: the connection is idle. */
  current: ServerResponse | null;
  /** Requests that came while that was so. */
  waiting: (() => void)[];
  isRefused: boolean;
}

/**
 * Puts bounds on a server that does not listen yet. Requests that a client sends on one connection before it has its
 * responses go to `handler` one after the other. Returns what is to receive the server's requests.
 */
export function limitConnections(
  server: Server,
  handler: RequestListener,
  limits: ConnectionLimits,
): RequestListener {
  const connections = new Connections(limits);
  // Beyond it Node.js answers 431; a version that drops what is beyond leaves one too many, which is refused here.
  server.maxHeadersCount = limits.maxHeaderFields + 1;
  server.on('connection', (socket: Socket) => connections.open(socket));
  return (request, response) => {
    const connection = connections.of(request.socket);
    if (connection === undefined || connection.isRefused) return;
    if (hasBody(request)) gatherChunks(request);
    const problem = problemOf(request, connection, limits);
    if (problem !== null) refuse(connection, request, response, problem);
    else if (connection.current === null) connections.start(connection, request, response, handler);
    else
      connection.waiting.push(() => {
        connections.start(connection, request, response, handler);
      });
  };
}

/** Why a request is refused; null: it is not. */
function problemOf(
  { rawHeaders }: IncomingMessage,
  { current, waiting }: Connection,
  { maxHeaderFields, maxUnanswered, onRefused }: ConnectionLimits,
): Problem | null {
  const close = { connection: 'close' };
  if (rawHeaders.length > 2 * maxHeaderFields)
    return new Problem(431, `the head has more than ${maxHeaderFields} fields`, { headers: close });
  if (current === null || waiting.length + 1 < maxUnanswered) return null;
  onRefused();
  const headers = { 'retry-after': '1', ...close };
  return new Problem(503, 'too many requests of this connection are unanswered', { headers });
}

/** Nothing behind it is parsed: Node.js would keep objects for each request in it. */
function refuse(
  connection: Connection,
  { socket }: IncomingMessage,
  response: ServerResponse,
  problem: Problem,
): void {
  connection.isRefused = true;
  const { parser } = socket as ParsedSocket;
  if (parser) parser.onIncoming = () => STOP_PARSING;
  sendProblem(response, problem);
}

class Connections {
  readonly #limits: ConnectionLimits;
  /** Of each group, the longest idle first. */
  readonly #groups = new Map<string, Map<Socket, Connection>>();
  /** In the order in which their responses began. */
  readonly #busy = new Map<ServerResponse, Socket>();

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  of(socket: Socket): Connection | undefined {
    return this.#group(socket).get(socket);
  }

  open(socket: Socket): void {
    const group = this.#group(socket);
    group.set(socket, { current: null, waiting: [], isRefused: false });
    socket.once('close', () => {
      const connection = group.get(socket);
      group.delete(socket);
      if (connection === undefined) return;
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
      // It has been idle since now.
      if (group.delete(socket)) group.set(socket, connection);
      connection.waiting.shift()?.();
    });
    handler(request, response);
  }

  /** The newest response is not cut: its reader has had no time to read. */
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

/** The longest idle of them; where none is idle, the one that has been busy for longest. */
function longestIdle(group: ReadonlyMap<Socket, Connection>): Socket | undefined {
  for (const [socket, { current }] of group) if (current === null) return socket;
  return group.keys().next().value;
}
