import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClientResponse } from './client-message.ts';

/** How long a client may read the rest of a response or send the rest of a request before its connection is cut. */
const LINGER_MS = 5_000;

/** Cuts a connection that is still open then. */
export function cutLater(socket: Duplex): void {
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(cut));
}

/** Calls `go` once this response is sent, unless its connection ends with it. */
export function afterResponse(response: ClientResponse, go: (socket: Socket) => void): void {
  const { socket } = response.req;
  const next = (): void => {
    if (response.shouldKeepAlive) go(socket);
  };
  if (response.writableFinished) next();
  else response.once('finish', next);
}

/**
 * Call it after a response that was sent before the end of its request. Reads and drops the rest of the request for a while,
 * then ends the connection: closing immediately could lose the response.
 */
export function lingerOver(request: IncomingMessage): void {
  if (request.complete) return;
  const { socket } = request;
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  request.once('close', () => clearTimeout(cut)).once('end', () => clearTimeout(cut));
  request.resume();
}

const lingering = new WeakSet<Duplex>();
/** Whether `lingerOn` was called for this connection: all further input is dropped. */
export const isLingering = (socket: Duplex): boolean => lingering.has(socket);

/**
 * Call it for a connection whose last response is written. Reads and drops further input until the client ends the connection
 * or a time-out expires: a client that is cut while it sends can lose the response.
 */
export function lingerOn(socket: Duplex): void {
  lingering.add(socket);
  cutLater(socket);
  socket.resume();
}

/** Like `lingerOn`, for a connection that Node.js ends after a response that is not written yet. */
export function lingerAtEnd(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    lingerOn(socket);
  };
}

/** Ends the connection after an incomplete response, so that the client detects the truncation. */
export function cutOff(response: ClientResponse): void {
  const end = (socket: Socket): void => {
    cutLater(socket);
    // In HTTP/1.0 a response without a length ends with its connection: only a reset marks it as truncated.
    if (response.req.httpVersion === '1.0') socket.write('', () => socket.resetAndDestroy());
    else socket.destroySoon();
  };
  if (response.socket !== null) end(response.socket);
  // A pipelined response before its turn: once it gets the socket, its written bytes are sent first.
  else response.once('socket', (socket: Socket) => process.nextTick(end, socket));
}
