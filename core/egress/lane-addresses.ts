import { lanePathOf, type Lane } from './lanes.ts';

/** Between the lane's path and an absolute path at the upstream. */
const ABSOLUTE = '/~';

/** The absolute path that `addressOnLane` has written. `rest`: the part of a target after the lane's own path. null: it is not one. */
export const absolutePathIn = (rest: string): string | null =>
  rest.startsWith(`${ABSOLUTE}/`) ? rest.slice(ABSOLUTE.length) : null;

/**
 * The path and query at the upstream for a path below an MCP lane. `rest`: path and query after the lane's own path, for example
 * after `/mcp/files`. Empty: the upstream's own path. `/~/messages?session=1`: the absolute path `/messages`. Any other rest is
 * appended to the upstream's path.
 */
export function mcpUpstreamPath(upstream: URL, rest: string): string {
  const absolute = absolutePathIn(rest);
  if (absolute !== null) return absolute;
  if (rest === '' || rest.startsWith('?')) return upstream.pathname + (rest === '' ? upstream.search : rest);
  return upstream.pathname.replace(/\/$/, '') + rest;
}

/**
 * The path at the lane for an address that the upstream sends, such as the target of a redirect. null: the address is not at the
 * upstream. `base`: path and query at the upstream of the request that the upstream responds to.
 */
export function addressOnLane(lane: Lane, address: string, base: string): string | null {
  const url = URL.parse(address.trim(), lane.upstream.origin + base);
  if (url === null || !isSameServer(url, lane.upstream)) return null;
  return lanePathOf(lane) + ABSOLUTE + url.pathname + url.search + url.hash;
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** A server behind a proxy that terminates TLS writes `http:` into its own addresses, with the port of the proxy or without one. */
function isSameServer(url: URL, upstream: URL): boolean {
  const [own, its] = [DEFAULT_PORTS[upstream.protocol], DEFAULT_PORTS[url.protocol]];
  if (its === undefined || url.hostname !== upstream.hostname) return false;
  return url.port === upstream.port || (url.port || its) === (upstream.port || own);
}
