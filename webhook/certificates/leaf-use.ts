import { X509Certificate } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { KeyPair } from './issue.ts';

/** Which certificate each connection was opened with: a new one is served to new connections alone. */
export interface LeafUse {
  /** New connections get it. */
  serve(leaf: KeyPair): void;
  /** Has a request to `path` come over a connection with the certificate that was served last? */
  isAsked(): boolean;
  /** Follows the connections of a server, whose secure context it sets. */
  follow(server: Server): void;
  /** A connection with an older certificate ends with its next answer, so that the new one is put to the test. */
  around(handler: RequestListener): RequestListener;
}

/** `path`: what only somebody who trusts the certificate asks for. */
export function createLeafUse(path: string): LeafUse {
  const used = new WeakMap<object, string | undefined>();
  let server: Server | null = null;
  let present: string | undefined;
  let asked = false;
  return {
    serve({ cert, key }) {
      server?.setSecureContext({ cert, key, minVersion: 'TLSv1.2' });
      present = new X509Certificate(cert).fingerprint256;
      asked = false;
    },
    isAsked: () => asked,
    follow(followed) {
      server = followed;
      server.on('secureConnection', (socket: TLSSocket) =>
        used.set(socket, socket.getX509Certificate()?.fingerprint256),
      );
    },
    around: (handler) => (request, response) => {
      // The API server says its time-out behind the path.
      if (request.url?.split('?', 1)[0] === path) {
        if (used.get(request.socket) === present) asked = true;
        else response.setHeader('Connection', 'close');
      }
      handler(request, response);
    },
  };
}
