import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { KeyPair } from '../../runtime/http-listener.ts';
import { HANDED_OVER } from '../handover.ts';

/**
 * Tracks the certificate of each connection, because a new certificate is used only for new connections.
 * @param isOfApiServer selects requests that only clients send that verify the certificate
 */
export function createLeafUse(isOfApiServer: (request: IncomingMessage) => boolean) {
  const used = new WeakMap<object, string | undefined>();
  let server: Server | null = null;
  let latest: string | undefined;
  let isUsed = false;
  return {
    /** Uses this certificate for new connections. */
    serve({ cert, key }: KeyPair): void {
      server?.setSecureContext({ cert, key, minVersion: 'TLSv1.2' });
      latest = new X509Certificate(cert).fingerprint256;
      isUsed = false;
    },
    /** Whether a request to `path` was received over a connection with the latest certificate. */
    isUsed: () => isUsed,
    /** Tracks the connections of a server, and sets the server's secure context. */
    follow(followed: Server): void {
      server = followed;
      server.on('secureConnection', (socket: TLSSocket) =>
        used.set(socket, socket.getX509Certificate()?.fingerprint256),
      );
    },
    /** Closes a connection with an older certificate after its next response, so that the client uses the new certificate. */
    around:
      (handler: RequestListener): RequestListener =>
      (request, response) => {
        if (isOfApiServer(request)) {
          // A review that another replica has handed over is not over a connection of the API server.
          if (used.get(request.socket) === latest) isUsed ||= request.headers[HANDED_OVER] === undefined;
          else response.setHeader('Connection', 'close');
        }
        handler(request, response);
      },
  };
}

export type LeafUse = ReturnType<typeof createLeafUse>;
