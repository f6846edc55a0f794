import type { AgentObservation } from '../../core/observation/observation.ts';
import { verdictOf } from '../../core/observation/verdict.ts';
import type { EventNote, EventRecorder } from '../../kube/events.ts';
import { injectionNote, ownerNotes, regarding } from './changes.ts';
import { INJECTED, type AgentState } from './conditions.ts';
import type { WorkloadRef } from './owner-chain.ts';

/** Emits Events for a new AgentObservation and for the injection state of its workload. */
export function announceNew(
  events: EventRecorder,
  observation: AgentObservation,
  agentState: AgentState,
): void {
  const { uid = '', name } = observation.metadata;
  const { kind, name: workload } = observation.spec.agentRef ?? {};
  const verdict = verdictOf(INJECTED, agentState);
  const runs = verdict.status === 'True' ? 'runs with the sidecar' : 'should run with the sidecar';
  const notes: EventNote[] = [
    {
      regarding: regarding(observation),
      type: 'Normal',
      action: 'Create',
      reason: 'Observed',
      note: `observing ${kind} ${workload}, which ${runs}`,
    },
    ...ownerNotes(observation, injectionNote(verdict, name)),
  ];
  for (const note of notes) events.record({ ...note, occurrence: `${uid}/made` });
}

/** Warns that the agent's name belongs to a remote agent in this namespace, so its workload cannot be observed. */
export function announceNameTaken(
  events: EventRecorder,
  observation: AgentObservation,
  { apiVersion, kind, name, uid }: WorkloadRef,
): void {
  const { namespace, name: agent, uid: occurrence = '' } = observation.metadata;
  events.record({
    regarding: { apiVersion, kind, name, uid, namespace },
    type: 'Warning',
    action: 'Observe',
    reason: 'NotObserved',
    note: `AgentObservation ${agent} in this namespace has source remote; delete it or set another agent name with the annotation platform.io/agent-name`,
    occurrence,
  });
}
