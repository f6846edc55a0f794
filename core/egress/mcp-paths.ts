/** Between the lane's path and an absolute path at the upstream. */
const ABSOLUTE = '/~';

/**
 * The path and query at the upstream for a path below a lane. `rest`: path and query after the lane's own path, for example
 * after `/mcp/files`. Empty: the upstream's own path. `/~/messages?session=1`: the absolute path `/messages`, which
 * `mcpLanePath` writes. Any other rest is appended to the upstream's path.
 */
export function mcpUpstreamPath(upstream: URL, rest: string): string {
  if (rest.startsWith(`${ABSOLUTE}/`)) return rest.slice(ABSOLUTE.length);
  if (rest === '' || rest.startsWith('?')) return upstream.pathname + (rest === '' ? upstream.search : rest);
  return upstream.pathname.replace(/\/$/, '') + rest;
}

/**
 * The path at the lane for the endpoint that a server of the older HTTP+SSE transport announces. null: the endpoint has another
 * origin than the upstream, which MCP clients reject too.
 */
export function mcpLanePath(lanePath: string, upstream: URL, endpoint: string): string | null {
  const url = URL.parse(endpoint.trim(), upstream.href);
  if (url?.origin !== upstream.origin) return null;
  return lanePath + ABSOLUTE + url.pathname + url.search;
}
