import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Listener {
  readonly server: Server | TlsServer;
  readonly port: number;
  /** Stops accepting, lets requests in flight finish for `graceMs` milliseconds, then cuts what is left. */
  close(graceMs?: number): Promise<void>;
}

export interface ListenOptions {
  handler: RequestListener;
  port: number;
  /** Address to bind; default 0.0.0.0. */
  host?: string;
  tls?: { cert: string; key: string };
}

/** Starts an HTTP or HTTPS server; rejects when the port cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const server = options.tls
    ? createTlsServer({ ...options.tls, minVersion: 'TLSv1.2' }, options.handler)
    : createServer(options.handler);
  // Longer than the idle time-out of clients and balancers (the API server's is 90 s), so that the server never closes first.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host ?? '0.0.0.0', () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close: (graceMs = 10_000) => closeServer(server, graceMs),
  };
}

async function closeServer(server: Server | TlsServer, graceMs: number): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  try {
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeIdleConnections();
    });
  } finally {
    clearTimeout(cut);
  }
}
