import { postgresPing } from './postgres.ts';
import { redisPing } from './redis.ts';
import type { Ping } from './tcp-reach.ts';

/** Schemes and types by the protocol that is spoken there. */
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
 * How a service at this address is asked in its own protocol; null: there is no such question for it, and a connection
 * has to do. The scheme of a URL counts before the type that the manifest gives the service.
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
