import { detached } from '../../core/untrusted/fields.ts';
import { HEADER_NAME } from '../../core/untrusted/header-syntax.ts';

/** Headers about one connection, not about the message (RFC 9110 section 7.6.1), and headers that this proxy handles itself. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
]);

/** Request headers that are dropped or replaced. */
const REWRITTEN: ReadonlySet<string> = new Set(['expect', 'host', 'x-request-id']);

/** A `tracestate` belongs to the `traceparent` that is replaced. */
const TRACE_CONTEXT: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

/** One bit for each header about the origin of a request. Such a header is passed unchanged if present, and set if absent. */
export const [FOR, PROTO, HOST, PORT, ELEMENT] = [1, 2, 4, 8, 16] as const;
export const FORWARDED: ReadonlyMap<string, number> = new Map([
  ['x-forwarded-for', FOR],
  ['x-forwarded-proto', PROTO],
  ['x-forwarded-host', HOST],
  ['x-forwarded-port', PORT],
  ['forwarded', ELEMENT],
]);

/** A variant of these names with `_` is dropped from requests too: some servers treat `_` and `-` as equal. */
const NO_TWINS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  ...FORWARDED.keys(),
  'content-length',
  'x-request-id',
]);

export function dashed(lowerName: string): string {
  return lowerName.includes('_') ? lowerName.replaceAll('_', '-') : lowerName;
}

export function isTwin(lowerName: string): boolean {
  return lowerName.includes('_') && NO_TWINS.has(dashed(lowerName));
}

/** Whether a header belongs to the product. Some servers treat `_` and `-` in a header name as equal. */
export function isPlatformName(lowerName: string): boolean {
  if (lowerName.charCodeAt(0) !== 120) return false;
  return dashed(lowerName).startsWith('x-platform-');
}

/** One bit for each rule about a header of this name, in addition to those of `FORWARDED`. No bit: the header passes in both directions. */
export const [HOP, PLATFORM, TWIN, TRAILER, REPLACED, TRACE, TE, REQUEST_ID, LENGTH] = [
  32, 64, 128, 256, 512, 1024, 2048, 4096, 8192,
] as const;
/** Bits of the names that decide whether a request is plain (read-plain-request.ts). */
export const [ROUTES, CONNECTION, UNUSUAL] = [16_384, 32_768, 65_536] as const;

/** A request with one of these headers is not plain. */
const OF_UNUSUAL_REQUESTS: ReadonlySet<string> = new Set([
  'expect',
  'http2-settings',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

interface KnownName {
  /** As written. The same object for the same name, unless it is long. */
  readonly name: string;
  readonly lower: string;
  readonly rules: number;
}

/** Known names, as written. Messages have the same few names again and again, and one look-up is cheaper than all rules. */
const knownNames = new Map<string, KnownName>();
const MAX_KNOWN_NAMES = 500;
/** Longer names are not kept, so that all of them need less than 100 kB. */
const MAX_KNOWN_LENGTH = 64;

/** Returns what is known about a header name. */
export function nameOf(name: string): KnownName {
  const known = knownNames.get(name);
  if (known !== undefined) return known;
  // A copy, because the name is a slice of the whole head, and so is a name that is already in lower case.
  const copy = detached(name);
  const lower = copy.toLowerCase();
  const found = { name: copy, lower, rules: rulesOf(lower) };
  if (name.length > MAX_KNOWN_LENGTH) return found;
  if (knownNames.size >= MAX_KNOWN_NAMES) knownNames.clear();
  knownNames.set(copy, found);
  return found;
}

function rulesOf(lower: string): number {
  let rules = FORWARDED.get(lower) ?? 0;
  if (HOP_BY_HOP.has(lower)) rules |= HOP;
  if (isPlatformName(lower)) rules |= PLATFORM;
  if (isTwin(lower)) rules |= TWIN;
  if (lower === 'trailer') rules |= TRAILER;
  if (REWRITTEN.has(lower)) rules |= REPLACED;
  if (TRACE_CONTEXT.has(lower)) rules |= TRACE;
  if (lower === 'te') rules |= TE;
  if (lower === 'x-request-id') rules |= REQUEST_ID;
  if (lower === 'content-length') rules |= LENGTH;
  if (lower === 'host') rules |= ROUTES;
  if (lower === 'connection') rules |= CONNECTION;
  if (OF_UNUSUAL_REQUESTS.has(lower) || isTwin(lower) || !HEADER_NAME.test(lower)) rules |= UNUSUAL;
  return rules;
}
