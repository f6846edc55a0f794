import type { ClientRequest } from './client-message.ts';
import {
  dashed,
  ELEMENT,
  FOR,
  FORWARDED,
  HOP,
  HOP_BY_HOP,
  HOST,
  isPlatformName,
  isTwin,
  LENGTH,
  nameOf,
  PLATFORM,
  PORT,
  PROTO,
  REPLACED,
  REQUEST_ID,
  TE,
  TRACE,
  TRAILER,
  TWIN,
} from './header-names.ts';

/**
 * Headers as a flat list (name, value, name, value, ...), the raw form of Node.js and undici. It preserves order, case and
 * repeated lines.
 */
export type HeaderList = readonly string[];

/** A `Connection` header may list further hop-by-hop headers, but not headers that frame or route the message. */
const NEVER_LISTED: ReadonlySet<string> = new Set(['content-length', 'host']);

/** All values of one header, in order. */
export function valuesOf(raw: HeaderList, lowerName: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? '';
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) values.push(raw[i + 1] ?? '');
  }
  return values;
}

/** Returns the reason phrase, or an empty string if Node.js cannot write the phrase. */
export function printable(message: string): string {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(message) ? message : '';
}

/** Returns the list without one header. */
export function without(flat: HeaderList, lowerName: string): string[] {
  return pairsOf(flat)
    .filter(([name]) => name.toLowerCase() !== lowerName)
    .flat();
}

export function pairsOf(flat: HeaderList): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i] ?? '', flat[i + 1] ?? '']);
  return pairs;
}

/** Headers by lower-case name; repeated headers as an array. No prototype: a header may be named `constructor`. */
export function recordOf(flat: HeaderList): Record<string, string | string[]> {
  const record = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of pairsOf(flat)) {
    const lower = name.toLowerCase();
    const known = record[lower];
    record[lower] = known === undefined ? value : [...[known].flat(), value];
  }
  return record;
}

const NONE: ReadonlySet<string> = new Set();

function listedIn(connection: readonly string[]): ReadonlySet<string> {
  const [only = ''] = connection;
  // The common case: nothing is listed except `keep-alive`, which is dropped anyway.
  if (connection.length <= 1 && (only === '' || only.toLowerCase() === 'keep-alive')) return NONE;
  const listed = new Set<string>();
  for (const value of connection) {
    for (const token of value.split(',')) {
      const name = token.trim().toLowerCase();
      if (!NEVER_LISTED.has(name)) listed.add(name);
    }
  }
  return listed;
}

/**
 * The headers about the message, without those about one connection and without the product's own. `isDropped`: whether to drop
 * another header.
 */
export function endToEnd(raw: HeaderList, isDropped: (lowerName: string) => boolean): string[] {
  const listed = listedIn(valuesOf(raw, 'connection'));
  const kept: string[] = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const { lower, rules } = nameOf(name);
    if ((rules & (HOP | PLATFORM)) === 0 && !listed.has(lower) && !isDropped(lower))
      kept.push(name, raw[i + 1] ?? '');
  }
  return kept;
}

export interface ForwardedFor {
  requestId: string;
  /** The trace that begins here, in place of an absent or invalid one; null: the client's headers pass unchanged. */
  traceparent: string | null;
  /** The effective Host: the client's Host header, or the authority of an absolute-form target. */
  host: string | null;
  /** Address of the peer. */
  remoteAddress: string;
}

/** The headers of the request to the agent. */
export function requestHeaders(raw: HeaderList, to: ForwardedFor): string[] {
  const listed = listedIn(valuesOf(raw, 'connection'));
  const head: string[] = to.host === null ? [] : ['Host', to.host];
  let present = 0;
  let acceptsTrailers = false;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const value = raw[i + 1] ?? '';
    const { lower, rules } = nameOf(name);
    if ((rules & TE) !== 0) acceptsTrailers ||= /(^|,)\s*trailers\s*(,|$)/i.test(value);
    if ((rules & (HOP | PLATFORM | TWIN | REPLACED)) !== 0 || listed.has(lower)) continue;
    if ((rules & TRAILER) !== 0) announce(head, name, value, (each) => listed.has(each) || !mayTrail(each));
    else if ((rules & TRACE) === 0 || to.traceparent === null) {
      present |= rules;
      head.push(name, value);
    }
  }
  if (acceptsTrailers) head.push('TE', 'trailers');
  forward(head, present, to);
  head.push('X-Request-Id', to.requestId);
  if (to.traceparent !== null) head.push('traceparent', to.traceparent);
  return head;
}

/** Adds headers about the origin of the request, except those that an earlier proxy has set (`present`: bits of `FORWARDED`). */
function forward(head: string[], present: number, { host, remoteAddress }: ForwardedFor): void {
  const address = plainAddress(remoteAddress);
  if ((present & FOR) === 0) head.push('X-Forwarded-For', address);
  if ((present & PROTO) === 0) head.push('X-Forwarded-Proto', 'http');
  if (host !== null && (present & HOST) === 0) head.push('X-Forwarded-Host', host);
  if (host !== null && (present & PORT) === 0) head.push('X-Forwarded-Port', portOf(host));
  if ((present & ELEMENT) === 0) head.push('Forwarded', knownElement(address, host));
}

