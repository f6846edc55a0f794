import type { Request, Response } from 'express';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext } from '../context.ts';
import { isDnsLabel } from '../../core/injection/names.ts';
import { DNS_LABEL } from '../../core/shapes/common.ts';
import { principalOf, type Principal } from '../auth/principal.ts';
import { noteAgent } from '../auth/record-actions.ts';
import type { AgentRecord } from '../stores/store.ts';
import { matching, readQuery } from './query.ts';

export const namespaceReader = matching(isDnsLabel, {
  what: 'a namespace (a DNS label)',
  schema: { pattern: DNS_LABEL.source },
  description: 'Namespace of the agent.',
});

/** Query of the routes of one agent. */
export const AGENT_QUERY = { namespace: namespaceReader };

/** Responses of the routes of one agent. */
export const AGENT_RESPONSES = {
  404: 'There is no such agent, or it has no such data yet.',
  409: 'The name exists in several namespaces; `namespaces` lists them. Add `?namespace=`.',
} as const;

/**
 * The agent of `{name}` and `?namespace=`, if the caller may read it. 404 if not found, 409 if the name exists in several
 * namespaces.
 */
export async function findAgent(
  request: Request,
  response: Response,
  context: ControlPlaneContext,
): Promise<AgentRecord> {
  const name = request.params['name'] as string;
  const { namespace } = readQuery(request, AGENT_QUERY);
  // No store contains an invalid name, and it must not become part of an API server path.
  const all = isDnsLabel(name) ? await context.store.findByName(name, context.clock.now()) : [];
  const wanted = all.filter((agent) => namespace === undefined || agent.namespace === namespace);
  const found = await readable(wanted, principalOf(response), context);
  const [agent, ...others] = found;
  if (agent === undefined) {
    const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
    throw new Problem(404, `agent ${name} not found${where}`);
  }
  if (others.length > 0)
    throw new Problem(409, `${name} exists in several namespaces; add ?namespace=`, {
      extra: { namespaces: found.map((each) => each.namespace) },
    });
  noteAgent(request, agent);
  return agent;
}

/** An agent that the caller may not read is like one that does not exist. */
async function readable(
  agents: readonly AgentRecord[],
  principal: Principal,
  { access }: ControlPlaneContext,
): Promise<AgentRecord[]> {
  const allowed = await Promise.all(agents.map(({ namespace }) => access.can(principal, 'read', namespace)));
  return agents.filter((_agent, index) => allowed[index]);
}
