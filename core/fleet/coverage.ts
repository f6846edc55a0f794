import { COVERAGE_ROWS, type CoverageKind } from './kinds.ts';
import type { AgentExcerpt } from './excerpt.ts';

/** One part of one agent that is not seen. */
export interface CoverageGap {
  kind: CoverageKind;
  agentName: string;
  namespace: string;
  reason: string;
  remedy: string;
  /** ISO 8601; null: not known. */
  since: string | null;
}

export interface CoverageSummary {
  kind: CoverageKind;
  title: string;
  explanation: string;
  /** Number of agents, also of those that `gaps` does not list. */
  count: number;
}

/** `GET /api/v1/coverage`. */
export interface CoverageReport {
  /** ISO 8601 */
  generatedAt: string;
  /** Number of examined agents. */
  agents: number;
  /** By kind, then in the order of the agents. */
  gaps: CoverageGap[];
  kinds: CoverageSummary[];
}

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
        kind: row.kind,
        agentName: agent.agentName,
        namespace: agent.namespace,
        reason: row.reason(agent),
        remedy: row.remedy(agent),
        since: row.since(agent),
      })),
    ),
    kinds: found.map(({ row: { kind, title, explanation }, agents: concerned }) => ({
      ...{ kind, title, explanation },
      count: concerned.length,
    })),
  };
}
