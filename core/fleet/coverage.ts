import type { CoverageReport } from '../shapes/coverage.ts';
import { COVERAGE_ROWS } from './kinds.ts';
import type { AgentExcerpt } from './excerpt.ts';

/**
 * What is not seen of the agents at `at`.
 * @param options.limit maximum number of listed gaps of each kind
 */
export function coverageOf(
  agents: readonly AgentExcerpt[],
  { at, limit }: { at: Date; limit: number },
): CoverageReport {
  const found = COVERAGE_ROWS.map((row) => ({ row, agents: agents.filter((agent) => row.holds(agent, at)) }));
  return {
    generatedAt: at.toISOString(),
    agents: agents.length,
    gaps: found.flatMap(({ row, agents: concerned }) =>
      concerned.slice(0, limit).map((agent) => ({
        ...{ kind: row.kind, agentName: agent.agentName, namespace: agent.namespace },
        reason: row.reason(agent),
        remedy: row.remedy(agent),
        since: row.since?.(agent) ?? null,
      })),
    ),
    kinds: found.map(({ row: { kind, title, explanation }, agents: concerned }) => ({
      ...{ kind, title, explanation },
      count: concerned.length,
    })),
  };
}
