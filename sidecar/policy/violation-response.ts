import type { ClientResponse } from '../proxy/client-message.ts';
import { pairsOf, type HeaderList } from '../proxy/headers.ts';

const VIOLATIONS_HEADER = 'X-Platform-Policy-Violations';

/** Headers that describe the agent's body or its caching; they do not apply to the denial that replaces it. */
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

/** Maximum characters of the header value. Clients reject heads over 8 or 16 KiB, which also contain the agent's headers. */
const MAX_VALUE = 2048;

/**
 * Denial reasons as one header value. Characters that are invalid in a header are replaced, because an engine's own reasons
 * may contain any text. Reasons beyond the size limit are omitted; the entry and the body contain all reasons.
 */
function violationsValue(reasons: readonly string[]): string {
  let value = '';
  for (const reason of reasons) {
    const text = reason.replace(/[^\x20-\x7e]|,/g, '?').trim();
    if (value.length + 1 + text.length > MAX_VALUE) break;
    value = value === '' ? text : `${value},${text}`;
  }
  return value;
}

/** The headers of a response that passes, with its denial reasons if there are any. */
export function withViolations(headers: string[], reasons: readonly string[]): string[] {
  return reasons.length === 0 ? headers : [...headers, VIOLATIONS_HEADER, violationsValue(reasons)];
}

/**
 * Sends `403 PolicyViolation` instead of the agent's response; `headers`: the headers of that response. Returns the number of
 * body bytes.
 */
export function respondViolation(
  response: ClientResponse,
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
    // An invalid header from the agent must not prevent the denial.
    response.writeHead(403, 'Forbidden', own);
  }
  // Not a string: Node.js would write the head in its encoding, too, and the agent's headers may have bytes above ASCII.
  response.end(Buffer.from(body), 'latin1');
  return response.req.method === 'HEAD' ? 0 : length;
}

function isOfTheEntity(lowerName: string): boolean {
  if (lowerName.startsWith('content-security-policy')) return false;
  return lowerName.startsWith('content-') || OF_THE_ENTITY.has(lowerName);
}
