import type { ConnectionOptions } from 'node:tls';
import { Secret } from '../../../runtime/secret.ts';

const TLS_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
export type TlsMode = (typeof TLS_MODES)[number];

/** A parsed DATABASE_URL. */
export interface DatabaseAddress {
  /** A host name, an IP address, or the directory of a Unix socket. */
  host: string;
  port: number;
  user: string;
  password: Secret;
  database: string;
  tls: TlsMode;
  /** Binds the login to the TLS connection, if the server supports it. */
  hasChannelBinding: boolean;
}

export const DATABASE_URL_FORM =
  'a URL postgres://user:password@host:port/database with special characters percent-encoded, and with no parameters other than sslmode (disable, require, verify-ca or verify-full), channel_binding (disable, prefer or require) and host (the directory of a Unix socket)';

const PROTOCOLS = ['postgres:', 'postgresql:'];
const PARAMETERS = ['sslmode', 'channel_binding', 'host'];
const CHANNEL_BINDING = ['disable', 'prefer', 'require'];
const DEFAULT_PORT = 5432;

/** undefined: not a valid DATABASE_URL. A parameter that has no effect here is rejected, so that it is not missed. */
export function parseDatabaseUrl(raw: string): DatabaseAddress | undefined {
  const url = URL.parse(raw);
  if (url === null || !PROTOCOLS.includes(url.protocol) || url.hash !== '') return undefined;
  const parameters = url.searchParams;
  if ([...parameters.keys()].some((name) => !PARAMETERS.includes(name))) return undefined;
  const encoded = [url.hostname, url.username, url.password, url.pathname.slice(1)];
  const [host, user, password, database] = encoded.map(decoded);
  const address = parameters.get('host') ?? host?.replaceAll(/[[\]]/g, '');
  const tls = modeOf(parameters.get('sslmode'), address ?? '');
  const binding = parameters.get('channel_binding') ?? 'prefer';
  if (!address || !user || !database || password === undefined) return undefined;
  // Several hosts are not supported: after a failover, one name leads to the new primary.
  if (address.includes(',')) return undefined;
  if (tls === undefined || !CHANNEL_BINDING.includes(binding)) return undefined;
  return {
    ...{ host: address, user, database, tls },
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    password: new Secret(password),
    hasChannelBinding: binding !== 'disable',
  };
}

/** undefined: not valid percent-encoding. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A Unix socket supports no TLS. */
function modeOf(given: string | null, host: string): TlsMode | undefined {
  const isSocket = host.startsWith('/');
  const mode = given ?? (isSocket || isLoopback(host) ? 'disable' : 'verify-full');
  return isSocket && mode !== 'disable' ? undefined : TLS_MODES.find((each) => each === mode);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * The TLS options of the driver. As in libpq, `require` verifies the certificate if there is a CA.
 * @param ca PEM certificates; null: those of Node.js
 */
export function tlsOptionsOf(mode: TlsMode, ca: string | null): ConnectionOptions | false {
  if (mode === 'disable') return false;
  if (mode === 'require' && ca === null) return { rejectUnauthorized: false };
  const trusted = ca === null ? {} : { ca };
  // Only the host name is not verified.
  return mode === 'verify-full' ? trusted : { ...trusted, checkServerIdentity: () => undefined };
}
