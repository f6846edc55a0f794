import type { IncomingMessage } from 'node:http';

/** true: the request headers announce a body of at least one byte. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
