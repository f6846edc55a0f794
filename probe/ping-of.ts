import { postgresPing } from './postgres.ts';
import { redisPing } from './redis.ts';
import type { Ping } from './tcp-reach.ts';

/** URL schemes and service types to their protocol. */
const PROTOCOLS: ReadonlyMap<string, 'redis' | 'rediss' | 'postgres'> = new Map([
  ['redis', 'redis'],
  ['rediss', 'rediss'],
  ['valkey', 'redis'],
  ['valkeys', 'rediss'],
  ['keydb', 'redis'],
  ['dragonfly', 'redis'],
  ['postgres', 'postgres'],
  ['postgresql', 'postgres'],
  ['pgvector', 'postgres'],
  ['timescaledb', 'postgres'],
]);

/**
 * The protocol-level ping for a service at this address; null: none exists, so only a TCP connection is made. A URL's
 * scheme takes precedence over the service type in the manifest.
 */
export function pingOf(address: string, type: string | undefined): Ping | null {
  const scheme = /^([a-z][a-z0-9-]*)(?:\+[a-z0-9.+-]*)?:\/\//i.exec(address.trim())?.[1];
  const protocol = PROTOCOLS.get((scheme ?? type ?? '').toLowerCase());
  if (protocol === undefined) return null;
  if (protocol !== 'postgres') return redisPing(protocol === 'rediss');
  const url = scheme === undefined ? null : URL.parse(address.trim());
  const user = decoded(url?.username) || 'postgres';
  return postgresPing(user, decoded(url?.pathname.slice(1)) || user);
}

function decoded(text: string | undefined): string {
  try {
    return decodeURIComponent(text ?? '');
  } catch {
    return '';
  }
}
