import type { Server } from 'node:http';
import type { Http2Server } from 'node:http2';
import type { Socket } from 'node:net';

/** First bytes of HTTP/2 with prior knowledge, which the Bedrock client for JavaScript speaks. No HTTP/1.1 method begins so. */
const PREFACE = 'PRI ';

/** Milliseconds until the first byte, as for the head of a request. */
const FIRST_BYTE_MS = 60_000;

/**
 * Passes connections that begin with the preface of HTTP/2 to `http2`, and all others to the server itself. A connection without a
 * byte is closed after a minute: the time limits of the servers begin only when they get the connection.
 */
export function sniffHttp2(server: Server, http2: Http2Server): void {
  const [serveHttp1] = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection').on('connection', (socket: Socket) => {
    const fail = (): void => void socket.destroy();
    const first = (chunk: Buffer): void => {
      socket.setTimeout(0, fail).off('error', fail).pause().unshift(chunk);
      // Only at the beginning: HTTP/1.1 does not become HTTP/2 on the way.
      const isFirst = socket.bytesRead === chunk.length;
      if (isFirst && chunk.toString('latin1', 0, PREFACE.length) === PREFACE) {
        // The sockets of an HTTP/1.1 server stay open after the client has ended them: a session would never notice.
        socket.allowHalfOpen = false;
        // An HTTP/2 session reads what is buffered itself.
        http2.emit('connection', socket);
        return;
      }
      if (serveHttp1 !== undefined) Reflect.apply(serveHttp1, server, [socket]);
      socket.resume();
    };
    socket.setTimeout(FIRST_BYTE_MS, fail).once('error', fail).once('data', first);
  });
}
