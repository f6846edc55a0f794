import type { Request, Response } from 'express';
import type { OperationResponse } from '../../core/openapi/operation.ts';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneRoute } from '../context.ts';
import { assetOf, type Asset } from './assets.ts';
import { dashboardFiles } from './files.ts';

/**
 * Only the files of the dashboard run or load, from this origin. A page of another origin can neither frame the dashboard nor
 * hold a reference to its window, and links lead out of it without a referrer.
 */
export const DASHBOARD_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
} as const;

const PAGE = 'index.html';

const responsesOf = (
  description: string,
  contentType: string,
): Record<number, OperationResponse | string> => ({
  200: { description, contentType, schema: { type: 'string' } },
  304: { description: 'The file of If-None-Match is current.' },
  503: 'The process runs from source, and the dashboard is not built.',
});

/**
 * The dashboard: a page, its script and its stylesheet. Only these files are reachable, by their exact names.
 * @param load the files by name; null: not built
 */
export function dashboardRoutes(
  load: () => ReadonlyMap<string, string> | null = dashboardFiles,
): ControlPlaneRoute[] {
  let assets: ReadonlyMap<string, Asset> | null = null;
  return [
    {
      method: 'GET',
      path: '/',
      access: 'open',
      summary: 'The dashboard, an HTML page. It signs in with the identity provider or with a key.',
      operation: { id: 'getDashboard', responses: responsesOf('The page.', 'text/html') },
      handlers: [(request, response) => serve(PAGE, request, response)],
    },
    {
      method: 'GET',
      path: '/assets/:file',
      access: 'open',
      summary: 'A script or stylesheet of the dashboard. Its name has a hash of its content.',
      operation: {
        id: 'getDashboardAsset',
        responses: { ...responsesOf('The script.', 'text/javascript'), 404: 'There is no such file.' },
      },
      handlers: [(request, response) => serve(request.params['file'] as string, request, response)],
    },
  ];

  /** The files do not change while the process runs. Until they are built, each request looks for them again. */
  function loaded(): ReadonlyMap<string, Asset> {
    if (assets !== null) return assets;
    const files = load();
    if (files === null) throw new Problem(503, 'the dashboard is not built: run make build');
    assets = new Map([...files].map(([name, text]) => [name, assetOf(name, text)]));
    return assets;
  }

  async function serve(name: string, request: Request, response: Response): Promise<void> {
    response.set(DASHBOARD_HEADERS);
    const asset = loaded().get(name);
    if (asset === undefined) throw new Problem(404, `no route ${request.path.slice(0, 200)}`);
    response.set({ ETag: asset.etag, 'Cache-Control': asset.cacheControl, Vary: 'Accept-Encoding' });
    if (request.fresh) {
      response.status(304).end();
      return;
    }
    const coding = (['br', 'gzip'] as const).find((each) => request.acceptsEncodings(each)) ?? 'identity';
    const body = await asset.encoded(coding);
    if (coding !== 'identity') response.set('Content-Encoding', coding);
    response.set({ 'Content-Type': asset.contentType, 'Content-Length': String(body.length) }).end(body);
  }
}
