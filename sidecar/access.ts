import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import type { RequestHandler, Response } from 'express';
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
  socket: Pick<IncomingMessage['socket'], 'remoteAddress'>;
  headers: Pick<IncomingMessage['headers'], 'host' | 'origin'>;
}): string | null {
  if (!comesOverLoopback(request)) return 'this route is available on loopback only';
  const { host, origin } = request.headers;
  if (!isLoopbackAuthority(host ?? ''))
    return 'this route requires a loopback Host: localhost, 127.0.0.0/8 or [::1]';
  if (origin !== undefined && !isLoopbackOrigin(origin)) return 'this route rejects a foreign Origin';
  return null;
}

/** Whether the peer's address is loopback. */
export function comesOverLoopback({
  socket,
}: {
  socket: Pick<IncomingMessage['socket'], 'remoteAddress'>;
}): boolean {
  const { remoteAddress = '' } = socket;
  return remoteAddress === '::1' || /^(::ffff:)?127\./.test(remoteAddress);
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
