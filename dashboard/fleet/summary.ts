import type { AgentRow } from '../../core/shapes/agent-row.ts';
import { isFailing } from './failing.ts';

/** Totals of some agents. */
export interface Summary {
  agents: number;
  compliant: number;
  failing: number;
  tokens: number;
  /** null: no agent has prices in its manifest. */
  costUsd: number | null;
}

export function summaryOf(agents: readonly AgentRow[]): Summary {
  const summary: Summary = { agents: agents.length, compliant: 0, failing: 0, tokens: 0, costUsd: null };
  for (const agent of agents) {
    if (agent.compliant.status === 'True') summary.compliant += 1;
    if (isFailing(agent)) summary.failing += 1;
    summary.tokens += agent.tokens ?? 0;
    if (agent.costUsd !== null) summary.costUsd = (summary.costUsd ?? 0) + agent.costUsd;
  }
  return summary;
}
