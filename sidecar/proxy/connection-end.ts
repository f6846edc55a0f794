import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** How long a client has to take or to say what is left, before its connection is cut. */
const LINGER_MS = 5_000;

/** Calls `go` once this answer is out, unless its connection ends with it. */
export function afterwards(response: ServerResponse, go: (socket: Socket) => void): void {
  const { socket } = response.req;
  const next = (): void => {
    if (response.shouldKeepAlive) go(socket);
  };
  if (response.writableFinished) next();
  else response.once('finish', next);
}

/**
 * Of an answer that came before the end of its request, the rest of the request is read and dropped for a while, then the
 * connection ends: one that is cut at once can lose the answer.
 */
export function lingerOver(request: IncomingMessage): void {
  if (request.complete) return;
  const { socket } = request;
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  request.once('close', () => clearTimeout(cut)).once('end', () => clearTimeout(cut));
  request.resume();
}

const lingering = new WeakSet<Duplex>();
/** Whether `lingerOn` has this connection: what comes on it now is nobody's business. */
export const isLingering = (socket: Duplex): boolean => lingering.has(socket);

/**
 * Of a connection whose last answer is written, what its client still says is read and dropped until it ends too, or for a
 * while: a client that is cut while it speaks can lose the answer.
 */
export function lingerOn(socket: Duplex): void {
  lingering.add(socket);
  const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(cut)).resume();
}

/** The same of a connection that Node ends behind an answer which is not written yet. */
export function lingerAtEnd(socket: Socket): void {
  socket.destroySoon = () => {
    socket.end();
    lingerOn(socket);
  };
}

/** Ends the connection behind what was written of an answer that is not whole; its client sees that it is not. */
export function cutOff(response: ServerResponse): void {
  const end = (socket: Socket): void => {
    const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => clearTimeout(cut));
    // To HTTP/1.0 an answer without a length ends with its connection: only a reset tells that from its end.
    if (response.req.httpVersion === '1.0') socket.write('', () => socket.resetAndDestroy());
    else socket.destroySoon();
  };
  if (response.socket !== null) end(response.socket);
  // Its turn on the connection has not come; what was written of it goes out right after it has.
  else response.once('socket', (socket: Socket) => process.nextTick(end, socket));
}
