import { compareKeys } from '../compare-keys.ts';
import type { AgentPage, AgentRecord, ListQuery } from '../store.ts';

/** The page of `agents`, which are ordered by key. */
export function pageOf(
  agents: readonly AgentRecord[],
  { phase, grade, namespaces, after, limit }: ListQuery,
): AgentPage {
  const wanted = namespaces && new Set(namespaces);
  const matching = agents.filter(
    (agent) =>
      (wanted === null || wanted.has(agent.namespace)) &&
      (phase === undefined || agent.status.phase === phase) &&
      (grade === undefined || agent.status.grade === grade),
  );
  const rest = after === null ? matching : matching.filter((agent) => compareKeys(agent, after) > 0);
  const page = rest.slice(0, limit);
  const last = rest.length > page.length ? page.at(-1) : undefined;
  const next = last === undefined ? null : { namespace: last.namespace, name: last.name };
  return { agents: page, total: matching.length, next };
}
