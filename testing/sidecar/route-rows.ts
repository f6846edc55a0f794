import type { SidecarRoute } from '../../sidecar/access.ts';

/** Routes that no row of a test table requests, as `METHOD path`. The query of a row does not matter. */
export function routesWithoutRow(
  routes: readonly SidecarRoute[],
  rows: readonly { method: string; path: string }[],
): string[] {
  const missing = routes.filter(({ method, path }) => {
    const pattern = new RegExp(
      String.raw`^${path.replaceAll('.', String.raw`\.`).replaceAll(/:\w+/g, '[^/]+')}(\?|$)`,
    );
    return !rows.some((row) => row.method === method && pattern.test(row.path));
  });
  return missing.map(({ method, path }) => `${method} ${path}`);
}
