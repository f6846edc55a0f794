import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { systemClock, type Clock } from './clock.ts';
import { limitConnections, type ConnectionLimits } from './connection-limits.ts';

/** A certificate (PEM, with its chain) and its private key (PEM). */
export interface KeyPair {
  cert: string;
  key: string;
}

export interface Listener {
  readonly server: Server | TlsServer;
  readonly port: number;
  /** Stops accepting connections, lets requests in flight finish for `graceMs` milliseconds, then cuts the remaining ones. */
  close(graceMs?: number): Promise<void>;
}

/** Time limits in milliseconds. A client that takes longer gets 408. Default: those of Node.js (60 s and 300 s). */
export interface RequestTimeouts {
  /** From the connection, or the first byte of a later request, to the end of the head. Also limits a TLS handshake. */
  headMs: number;
  /** To the end of the body. */
  requestMs: number;
}

export interface ListenOptions {
  handler: RequestListener;
  port: number;
  /** Address to bind; default: all IPv6 and IPv4 addresses. */
  host?: string;
  tls?: KeyPair;
  /** Limits on the memory that clients can occupy; default: no limits. */
  limits?: ConnectionLimits;
  timeouts?: RequestTimeouts;
  /** Measures the grace period of requests in flight; default: the system clock. */
  clock?: Clock;
}

/** Starts an HTTP or HTTPS server; rejects when the port cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { handler, limits, tls, timeouts } = options;
  const times = timeouts === undefined ? {} : timesOf(timeouts);
  const server: Server = tls
    ? createTlsServer({ ...tls, minVersion: 'TLSv1.2', ...times })
    : createServer(times);
  const handle = limits ? limitConnections(server, handler, limits) : handler;
  server.on('request', (request, response) => {
    // A browser must not take a response for another type than the one it has.
    response.setHeader('X-Content-Type-Options', 'nosniff');
    handle(request, response);
  });
  // Longer than the idle time-out of clients and load balancers (API server: 90 s), so that the server never closes first.
  server.keepAliveTimeout = 120_000;
  const end = endOf(server, options);
  return {
    server,
    port: await bind(server, { port: options.port, host: options.host ?? ANY_ADDRESS }),
    close: (graceMs = 10_000) => end(graceMs),
  };
}

/** Longest time between two checks of the time limits, in milliseconds. */
const CHECK_MS = 1_000;

function timesOf({ headMs, requestMs }: RequestTimeouts): ServerOptions {
  return {
    headersTimeout: headMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, headMs / 2),
    handshakeTimeout: headMs,
  };
}

/** All IPv6 and IPv4 addresses. */
export const ANY_ADDRESS = '::';
const ANY_IPV4_ADDRESS = '0.0.0.0';

const NO_IPV6: readonly unknown[] = ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'];

/**
 * Whether binding failed because the kernel has no IPv6. Not EADDRINUSE: a process that already uses the IPv6 port must be
 * reported.
 */
export const hasNoIpv6 = (error: unknown): boolean => NO_IPV6.includes((error as NodeJS.ErrnoException).code);

/**
 * Binds a server and resolves with its port. Rejects if the port is in use on any address and IP version.
 * `ANY_ADDRESS` binds all IPv4 addresses if the kernel has no IPv6.
 */
export async function bind(
  server: TcpServer,
  { port, host }: { port: number; host: string },
): Promise<number> {
  try {
    await bindTo(server, port, host);
  } catch (error) {
    if (host !== ANY_ADDRESS || !hasNoIpv6(error)) throw error;
    await bindTo(server, port, ANY_IPV4_ADDRESS);
  }
  return (server.address() as AddressInfo).port;
}

async function bindTo(server: TcpServer, port: number, host: string): Promise<void> {
  // Explicit, because the system default may be IPv6 only.
  server.listen({ port, host, ipv6Only: false });
  await once(server, 'listening');
}

/** Milliseconds between two attempts to close idle connections while a server stops. */
const IDLE_POLL_MS = 50;
/** A new connection counts as idle after this many milliseconds without a request byte: its client may be about to send. */
const UNUSED_MS = 1_000;

/**
 * Returns a function that stops the server. Call `endOf` before the server listens. The function stops accepting connections,
 * lets requests in flight finish for `graceMs` milliseconds, then cuts the remaining connections and calls `onCut`.
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
 * Closes idle connections. Differs from Node.js in two points:
 * - Node.js treats a connection as idle once its response is written, even if a slow client has not received all of it.
 *   This function closes no connection while any response is in transit; the next attempt follows soon.
 * - Node.js treats a connection as active until its first request is complete. Go's HTTP client opens connections in advance
 *   and may never use them, so an API server would delay a stopping webhook for its whole grace period.
 */
function idleCloser(server: Server | TlsServer, clock: Clock): () => void {
  /** When each socket was opened, and the bytes received by then (the TLS handshake, if any). */
  const sockets = new Map<Socket, { openedAtMs: number; bytes: number }>();
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    // An ignored upgrade emits the event again for the same socket.
    if (sockets.has(socket)) return;
    sockets.set(socket, { openedAtMs: clock.monotonicMs(), bytes: socket.bytesRead });
    socket.once('close', () => sockets.delete(socket));
  });
  const closeIdle = server.closeIdleConnections.bind(server);
  const closeUnused = (): void => {
    for (const [socket, { openedAtMs, bytes }] of sockets)
      if (socket.bytesRead === bytes && clock.monotonicMs() - openedAtMs >= UNUSED_MS) socket.destroy();
  };
  // Node.js also calls this method when the server closes.
  server.closeIdleConnections = () => {
    if ([...sockets.keys()].every((socket) => socket.writableLength === 0)) closeIdle();
  };
  return () => {
    server.closeIdleConnections();
    closeUnused();
  };
}
