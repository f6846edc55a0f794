import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { systemClock, type Clock } from './clock.ts';
import { limitConnections, type ConnectionLimits } from './connection-limits.ts';

export interface Listener {
  readonly server: Server | TlsServer;
  readonly port: number;
  /** Stops accepting, lets requests in flight finish for `graceMs` milliseconds, then cuts what is left. */
  close(graceMs?: number): Promise<void>;
}

export interface ListenOptions {
  handler: RequestListener;
  port: number;
  /** Address to bind; default: every address, IPv6 and IPv4. */
  host?: string;
  tls?: { cert: string; key: string };
  /** What clients can make it hold in memory, without TLS; default: no bounds. */
  limits?: ConnectionLimits;
  /** Measures the time that requests in flight have; default: the system's. */
  clock?: Clock;
}

/** Starts an HTTP or HTTPS server; rejects when the port cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { handler, limits } = options;
  const server = options.tls
    ? createTlsServer({ ...options.tls, minVersion: 'TLSv1.2' }, handler)
    : createServer();
  if (!(server instanceof TlsServer))
    server.on('request', limits ? limitConnections(server, handler, limits) : handler);
  // Longer than the idle time-out of clients and balancers (the API server's is 90 s), so that the server never closes first.
  server.keepAliveTimeout = 120_000;
  const end = endOf(server, options);
  return {
    server,
    port: await bind(server, { port: options.port, host: options.host ?? ANY_ADDRESS }),
    close: (graceMs = 10_000) => end(graceMs),
  };
}

/** Every address, IPv6 and IPv4. */
export const ANY_ADDRESS = '::';
const ANY_IPV4_ADDRESS = '0.0.0.0';

/** What a kernel without IPv6 reports. Never EADDRINUSE: a process that has the port in IPv6 must not go unnoticed. */
const NO_IPV6: readonly unknown[] = ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'];

/**
 * Binds a server and resolves with its port; rejects when the port is taken, by whatever address and IP version.
 * `ANY_ADDRESS` is every IPv4 address where the kernel has no IPv6.
 */
export async function bind(
  server: TcpServer,
  { port, host }: { port: number; host: string },
): Promise<number> {
  try {
    await bindTo(server, port, host);
  } catch (error) {
    if (host !== ANY_ADDRESS || !NO_IPV6.includes((error as NodeJS.ErrnoException).code)) throw error;
    await bindTo(server, port, ANY_IPV4_ADDRESS);
  }
  return (server.address() as AddressInfo).port;
}

function bindTo(server: TcpServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Explicitly: the system's default may be IPv6 alone.
    server.listen({ port, host, ipv6Only: false }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Between two closings of idle connections while a server stops. */
const IDLE_POLL_MS = 50;
/** After this long without a byte of a request, a new connection counts as idle: its client may be about to send. */
const UNUSED_MS = 1_000;

/**
 * How this server, which does not listen yet, will end: it stops accepting, lets requests in flight finish for so many
 * milliseconds, then cuts what is left and calls `onCut`.
 */
export function endOf(
  server: Server | TlsServer,
  { clock = systemClock, onCut }: { clock?: Clock; onCut?: () => void },
): (graceMs: number) => Promise<void> {
  const closeIdle = idleCloser(server, clock);
  return async (graceMs) => {
    const idle = setInterval(closeIdle, IDLE_POLL_MS);
    const ended = new AbortController();
    const cut = (): void => {
      server.closeAllConnections();
      onCut?.();
    };
    clock.sleep(graceMs, ended.signal).then(cut, () => undefined);
    try {
      await new Promise<void>((resolve) => server.close(() => resolve()));
    } finally {
      clearInterval(idle);
      ended.abort();
    }
  };
}

/**
 * Closes connections that are idle, in two respects other than Node.js does:
 * - Node.js counts a connection as idle as soon as its response is known, although a slow client has not received all of it.
 *   While a response is on its way no connection is closed; the next closing comes soon.
 * - Node.js counts a connection as active until its first request is complete. Go's HTTP client opens connections in advance
 *   and may never use them, so an API server would hold a stopping webhook for its whole grace period.
 */
function idleCloser(server: Server | TlsServer, clock: Clock): () => void {
  /** When each was opened, and the bytes that it had received then (of a TLS connection, the handshake). */
  const sockets = new Map<Socket, { openedAtMs: number; bytes: number }>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    // The same one again, where an upgrade is left alone.
    if (sockets.has(socket)) return;
    sockets.set(socket, { openedAtMs: clock.monotonicMs(), bytes: socket.bytesRead });
    socket.once('close', () => sockets.delete(socket));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  const closeUnused = (): void => {
    for (const [socket, { openedAtMs, bytes }] of sockets)
      if (socket.bytesRead === bytes && clock.monotonicMs() - openedAtMs >= UNUSED_MS) socket.destroy();
  };
  // Node.js calls it too, when the server closes.
  server.closeIdleConnections = () => {
    if ([...sockets.keys()].every((socket) => socket.writableLength === 0)) closeIdle();
  };
  return () => {
    server.closeIdleConnections();
    closeUnused();
  };
}
