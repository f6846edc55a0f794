import { isIPv4 } from 'node:net';
import type { Request, RequestHandler, Response } from 'express';
import { Problem } from '../runtime/problem.ts';

/** What anybody in the pod's network may ask when CONTROL_ACCESS is local; of readiness only the status. */
export const OPEN_PATHS: ReadonlySet<string> = new Set([
  '/readyz',
  '/drain',
  '/health/live',
  '/health/ready',
  '/metrics',
  '/capabilities',
  '/.well-known/agent-card.json',
]);

/**
 * Rejects requests to local routes, unless they come over loopback (the pod itself, or a port-forward), with a loopback
 * `Host` and no foreign `Origin`. A browser that follows a DNS name from its own site to 127.0.0.1 comes over loopback too.
 */
export function localAccess(prefixes: readonly string[]): RequestHandler {
  const open = new Set(prefixes.flatMap((prefix) => [...OPEN_PATHS].map((path) => prefix + path)));
  return (request, response, next) => {
    const reason = reasonAgainst(request);
    if (reason === null) {
      next();
      return;
    }
    if (!open.has(request.path)) throw new Problem(403, reason);
    hideBody(response);
    next();
  };
}

/** Why a request is not local; null: it is. */
function reasonAgainst(request: Request): string | null {
  if (!comesOverLoopback(request)) return 'this route is answered on loopback only';
  const { host, origin } = request.headers;
  if (!isLoopbackAuthority(host ?? ''))
    return 'this route needs a loopback Host: localhost, 127.0.0.0/8 or [::1]';
  if (origin !== undefined && !isLoopbackOrigin(origin)) return 'this route rejects a foreign Origin';
  return null;
}

/** Whether the peer's address is loopback. */
export function comesOverLoopback({ socket }: Pick<Request, 'socket'>): boolean {
  const { remoteAddress = '' } = socket;
  return remoteAddress === '::1' || /^(::ffff:)?127\./.test(remoteAddress);
}

/** `host[:port]` of this machine's loopback; a name below `localhost` is whatever a resolver says. */
function isLoopbackAuthority(authority: string): boolean {
  const [, host = ''] = /^(\[::1\]|[^:]+)(?::\d*)?$/.exec(authority) ?? [];
  return host === '[::1]' || host.toLowerCase() === 'localhost' || (isIPv4(host) && host.startsWith('127.'));
}

/** `null` is the origin of sandboxed frames and files. */
function isLoopbackOrigin(origin: string): boolean {
  const [, authority = ''] = /^https?:\/\/(.+)$/i.exec(origin) ?? [];
  return isLoopbackAuthority(authority);
}

const HIDDEN = 'hidesBody';

function hideBody(response: Response): void {
  response.locals[HIDDEN] = true;
}

/** Whether the client may see the status but not the reasons. */
export function isBodyHidden(response: Response): boolean {
  return response.locals[HIDDEN] === true;
}
