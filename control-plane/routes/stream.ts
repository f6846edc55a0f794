import type { Request, Response } from 'express';
import { EVENT_STREAM_HEADERS } from '../../runtime/event-stream.ts';
import { readableBy, readableStill } from '../auth/authorize.ts';
import { actorOf, actorText } from '../auth/principal.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { LiveFleet } from '../live/fleet.ts';
import { MAX_OF_CALLER, MAX_STREAMS } from '../live/fleet-streams.ts';

/** The changes of the fleet as server-sent events. */
export function streamRoutes(context: ControlPlaneContext, live: () => LiveFleet): ControlPlaneRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/stream',
      access: 'read',
      summary: `Server-sent events. \`ready\` is the first event: read \`GET /agents\` after it. \`agents\` \`{changed, removed: [{namespace, agentName}]}\` follows at most every two seconds; \`changed\` has the rows of \`GET /agents\` that differ from the last sent ones. A comment line every 15 seconds keeps the connection open. The stream ends when the namespaces that the caller may read change, or its credential ends: read the list again. A client with more than 1 MiB of unsent events is disconnected. 503 for more than ${MAX_STREAMS} streams, 429 for more than ${MAX_OF_CALLER} of one person or program.`,
      operation: {
        id: 'streamAgents',
        responses: {
          200: {
            description: 'The events, until either side closes the connection.',
            contentType: 'text/event-stream',
            schema: 'FleetStream',
          },
          429: `The caller has ${MAX_OF_CALLER} streams, or this address sent too many invalid tokens.`,
          503: `There are ${MAX_STREAMS} streams, the store is unavailable, or no admin key is configured.`,
        },
      },
      handlers: [connect],
    },
  ];

  async function connect(request: Request, response: Response): Promise<void> {
    const { streams } = live();
    const actor = actorOf(response);
    const caller = actor.sub === undefined ? null : actorText(actor);
    streams.check(caller);
    if (request.method === 'HEAD') response.writeHead(200, EVENT_STREAM_HEADERS).end();
    else
      await streams.connect(response, {
        caller,
        namespaces: await readableBy(response, context),
        check: () => readableStill(request, context),
      });
  }
}
