import type { Request, Response } from 'express';
import { EVENT_STREAM_HEADERS } from '../../runtime/event-stream.ts';
import type { ControlPlaneRoute } from '../context.ts';
import type { LiveFleet } from '../live/fleet.ts';
import { MAX_STREAMS } from '../live/fleet-streams.ts';
import { tryAgain } from '../try-again.ts';

/** The changes of the fleet as server-sent events. */
export function streamRoutes(live: () => LiveFleet): ControlPlaneRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/stream',
      access: 'admin',
      summary: `Server-sent events. \`ready\` is the first event: read \`GET /agents\` after it. \`agents\` \`{changed, removed: [{namespace, agentName}]}\` follows at most every two seconds; \`changed\` has the rows of \`GET /agents\` that differ from the last sent ones. A comment line every 15 seconds keeps the connection open. A client with more than 1 MiB of unsent events is disconnected. 503 for more than ${MAX_STREAMS} streams.`,
      operation: {
        id: 'streamAgents',
        responses: {
          200: {
            description: 'The events, until either side closes the connection.',
            contentType: 'text/event-stream',
            schema: 'FleetStream',
          },
          503: `There are ${MAX_STREAMS} streams, the store is unavailable, or no admin key is configured.`,
        },
      },
      handlers: [(request, response) => connect(request, response, live())],
    },
  ];
}

async function connect(request: Request, response: Response, { streams }: LiveFleet): Promise<void> {
  if (streams.isFull) throw tryAgain(`the limit of ${MAX_STREAMS} event streams is reached; try again`, 10);
  if (request.method === 'HEAD') response.writeHead(200, EVENT_STREAM_HEADERS).end();
  else await streams.connect(response);
}
