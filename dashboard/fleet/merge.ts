import { keyOf } from '../api/agent-item.ts';
import type { FleetEvent, AgentRow } from '../../core/shapes/agent-row.ts';

/** Agents by key. */
export type AgentMap = Map<string, AgentRow>;

/** Applies an event of the stream. Its rows have no trend, so the earlier one stays. */
export function applyChanges(agents: AgentMap, { changed, removed }: FleetEvent): void {
  for (const each of removed) agents.delete(keyOf(each));
  for (const agent of changed) {
    const trend = agent.trend ?? agents.get(keyOf(agent))?.trend;
    agents.set(keyOf(agent), trend === undefined ? agent : { ...agent, trend });
  }
}
