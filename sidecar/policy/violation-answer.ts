import type { ServerResponse } from 'node:http';
import { pairsOf, type HeaderList } from '../proxy/headers.ts';

export const VIOLATIONS_HEADER = 'X-Platform-Policy-Violations';

/** What speaks of the agent's body, or of how long to keep it: none of it is true of the answer in its place. */
const OF_THE_ENTITY: ReadonlySet<string> = new Set([
  'accept-ranges',
  'age',
  'cache-control',
  'digest',
  'etag',
  'expires',
  'last-modified',
  'location',
  'pragma',
  'repr-digest',
  'trailer',
  'want-content-digest',
]);

/** Denial reasons as one header value; an engine's own reasons may hold what no header can carry. */
export function violationsValue(reasons: readonly string[]): string {
  return reasons.map((reason) => reason.replace(/[^\x20-\x7e]|,/g, '?').trim()).join(',');
}

/**
 * Answers `403 PolicyViolation` in place of the agent's answer; `headers`: that answer's, as they would have gone on.
 * Returns the number of body bytes.
 */
export function answerViolation(
  response: ServerResponse,
  reasons: readonly string[],
  headers: HeaderList,
): number {
  const body = JSON.stringify({
    error: 'PolicyViolation',
    blocked: true,
    violations: reasons,
    message: `The agent's answer is blocked by policy: ${reasons.join(', ')}`,
  });
  const length = Buffer.byteLength(body);
  const kept = pairsOf(headers).filter(([name]) => !isOfTheEntity(name.toLowerCase()));
  const own = [
    ...['Content-Type', 'application/json', 'Content-Length', String(length)],
    ...['Cache-Control', 'no-store', VIOLATIONS_HEADER, violationsValue(reasons)],
  ];
  try {
    response.writeHead(403, 'Forbidden', [...kept.flat(), ...own]);
  } catch {
    // A header of the agent's that no head can carry must not undo the denial.
    response.writeHead(403, 'Forbidden', own);
  }
  response.end(body);
  return response.req.method === 'HEAD' ? 0 : length;
}

function isOfTheEntity(lowerName: string): boolean {
  if (lowerName.startsWith('content-security-policy')) return false;
  return lowerName.startsWith('content-') || OF_THE_ENTITY.has(lowerName);
}
