import { addressOnLane } from '../../core/egress/lane-addresses.ts';
import { endToEnd, pairsOf, valuesOf, type HeaderList } from '../proxy/headers.ts';
import type { Admitted } from './lane-entrance.ts';

/**
 * Request headers that the lane sets itself. The length is set by the client library where the body is sent as a whole. A lane
 * sends no trailers, and Node.js rejects their announcement for a request without a body.
 */
const REPLACED: ReadonlySet<string> = new Set(['host', 'expect', 'trailer']);
/** A coded response cannot be read. */
const CODING = 'accept-encoding';

export interface RequestHeadersOptions {
  host: string;
  /** true: the response is read. */
  isRead: boolean;
  /** true: the body is sent as a buffer, so its length is known. */
  isWhole: boolean;
}

/** The headers of a request to the upstream: the client's, with its keys, for another host. */
export function upstreamHeaders(raw: HeaderList, { host, isRead, isWhole }: RequestHeadersOptions): string[] {
  const headers = endToEnd(
    raw,
    (name) =>
      REPLACED.has(name) ||
      // The names of HTTP/2.
      name.startsWith(':') ||
      (isRead && name === CODING) ||
      (isWhole && name === 'content-length'),
  );
  return ['Host', host, ...headers];
}

/**
 * The headers of a response to the client, with addresses on the lane in place of those at the upstream: the client would leave the
 * lane with its next request. `isChanged`: the body is not the upstream's; `length`: its length, if known.
 */
export function clientHeaders(
  raw: HeaderList,
  { isChanged, length }: { isChanged: boolean; length?: number | undefined },
  { open, route }: Pick<Admitted, 'open' | 'route'>,
): string[] {
  let hasAddress = false;
  const headers = endToEnd(raw, (name) => {
    hasAddress ||= ADDRESSES.has(name);
    return name === 'trailer' || (isChanged && isOfTheBody(name));
  });
  if (length !== undefined) headers.push('Content-Length', String(length));
  if (!hasAddress) return headers;
  return pairsOf(headers).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    const address = ADDRESSES.has(lower) ? addressOnLane(route.lane, utf8(value), route.upstreamPath) : value;
    if (address === null && lower === LOCATION) open.leaves(value);
    return [name, address ?? value];
  });
}

/** Servers write paths in UTF-8. A header has one character for each byte. */
const utf8 = (value: string): string => Buffer.from(value, 'latin1').toString();

const LOCATION = 'location';
const ADDRESSES: ReadonlySet<string> = new Set([LOCATION, 'content-location']);

const OF_THE_BODY: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'content-md5',
  'content-digest',
  'digest',
  'repr-digest',
  'etag',
]);

const isOfTheBody = (name: string): boolean => OF_THE_BODY.has(name);

/** The content type without parameters, in lower case; empty: none. */
export function mediaTypeOf(raw: HeaderList): string {
  const value = valuesOf(raw, 'content-type')[0] ?? '';
  const end = value.indexOf(';');
  return (end < 0 ? value : value.slice(0, end)).trim().toLowerCase();
}
