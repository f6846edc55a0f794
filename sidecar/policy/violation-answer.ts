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

/** Characters of the header's value, at most. Clients give up on heads of 8 or 16 KiB, and the agent's own are in it. */
const MAX_VALUE = 2048;

/**
 * Denial reasons as one header value; an engine's own reasons may hold what no header can carry, and be so many that a
 * client would take none of the head. Those that do not fit are left out: the entry and the body have all of them.
 */
export function violationsValue(reasons: readonly string[]): string {
  let value = '';
  for (const reason of reasons) {
    const word = reason.replace(/[^\x20-\x7e]|,/g, '?').trim();
    if (value.length + 1 + word.length > MAX_VALUE) break;
    value = value === '' ? word : `${value},${word}`;
  }
  return value;
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
