import type { RequestHandler, Response } from 'express';
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

/** Refuses what is not for everybody, unless it comes over loopback (the pod itself, or a port forward). */
export function localAccess(prefixes: readonly string[]): RequestHandler {
  const open = new Set(prefixes.flatMap((prefix) => [...OPEN_PATHS].map((path) => prefix + path)));
  return (request, response, next) => {
    if (isLoopback(request.socket.remoteAddress)) {
      next();
      return;
    }
    if (!open.has(request.path)) throw new Problem(403, 'this route is answered on loopback only');
    hideBody(response);
    next();
  };
}

function isLoopback(address: string | undefined): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address ?? '');
}

const HIDDEN = 'hidesBody';

function hideBody(response: Response): void {
  response.locals[HIDDEN] = true;
}

/** Whether the client may see the status but not the reasons. */
export function isBodyHidden(response: Response): boolean {
  return response.locals[HIDDEN] === true;
}
