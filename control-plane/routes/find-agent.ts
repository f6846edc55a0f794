import type { Request } from 'express';
import { Problem } from '../../runtime/problem.ts';
import type { ControlPlaneContext } from '../context.ts';
import { isDnsLabel } from '../../core/injection/names.ts';
import type { AgentRecord } from '../stores/store.ts';
import { matching, readQuery } from './query.ts';

export const namespaceReader = matching(isDnsLabel, 'a namespace (a DNS label)');

/** The agent that `{name}` and `?namespace=` mean: 404 without one, 409 where the name alone is not enough. */
export async function findAgent(request: Request, context: ControlPlaneContext): Promise<AgentRecord> {
  const name = request.params['name'] as string;
  const { namespace } = readQuery<{ namespace: string }>(request, { namespace: namespaceReader });
  // No store holds such a name, and a path in the API server must not be made from it.
  const all = isDnsLabel(name) ? await context.store.findByName(name, context.clock.now()) : [];
  const found = all.filter((agent) => namespace === undefined || agent.namespace === namespace);
  const [agent, ...others] = found;
  if (agent === undefined) {
    const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
    throw new Problem(404, `no agent ${name}${where}`);
  }
  if (others.length > 0)
    throw new Problem(409, `${name} is in several namespaces: add ?namespace=`, {
      extra: { namespaces: found.map((each) => each.namespace) },
    });
  return agent;
}
