import { conditionOf } from './condition-of.ts';
import type { AgentStopStatus } from '../shapes/agent-stop.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { appliesTo, type AgentStop } from '../organisation/stops.ts';

/** An agent whose status says whether it is stopped. */
export interface StoppableAgent {
  namespace: string;
  name: string;
  status: Pick<ObservationStatus, 'conditions'> | undefined;
}

/**
 * The number of agents that a stop applies to, and of those that are stopped in every instance. An agent that no longer reports is
 * pending: whether it is stopped is not known. With several stops of one agent, it counts as stopped for each of them.
 */
export function stopCounts(
  stop: AgentStop,
  agents: readonly StoppableAgent[],
  rootNamespace: string,
): Pick<AgentStopStatus, 'agents' | 'stopped' | 'pending'> {
  const meant = agents.filter((agent) => appliesTo(stop, agent, rootNamespace));
  const stopped = meant.filter(({ status }) => conditionOf(status, 'Stopped')?.status === 'True').length;
  return { agents: meant.length, stopped, pending: meant.length - stopped };
}
