import type { ObservedStop, StopEntry } from '../../core/shapes/agent-stop.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';

/** Id of the stop that an annotation of a pod causes (core/shapes/agent-stop.ts). It has no AgentStop to delete. */
export const ANNOTATION_STOP = 'pod-annotation';

/** How far the stop of an agent got; null: the agent is not stopped. */
export function stateOf({ stop, conditions }: Pick<ObservationStatus, 'stop' | 'conditions'>): string | null {
  if (stop === undefined) return null;
  const condition = conditions?.find(({ type }) => type === 'Stopped');
  return condition === undefined ? progressOf(stop) : textOf(stop, condition);
}

function textOf(stop: ObservedStop, { status, reason }: Condition): string {
  if (status === 'True') return reason === 'IngressOnly' ? 'Only requests are rejected' : 'Stopped';
  return progressOf(stop);
}

const progressOf = ({ confirmed, instances }: ObservedStop): string =>
  instances === 0 ? 'Stopping (no instance reports)' : `Stopping (${confirmed} of ${instances} instances)`;

/** Namespace and name of the AgentStop of a stop; null: an annotation of a pod causes it. */
export function agentStopOf(id: string): { namespace: string; name: string } | null {
  const [namespace, name] = id.split('/');
  return namespace === undefined || name === undefined ? null : { namespace, name };
}

/** The agents of a stop in words. Without `namespaces` a stop is about its own namespace. */
export function scopeOf({ agents, namespaces, namespace }: Partial<StopEntry>): string {
  const who = agents === undefined || agents.includes('*') ? 'all agents' : agents.join(', ');
  if (namespaces === undefined) return `${who} of namespace ${namespace}`;
  return namespaces.includes('*') ? `${who} of every namespace` : `${who} of ${namespaces.join(', ')}`;
}
