import type { Request, Response } from 'express';
import type { ControlPlaneRoute } from '../context.ts';

export interface ReadRoute extends Pick<ControlPlaneRoute, 'summary' | 'operation'> {
  /** The body of the response. */
  read: (request: Request, response: Response) => Promise<unknown>;
}

/** A GET route that sends JSON to admins. */
export function readRoute(path: string, { read, ...described }: ReadRoute): ControlPlaneRoute {
  return {
    ...{ method: 'GET', path, access: 'admin', ...described },
    handlers: [
      async (request, response) => {
        response.json(await read(request, response));
      },
    ],
  };
}
