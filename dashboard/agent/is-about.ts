import { keyOf } from '../api/agent-item.ts';
import type { FleetEvent } from '../../core/shapes/agent-row.ts';
import type { AgentName } from '../../core/shapes/rule-state.ts';

/** Whether the data of an event `agents` of the stream contain a change or the removal of this agent. */
export function isAbout(data: string, agent: AgentName): boolean {
  // An event of a large fleet has hundreds of rows and is parsed only if it has the name.
  if (!data.includes(JSON.stringify(agent.agentName))) return false;
  const { changed, removed } = JSON.parse(data) as FleetEvent;
  return [...changed, ...removed].some((each) => keyOf(each) === keyOf(agent));
}
