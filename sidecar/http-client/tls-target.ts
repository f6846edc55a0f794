import { isIP, type OnReadOpts } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { TlsTrust } from '../proxy/upstream.ts';

/** Connects to one server over TLS. Later connections resume the newest session, which saves most of the handshake. */
export class TlsTarget {
  readonly #options: ConnectionOptions;
  #session: Buffer | null = null;

  /** The certificate must be valid for `host`, whatever the Host header of a request is. */
  constructor(host: string, trust: TlsTrust | undefined) {
    this.#options = {
      ...trust,
      ALPNProtocols: ['http/1.1'],
      // A server name is never an IP address (RFC 6066). The certificate is checked against the address then.
      ...(isIP(host) === 0 && { servername: host }),
    };
  }

  connect(to: { onread: OnReadOpts } & ({ host: string; port: number } | { path: string })): TLSSocket {
    const session = this.#session;
    // Node.js emits a session only after the certificate was verified.
    return connect({ ...this.#options, ...(session !== null && { session }), ...to }).on(
      'session',
      (newest) => (this.#session = newest),
    );
  }

  /** A handshake has failed, possibly because of the session. */
  dropSession(): void {
    this.#session = null;
  }
}
