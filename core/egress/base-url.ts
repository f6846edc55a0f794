import { CONTROL_PORT, EGRESS_CONNECT_PORT, EGRESS_PORT, PROXY_PORT } from './ports.ts';

/** The upstream of a lane in `EGRESS_LANES`. A pattern without backslashes, which the guard checks too. */
export const UPSTREAM = 'https?://[A-Za-z0-9_.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~%:+/-]*)?';

/** A base URL: its origin without a default port, and its path with the given slash at the end, empty without a path. */
export interface BaseUrl {
  origin: string;
  path: string;
}

const WANTED = new RegExp(`^${UPSTREAM}$`);
const OWN_PORTS: readonly number[] = [PROXY_PORT, CONTROL_PORT, EGRESS_PORT, EGRESS_CONNECT_PORT];

/**
 * The parts of the value of a variable. A problem is the end of a sentence and never contains the value, which may have a
 * password.
 * @param bareHostPort the port of a value without a scheme; undefined: a value needs a scheme
 */
export function parseBaseUrl(
  value: string,
  bareHostPort?: number,
): { ok: true; url: BaseUrl } | { ok: false; problem: string } {
  const text = bareHostPort === undefined || value.includes('://') ? value : withScheme(value, bareHostPort);
  const url = WANTED.test(text) ? URL.parse(text) : null;
  if (url === null)
    return {
      ok: false,
      problem: 'is not a URL with the http: or https: protocol, without credentials, query and fragment',
    };
  if (url.hostname === '0.0.0.0') return { ok: false, problem: 'is an address to listen on' };
  if (isLoopback(url.hostname) && OWN_PORTS.includes(Number(url.port)))
    return { ok: false, problem: 'is an address of the sidecar' };
  return {
    ok: true,
    url: { origin: url.origin, path: url.pathname === '/' && !text.endsWith('/') ? '' : url.pathname },
  };
}

const withScheme = (value: string, port: number): string =>
  `http://${/:[0-9]+$/.test(value) ? value : `${value}:${port}`}`;

/** Resolvers map `localhost.` and every name below `localhost` to loopback too. */
const isLoopback = (host: string): boolean => host.startsWith('127.') || /(?:^|[.])localhost[.]?$/.test(host);
