import type { Request, Response } from 'express';
import { GRADES } from '../../core/gap/gap.ts';
import { PHASES, type ObservationStatus } from '../../core/observation/observation.ts';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import { isDnsLabel } from '../../core/injection/names.ts';
import type { AgentKey, AgentRecord } from '../stores/store.ts';
import { findAgent, namespaceReader } from './find-agent.ts';
import { integerIn, oneOf, readQuery } from './query.ts';

/** Default number of agents per page. */
const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1000;

/** Fleet routes: `GET /agents`, `DELETE /agents/{name}`. */
export function agentRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const { store, clock, logger } = context;
  return [
    {
      method: 'GET',
      path: '/api/v1/agents',
      access: 'admin',
      summary: `\`[{agentId, agentName, namespace, runtime, phase, grade, score, tokens, evidence, proved, compliant, lastSeen}]\` ordered by namespace and name. Values that were never reported are null. \`evidence {percent, shown, declared}\` and the proved score \`proved\` come from the worst instance. \`compliant {status, reason, message}\` is the condition of the AgentObservation. Query: \`?limit=\` (1..${MAX_LIMIT}, default ${DEFAULT_LIMIT}), \`?continue=\`, \`?phase=\`, \`?grade=\`, \`?namespace=\`, \`?mirrored=false\` (without agents of other control planes). Response headers: \`X-Total-Count\`, and \`Link: <…>; rel="next"\` if there is a next page.`,
      handlers: [listAgents],
    },
    {
      method: 'DELETE',
      path: '/api/v1/agents/:name',
      access: 'admin',
      summary:
        '204. Revokes the keys of the agent and deletes its data. 409 for a workload of the cluster: its entry is deleted with the workload.',
      handlers: [removeAgent],
    },
  ];

  async function listAgents(request: Request, response: Response): Promise<void> {
    const query = readQuery(request, {
      limit: integerIn(1, MAX_LIMIT),
      continue: parseContinue,
      phase: oneOf(PHASES),
      grade: oneOf(GRADES),
      namespace: namespaceReader,
      mirrored: oneOf(['true', 'false']),
    });
    const { limit = DEFAULT_LIMIT, continue: after = null, ...filter } = query;
    const { mirrored, ...wanted } = filter;
    const onlyOwn = mirrored === 'false';
    const page = await store.list({ limit, after, onlyOwn, ...wanted }, clock.now());
    response.set('x-total-count', String(page.total));
    if (page.next !== null) {
      const parameters = new URLSearchParams({ limit: String(limit), ...filter });
      parameters.set('continue', continueOf(page.next));
      response.set('link', `</api/v1/agents?${parameters.toString()}>; rel="next"`);
    }
    response.json(page.agents.map(listItemOf));
  }

  async function removeAgent(request: Request, response: Response): Promise<void> {
    const { namespace, name } = await findAgent(request, context);
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

/** One row of the list. Values that were never reported are null. */
function listItemOf(agent: AgentRecord): Record<string, unknown> {
  const { status } = agent;
  const heartbeatTimes = [...(status.instances ?? []), ...(status.unlisted ?? [])]
    .map((each) => each.lastHeartbeat)
    .sort();
  return {
    agentId: agent.agentId,
    agentName: agent.name,
    namespace: agent.namespace,
    runtime: agent.runtime,
    phase: status.phase,
    grade: status.grade ?? null,
    score: status.score ?? null,
    tokens: status.tokens ?? null,
    evidence: evidenceOf(status),
    proved: status.audit?.proved ?? null,
    compliant: compliantOf(status),
    lastSeen: heartbeatTimes.at(-1) ?? status.lastChecked ?? null,
  };
}

function evidenceOf({ evidence }: ObservationStatus): object | null {
  if (evidence === undefined) return null;
  const { percent, shown, declared } = evidence;
  return { percent, shown, declared };
}

function compliantOf({ conditions = [] }: ObservationStatus): object | null {
  const found = conditions.find(({ type }) => type === 'Compliant');
  return found === undefined ? null : { status: found.status, reason: found.reason, message: found.message };
}

/** The position after which the next page starts, opaque to clients. */
function continueOf(key: AgentKey): string {
  return Buffer.from(`${key.namespace}/${key.name}`).toString('base64url');
}

function parseContinue(raw: string): AgentKey | { error: string } {
  const [namespace = '', name = '', ...rest] = Buffer.from(raw, 'base64url').toString('utf8').split('/');
  return rest.length === 0 && isDnsLabel(namespace) && isDnsLabel(name)
    ? { namespace, name }
    : { error: 'is not a valid continue token' };
}
