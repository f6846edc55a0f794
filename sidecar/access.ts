import type { IncomingMessage } from 'node:http';
import { isIPv4, type Socket } from 'node:net';
import type { RequestHandler, Response } from 'express';
import { isOwnAddress } from '../probe/own-address.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Route } from '../runtime/http-app.ts';
import { Problem } from '../runtime/problem.ts';

/** With CONTROL_ACCESS=local, `local` routes are rejected outside loopback. An `open` path must not contain parameters. */
export type SidecarRoute = Route<'open' | 'local'>;

/**
 * Rejects requests unless they arrive over loopback (from the pod itself or a port-forward) with a loopback `Host` and no
 * foreign `Origin`. The headers are checked because DNS rebinding lets a web page reach 127.0.0.1 too. Other requests are
 * accepted only on paths whose routes are all open; `/health/ready` then returns only its status.
 */
export function localAccess(
  routes: readonly Pick<Route<string>, 'path' | 'access'>[],
  prefixes: readonly string[],
): RequestHandler {
  const closed = new Set(routes.filter(({ access }) => access !== 'open').map(({ path }) => path));
  const paths = routes.map(({ path }) => path).filter((path) => !closed.has(path));
  const open = new Set(prefixes.flatMap((prefix) => paths.map((path) => prefix + path)));
  return (request, response, next) => {
    const reason = notLocalReason(request);
    if (reason === null) {
      next();
      return;
    }
    if (!open.has(request.path)) throw new Problem(403, reason);
    response.locals[HIDDEN] = true;
    next();
  };
}

/** Why a request is not local; null: the request is local. */
export function notLocalReason(request: {
  socket: Addresses;
  headers: Pick<IncomingMessage['headers'], 'host' | 'origin'>;
}): string | null {
  if (!comesOverLoopback(request)) return 'this route is available on loopback only';
  const { host, origin } = request.headers;
  if (!isLoopbackAuthority(host ?? ''))
    return 'this route requires a loopback Host: localhost, 127.0.0.0/8 or [::1]';
  if (origin !== undefined && !isLoopbackOrigin(origin)) return 'this route rejects a foreign Origin';
  return null;
}

type Addresses = Pick<Socket, 'remoteAddress' | 'localAddress'>;

/** By connection. A closed one has no addresses any more. */
const known = new WeakMap<Addresses, boolean>();

/**
 * Whether a connection begins and ends on loopback. Only 127.0.0.1 and ::1 count as peer, because the proxies of service meshes
 * (Istio, Kuma) forward the connections of other pods from 127.0.0.6 to the address of the pod.
 */
export function comesOverLoopback({ socket }: { socket: Addresses }): boolean {
  let isLocal = known.get(socket);
  if (isLocal === undefined) {
    const { remoteAddress = '', localAddress = '' } = socket;
    isLocal =
      /^(::1|(::ffff:)?127[.]0[.]0[.]1)$/.test(remoteAddress) &&
      /^(::1$|(::ffff:)?127[.])/.test(localAddress);
    known.set(socket, isLocal);
  }
  return isLocal;
}

/** The last loopback authority: nearly all requests have the same. */
let knownLoopback = '127.0.0.1';

/** Whether `host[:port]` is loopback. Names below `localhost` are excluded, because a resolver may map them elsewhere. */
function isLoopbackAuthority(authority: string): boolean {
  if (authority === knownLoopback) return true;
  const [, host = ''] = /^(\[::1\]|[^:]+)(?::\d*)?$/.exec(authority) ?? [];
  const isLoopback =
    host === '[::1]' || host.toLowerCase() === 'localhost' || (isIPv4(host) && host.startsWith('127.'));
  if (isLoopback) knownLoopback = authority;
  return isLoopback;
}

/** False for the origin `null`, which sandboxed frames and local files send. */
function isLoopbackOrigin(origin: string): boolean {
  const [, authority = ''] = /^https?:\/\/(.+)$/i.exec(origin) ?? [];
  return isLoopbackAuthority(authority);
}

const HIDDEN = 'hidesBody';

/** Whether the response must contain only the status. */
export function isBodyHidden(response: Response): boolean {
  return response.locals[HIDDEN] === true;
}

/** Milliseconds after the first probe in which further addresses are accepted. */
const PROBES_MS = 10_000;

/**
 * Tells the kubelet, whose requests have no credentials, from other pods. It probes `/readyz` every second from the start of the
 * sidecar, when other pods do not know the address of the pod yet, and calls the hooks of the pod from the same address.
 */
export class KubeletAddresses {
  readonly #clock: Clock;
  readonly #known = new Set<string>();
  #untilMs = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call it for each probe. */
  add(probe: Partial<Addresses>): void {
    const nowMs = this.#clock.monotonicMs();
    if (probe.remoteAddress === undefined || nowMs > this.#untilMs || this.has(probe)) return;
    this.#untilMs = Math.min(this.#untilMs, nowMs + PROBES_MS);
    this.#known.add(probe.remoteAddress);
  }

  /** Also true for the pod itself, from which a mesh proxy forwards the requests of the kubelet. */
  has({ remoteAddress = '' }: Partial<Addresses>): boolean {
    return this.#known.has(remoteAddress) || isOwnAddress(remoteAddress);
  }
}
