import type { Request, Response } from 'express';
import { GRADES, PHASES } from '../../core/shapes/values.ts';
import { isDnsLabel } from '../../core/injection/names.ts';
import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import { Problem } from '../../runtime/problem.ts';
import { requireRight, wantedNamespaces } from '../auth/authorize.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import type { AgentKey, AgentRecord } from '../stores/store.ts';
import { listItemOf } from './agent-row.ts';
import { type AgentRow, AGENT_FIELDS } from '../../core/shapes/agent-row.ts';
import { AGENT_QUERY, findAgent, namespaceReader } from './find-agent.ts';
import { integerIn, nextPage, oneOf, readQuery, someOf } from './query.ts';
import { readRoute } from './read-route.ts';

/** Default number of agents per page. */
const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1000;

const SELECTABLE = [...AGENT_FIELDS, 'trend'];

const LIST_QUERY = {
  limit: integerIn(1, MAX_LIMIT, `Agents per page; default ${DEFAULT_LIMIT}.`),
  continue: {
    read: parseContinue,
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
    description: 'Where the page starts: from the `Link` header of the previous page.',
  },
  phase: oneOf(PHASES, 'Only agents in this phase.'),
  grade: oneOf(GRADES, 'Only agents with this grade.'),
  namespace: { ...namespaceReader, description: 'Only agents in this namespace.' },
  mirrored: oneOf(['true', 'false'], '`false`: without agents of other control planes.'),
  fields: someOf(SELECTABLE, 'Only these members of each agent.'),
  trend: oneOf(['true', 'false'], '`true`: with `trend`, the scores of the last 24 hours.'),
};

type Described = Pick<ControlPlaneRoute, 'summary' | 'operation'>;

const LIST: Described = {
  summary: `\`[{${AGENT_FIELDS.join(', ')}}]\` that the caller may read, ordered by namespace and name. Values that were never reported are null. \`evidence {percent, shown, declared}\` and the proved score \`proved\` come from the worst instance. \`compliant {status, reason, message}\` is the condition of the AgentObservation. \`failOpen\` is the share of requests that passed because the policy engine was unreachable. \`stale\` is true if no instance reports, so that grade, score and evidence are those of \`lastSeen\`. Query: \`?limit=\` (1..${MAX_LIMIT}, default ${DEFAULT_LIMIT}), \`?continue=\`, \`?phase=\`, \`?grade=\`, \`?namespace=\`, \`?mirrored=false\` (without agents of other control planes), \`?fields=\` (only these members, separated by commas), \`?trend=true\` or \`trend\` in \`?fields=\` (adds \`trend\`, the last score of each of the last 24 hours; empty if the store keeps no history). Response headers: \`X-Total-Count\`, and \`Link: <…>; rel="next"\` if there is a next page. An agent that exists during the requests for all pages is in exactly one of them.`,
  operation: {
    id: 'listAgents',
    query: LIST_QUERY,
    responses: {
      200: {
        description: 'A page of agents.',
        schema: listOf({ anyOf: [ref('AgentListItem'), ref('AgentSelection')] }),
        headers: {
          'X-Total-Count': 'Number of matching agents on all pages that the caller may read.',
          Link: 'The next page, with `rel="next"`; absent on the last page.',
        },
      },
    },
  },
};

const DELETE: Described = {
  summary:
    '204. Revokes the keys of the agent and deletes its data. 409 for a workload of the cluster: its entry is deleted with the workload.',
  operation: {
    id: 'deleteAgent',
    query: AGENT_QUERY,
    responses: {
      204: 'The agent, its keys and its data are deleted.',
      404: 'There is no such agent.',
      409: 'The agent is a workload of the cluster or mirrored, or the name exists in several namespaces (`namespaces`).',
    },
  },
};

/** Fleet routes: `GET /agents`, `DELETE /agents/{name}`. */
export function agentRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const { store, clock, logger } = context;
  return [
    readRoute('/api/v1/agents', { ...LIST, read: listAgents }),
    { method: 'DELETE', path: '/api/v1/agents/:name', access: 'remove', ...DELETE, handlers: [removeAgent] },
  ];

  async function listAgents(request: Request, response: Response): Promise<Partial<AgentRow>[]> {
    const query = readQuery(request, LIST_QUERY);
    const { limit = DEFAULT_LIMIT, continue: after = null, mirrored, fields, trend, ...others } = query;
    const { namespace, ...wanted } = others;
    const onlyOwn = mirrored === 'false';
    const namespaces = await wantedNamespaces(response, context, namespace);
    const page = await store.list({ limit, after, onlyOwn, ...wanted, namespaces }, clock.now());
    response.set('x-total-count', String(page.total));
    if (page.next !== null) {
      const next = { limit: String(limit), continue: continueOf(page.next) };
      response.set('link', `<${nextPage(request, LIST_QUERY, next)}>; rel="next"`);
    }
    const isTrendWanted = trend === 'true' || fields?.includes('trend') === true;
    const trends = isTrendWanted ? await trendsOf(page.agents) : null;
    return page.agents.map((agent) => {
      const row = selected(listItemOf(agent), fields);
      return trends === null ? row : { ...row, trend: trends.get(`${agent.namespace}/${agent.name}`) ?? [] };
    });
  }

  async function trendsOf(agents: readonly AgentRecord[]): Promise<ReadonlyMap<string, number[]>> {
    const keys = agents.map(({ namespace, name }) => ({ namespace, name }));
    return (await store.history?.trends(keys, clock.now())) ?? new Map<string, number[]>();
  }

  async function removeAgent(request: Request, response: Response): Promise<void> {
    const { namespace, name } = await findAgent(request, response, context);
    await requireRight(response, context, { right: 'remove', namespace });
    const outcome = await store.remove({ namespace, name });
    if (outcome === 'workload')
      throw new Problem(
        409,
        `${name} is a workload of this cluster: delete the workload or remove its annotation`,
      );
    if (outcome === 'unknown-agent') throw new Problem(404, `agent ${name} not found`);
    logger.info('remote agent removed', { agent: name, namespace });
    response.status(204).end();
  }
}

function selected(row: AgentRow, fields: readonly string[] | undefined): Partial<AgentRow> {
  if (fields === undefined) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => fields.includes(name)));
}

/** The position after which the next page starts, opaque to clients. */
function continueOf(key: AgentKey): string {
  return Buffer.from(`${key.namespace}/${key.name}`).toString('base64url');
}

function parseContinue(raw: string): AgentKey | { error: string } {
  const [namespace = '', name = '', ...rest] = Buffer.from(raw, 'base64url').toString('utf8').split('/');
  const isKey = rest.length === 0 && isDnsLabel(namespace) && isDnsLabel(name);
  // The decoder ignores characters of other alphabets.
  return isKey && continueOf({ namespace, name }) === raw
    ? { namespace, name }
    : { error: 'is not a valid continue token' };
}
