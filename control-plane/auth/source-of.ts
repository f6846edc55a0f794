import type { Request } from 'express';

/** The remote address of a request. An IPv4 address has the same form on a dual-stack and on an IPv4-only listener. */
export function sourceOf(request: Request): string {
  return (request.socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '');
}
