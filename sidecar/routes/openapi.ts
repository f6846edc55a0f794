import { VERSION } from '../../runtime/version.ts';
import type { SidecarRoute } from '../access.ts';

/** `GET /openapi.json`. `routes`: the whole table, to which this row is added. */
export function openApiRoute(routes: readonly SidecarRoute[]): SidecarRoute {
  return {
    method: 'GET',
    path: '/openapi.json',
    access: 'local',
    summary: 'Returns this API as an OpenAPI 3.1 document.',
    operation: {
      id: 'getApiDescription',
      responses: { 200: { description: 'The document.', schema: 'OpenApiDocument' } },
    },
    handlers: [
      async (_request, response) => {
        const { sidecarDocument } = await import('../openapi.ts');
        response.json(sidecarDocument(routes, VERSION));
      },
    ],
  };
}
