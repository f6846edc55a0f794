import type { Request, Response } from 'express';
import type { ControlPlaneRoute } from '../context.ts';

export interface ReadRoute extends Pick<ControlPlaneRoute, 'summary' | 'operation'> {
  /** Default: the right to read agents. */
  access?: ControlPlaneRoute['access'];
  /** The body of the response. */
  read: (request: Request, response: Response) => Promise<unknown>;
}

/** A GET route that sends JSON to persons and programs. */
export function readRoute(path: string, { read, ...described }: ReadRoute): ControlPlaneRoute {
  return {
    ...{ method: 'GET', path, access: 'read', ...described },
    handlers: [
      async (request, response) => {
        response.json(await read(request, response));
      },
    ],
  };
}