/** The port that the client requested. */
function portOf(host: string): string {
  const colon = host.lastIndexOf(':');
  const port = colon > host.lastIndexOf(']') ? host.slice(colon + 1) : '';
  return port === '' ? '80' : port;
}

/** The last element. Most requests have the same sender and host as the one before. */
let lastElement: { address: string; host: string | null; text: string } | null = null;

function knownElement(address: string, host: string | null): string {
  if (lastElement === null || lastElement.host !== host || lastElement.address !== address)
    lastElement = { address, host, text: forwardedElement(address, host) };
  return lastElement.text;
}

/** RFC 7239 section 4. */
function forwardedElement(address: string, host: string | null): string {
  const source = address.includes(':') ? `"[${address}]"` : address;
  const target = host === null ? '' : `;host=${tokenOrQuoted(host)}`;
  return `for=${source}${target};proto=http`;
}

function tokenOrQuoted(value: string): string {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
}

/** A dual-stack socket reports IPv4 peers as `::ffff:10.0.0.1`. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

/** Response headers or trailers, split into those for the client and those for the sidecar. */
export interface ResponseHead {
  headers: string[];
  /** The product's own headers by lower-case name; repeated headers joined by commas. */
  platform: Map<string, string>;
}

/** The headers of the response to the client. `requestId` is the id of the audit entry. */
export function responseHeaders(raw: HeaderList, requestId: string): ResponseHead {
  const head = withoutOwn(raw, true);
  head.headers.push('X-Request-Id', requestId);
  return head;
}

export function responseTrailers(raw: HeaderList): ResponseHead {
  return withoutOwn(raw, false);
}

function withoutOwn(raw: HeaderList, isHead: boolean): ResponseHead {
  const listed = listedIn(valuesOf(raw, 'connection'));
  // A transfer coding overrides a length (RFC 9112 section 6.3), so the length is dropped. Only chunked bodies have trailers.
  const isChunked = isHead && valuesOf(raw, 'transfer-encoding').length > 0;
  const headers: string[] = [];
  const platform = new Map<string, string>();
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? '';
    const value = raw[i + 1] ?? '';
    const { lower, rules } = nameOf(name);
    if ((rules & PLATFORM) !== 0) addValue(platform, dashed(lower), value);
    else if ((rules & (HOP | REQUEST_ID)) !== 0 || listed.has(lower)) continue;
    else if (isChunked && (rules & LENGTH) !== 0) continue;
    else if (isHead && (rules & TRAILER) !== 0) {
      if (isChunked) announce(headers, name, value, (each) => listed.has(each) || isOwn(each));
    } else headers.push(name, value);
  }
  return { headers, platform };
}

/** Whether a header is dropped in both directions, as a header and as a trailer. */
function isOwn(lowerName: string): boolean {
  return isPlatformName(lowerName) || HOP_BY_HOP.has(lowerName) || lowerName === 'x-request-id';
}

/** Adds a `Trailer` header without the names of dropped trailers. Omits the header if no name is left. */
function announce(
  head: string[],
  name: string,
  value: string,
  isDropped: (lowerName: string) => boolean,
): void {
  const names = value.split(',').map((each) => each.trim());
  const kept = names.filter((each) => !isDropped(each.toLowerCase()));
  if (kept.length === names.length) head.push(name, value);
  else if (kept.length > 0) head.push(name, kept.join(', '));
}

function addValue(map: Map<string, string>, name: string, value: string): void {
  const known = map.get(name);
  map.set(name, known === undefined ? value : `${known},${value}`);
}

/**
 * Fields about routing, framing, the sender and the body must come before the body (RFC 9110 section 6.5.1). An agent that
 * merges trailers into the headers would trust values that the proxy has not checked.
 */
const NEVER_A_TRAILER: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'cookie',
  'expect',
  'host',
  'max-forwards',
  'range',
  'trailer',
  ...FORWARDED.keys(),
]);

/** Whether a client may send this field as a trailer. */
function mayTrail(lowerName: string): boolean {
  return !isOwn(lowerName) && !isTwin(lowerName) && !NEVER_A_TRAILER.has(dashed(lowerName));
}

/** The trailers of a request, without those that a client must not send. */
export function requestTrailers(raw: HeaderList): string[] {
  return pairsOf(withoutOwn(raw, false).headers)
    .filter(([name]) => mayTrail(name.toLowerCase()))
    .flat();
}

/** Only a chunked HTTP/1.1 response with a body can have trailers. Node.js rejects a `Trailer` header on any other response. */
export function mayHaveTrailers(
  request: Pick<ClientRequest, 'method' | 'httpVersion'>,
  status: number,
): boolean {
  return request.httpVersion !== '1.0' && request.method !== 'HEAD' && status !== 204 && status !== 304;
}
