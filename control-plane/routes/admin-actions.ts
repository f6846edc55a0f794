import type { Request, Response } from 'express';
import type { AdminAction } from '../../core/shapes/admin-action.ts';
import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import { requireHistory, NO_HISTORY } from './history.ts';
import { integerIn, readQuery } from './query.ts';
import { readRoute } from './read-route.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

const PATH = '/api/v1/admin-actions';

const QUERY = {
  limit: integerIn(1, MAX_LIMIT, `Maximum number of actions. Default: ${DEFAULT_LIMIT}.`),
  before: integerIn(1, 999_999_999, 'Only actions with a smaller id.'),
};

/** The log of requests of persons that change something. */
export function adminActionRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  return [
    readRoute(PATH, {
      access: 'actions',
      summary: `\`[{id, at, action, address, actor, agentName, namespace, ruleId, status}]\`, newest first: the last 10,000 requests of persons and programs that change something, and refused ones (403, at most one per minute and address). \`actor {method, iss, sub, name}\` made the request; null: a wrong key, or recorded by an earlier version. \`action\` is the operation id. Query: \`?limit=\` (1..${MAX_LIMIT}, default ${DEFAULT_LIMIT}), \`?before=\` (an id). \`Link: <…>; rel="next"\` if there is a next page. 501 with the Kubernetes store, which only logs the actions.`,
      operation: {
        id: 'listAdminActions',
        query: QUERY,
        responses: {
          200: {
            description: 'The actions, newest first.',
            schema: listOf(ref('AdminAction')),
            headers: { Link: 'The next page (`rel="next"`); absent on the last page.' },
          },
          ...NO_HISTORY,
        },
      },
      read: listActions,
    }),
  ];

  async function listActions(request: Request, response: Response): Promise<AdminAction[]> {
    const history = requireHistory(context, 'log of admin actions');
    const { limit = DEFAULT_LIMIT, before = null } = readQuery(request, QUERY);
    // One more action than the limit shows whether there is a next page.
    const actions = await history.actions({ limit: limit + 1, before });
    const page = actions.slice(0, limit);
    const last = page.at(-1);
    if (actions.length > page.length && last !== undefined)
      response.set('link', `<${PATH}?limit=${limit}&before=${last.id}>; rel="next"`);
    return page;
  }
}
