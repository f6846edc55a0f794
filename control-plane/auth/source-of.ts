import type { Request } from 'express';

/** The address that a request comes from; one of IPv4 looks the same whether or not the server listens on both families. */
export function sourceOf(request: Request): string {
  return (request.socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '');
}
