import { compareKeys } from '../compare-keys.ts';
import type { AgentPage, AgentRecord, ListQuery } from '../store.ts';

/** The page of `agents`, which are ordered by key. */
export function pageOf(
  agents: readonly AgentRecord[],
  { phase, grade, namespace, after, limit }: ListQuery,
): AgentPage {
  const matching = agents.filter(
    (agent) =>
      (namespace === undefined || agent.namespace === namespace) &&
      (phase === undefined || agent.status.phase === phase) &&
      (grade === undefined || agent.status.grade === grade),
  );
  const rest = after === null ? matching : matching.filter((agent) => compareKeys(agent, after) > 0);
  const page = rest.slice(0, limit);
  const last = rest.length > page.length ? page.at(-1) : undefined;
  const next = last === undefined ? null : { namespace: last.namespace, name: last.name };
  return { agents: page, total: matching.length, next };
}
