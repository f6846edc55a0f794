import { BlockList, isIPv4, isIPv6 } from 'node:net';
import type { IdentityReason } from '../../core/shapes/identity.ts';
import { valuesOf, type HeaderList } from '../proxy/headers.ts';
import { printableText } from './printable-text.ts';

/** The header of Envoy with the certificates of the client and of the proxies after it. */
const CLIENT_CERTIFICATES = 'x-forwarded-client-cert';

/** Headers with credentials, which would be recorded as names. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
]);

export const isCredentialHeader = (name: string): boolean => CREDENTIALS.has(name);

/** The networks of IDENTITY_PROXIES; undefined: not addresses and networks separated by commas, or a network of all addresses. */
export function parseProxies(raw: string): BlockList | undefined {
  const proxies = new BlockList();
  for (const each of raw.split(',')) {
    const [address = '', bits, ...rest] = each.trim().split('/');
    const most = isIPv4(address) ? 32 : isIPv6(address) ? 128 : 0;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : 0;
    if (rest.length > 0 || prefix < 1 || prefix > most) return undefined;
    proxies.addSubnet(address, prefix, most === 32 ? 'ipv4' : 'ipv6');
  }
  return proxies;
}

/** The person in a header of a proxy, or why the header does not count. */
export type Named = { user: string } | { reason: IdentityReason };

/**
 * Reads the header `name`, in lower case, of requests from `proxies`.
 * @returns a function of the headers of a request and of the address of its connection
 */
export function headerReader(
  name: string,
  proxies: BlockList,
): (rawHeaders: HeaderList, address: string) => Named {
  const userIn = name === CLIENT_CERTIFICATES ? spiffeIdIn : utf8;
  return (rawHeaders, address) => {
    const values = valuesOf(rawHeaders, name);
    const [value] = values;
    if (value === undefined) return { reason: 'no-header' };
    // An IPv4 address in IPv6 notation is in an IPv4 network.
    if (!proxies.check(address, address.includes(':') ? 'ipv6' : 'ipv4'))
      return { reason: 'foreign-address' };
    const user = values.length > 1 ? null : printableText(userIn(value));
    return user === null ? { reason: 'invalid-header' } : { user };
  };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Node.js reads headers as Latin-1. null: the bytes are not UTF-8. */
function utf8(value: string): string | null {
  try {
    return UTF8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return null;
  }
}

/** `Key=value` or `Key="value"`, after the start, a comma or a semicolon. */
const PAIR = /(?:^|[,;])\s*(\w+)=("(?:[^"\\]|\\.)*"|[^,;"]*)/gy;

/** The first `URI=spiffe://…` outside of other quoted values; null: there is none before the end or the first invalid part. */
function spiffeIdIn(value: string): string | null {
  for (const [, key, found = ''] of value.matchAll(PAIR)) {
    const uri = found.startsWith('"') ? found.slice(1, -1) : found;
    if (key === 'URI' && uri.startsWith('spiffe://')) return uri;
  }
  return null;
}
