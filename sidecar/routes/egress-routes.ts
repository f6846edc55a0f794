import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import type { SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';
import { limitOf } from './audit-query.ts';

/** The calls of the agent through the egress lanes. */
export function egressRoutes({ lanes }: SidecarContext): SidecarRoute[] {
  return [
    {
      method: 'GET',
      path: '/egress',
      access: 'local',
      summary:
        "Returns the agent's calls through the egress lanes, oldest first, without bodies and keys. `?limit=N`: the newest N. Empty without lanes.",
      operation: {
        id: 'listEgressCalls',
        query: {
          limit: { schema: { type: 'integer', minimum: 1 }, description: 'Number of calls; default: all.' },
        },
        responses: {
          200: { description: 'The calls, oldest first.', schema: listOf(ref('EgressCall')) },
        },
      },
      handlers: [
        (request, response) => {
          const limit = limitOf(request);
          response.json(lanes?.egress.log.newest(limit) ?? []);
        },
      ],
    },
  ];
}
