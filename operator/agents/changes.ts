import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Condition } from '../../core/shapes/condition.ts';
import type { Phase } from '../../core/shapes/values.ts';
import { conditionOf } from '../../core/observation/condition-of.ts';
import { stateOf } from '../../core/observation/condition-table.ts';
import { present } from '../../core/untrusted/present.ts';
import type { EventNote, EventRecorder } from '../../kube/events.ts';
import type { Logger } from '../../runtime/logger.ts';
import { CA_UNKNOWN, INJECTED, type AgentState } from './conditions.ts';
import type { WorkloadRef } from './owner-chain.ts';
import { OUT_OF_MEMORY } from './fits-condition.ts';
import { PORT_TAKEN } from './routing.ts';

/** What happened, for the Events of an observation and of its workload. */
type Note = Omit<EventNote, 'regarding'>;

/** A phase and a grade can change with every heartbeat, so the Event of one transition counts them all, whatever the details. */
const withDetails = (transition: string, details: string): Pick<Note, 'note' | 'series'> => ({
  note: transition + details,
  series: transition,
});

/** The Events for a transition of an observation from `before` to `after`; the same in every replica. */
export function notesOf(before: AgentObservation, after: AgentObservation): EventNote[] {
  const ofBoth = [phaseNote(before, after), gradeNote(before, after)]
    .filter((note) => note !== null)
    .flatMap((note) => [
      { ...note, regarding: regarding(after) },
      ...ownerNotes(after, { ...note, reason: `Agent${note.reason}` }),
    ]);
  const stateNotes = [...manifestNotes(before, after), ...stopNotes(before, after)];
  const occurrence = `${after.metadata.uid}/${after.metadata.resourceVersion}`;
  return [...ofBoth, ...stateNotes, ...injectionNotes(before, after), ...warningNotes(before, after)].map(
    (note) => ({
      series: note.note,
      ...note,
      occurrence,
    }),
  );
}

/** The injection state, for the owner. The condition message contains what is missing and an example. */
function injectionNote(
  { status, reason, message }: Pick<Condition, 'status' | 'reason' | 'message'>,
  agent: string,
): Note {
  return status === 'True'
    ? {
        type: 'Normal',
        action: 'Inject',
        reason: 'Injected',
        note: `all pods run with the sidecar; see AgentObservation ${agent} for the results`,
      }
    : {
        type: 'Warning',
        action: 'Inject',
        reason: reason === CA_UNKNOWN ? CA_UNKNOWN : 'SidecarMissing',
        note: message,
      };
}

/** The first state is not a transition; `announceNew` emits it. */
function injectionNotes(before: AgentObservation, after: AgentObservation): EventNote[] {
  const [from, to] = [conditionOf(before.status, 'Injected'), conditionOf(after.status, 'Injected')];
  if (from === undefined || to === undefined || from.status === to.status) return [];
  return ownerNotes(after, injectionNote(to, after.metadata.name));
}

/**
 * The conditions with an Event on both objects, because users do not look for the AgentObservation of an agent that is down. One
 * Event for each key; null: no Event.
 */
const WARNINGS = [
  {
    condition: 'Routed',
    keyOf: ({ reason }: Condition) => (reason === PORT_TAKEN ? reason : null),
    note: { type: 'Warning', action: 'Route', reason: PORT_TAKEN },
  },
  {
    condition: 'ManifestValid',
    keyOf: ({ status, message }: Condition) => (status === 'False' ? message : null),
    note: {
      type: 'Warning',
      action: 'ReadManifest',
      reason: 'ManifestInvalid',
    },
  },
  {
    condition: 'Allowed',
    keyOf: ({ status, message }: Condition) => (status === 'False' ? message : null),
    note: { type: 'Warning', action: 'Judge', reason: 'NotAllowed' },
  },
  {
    condition: 'SidecarFits',
    keyOf: ({ reason }: Condition) => (reason === OUT_OF_MEMORY ? reason : null),
    note: { type: 'Warning', action: 'Run', reason: 'SidecarOutOfMemory' },
  },
] as const;

/** Emitted for the first state too. */
function warningNotes(before: AgentObservation, after: AgentObservation): EventNote[] {
  return WARNINGS.flatMap(({ condition, keyOf, note }) => {
    const [from, to] = [conditionOf(before.status, condition), conditionOf(after.status, condition)];
    const key = to === undefined ? null : keyOf(to);
    if (to === undefined || key === null || key === (from && keyOf(from))) return [];
    const full = { ...note, note: to.message };
    return [{ ...full, regarding: regarding(after) }, ...ownerNotes(after, full)];
  });
}

/** The same note on the workload that owns the observation, which users check first; none for a remote agent. */
function ownerNotes(observation: AgentObservation, note: Note): EventNote[] {
  const { namespace, ownerReferences = [] } = observation.metadata;
  return ownerReferences.slice(0, 1).map(({ apiVersion, kind, name, uid }) => ({
    ...note,
    regarding: { apiVersion, kind, name, uid, namespace },
  }));
}

/** The target of every Event about an observation. */
function regarding({ metadata }: AgentObservation): EventNote['regarding'] {
  const { name, namespace, uid } = metadata;
  return { apiVersion: 'platform.io/v1', kind: 'AgentObservation', name, namespace, ...present({ uid }) };
}

const ALARMING: readonly Phase[] = ['Degraded', 'Unhealthy', 'Unknown'];

function phaseNote(before: AgentObservation, after: AgentObservation): Note | null {
  const from = before.status?.phase ?? 'Pending';
  const to = after.status?.phase ?? 'Pending';
  if (from === to) return null;
  const ready = conditionOf(after.status, 'Ready');
  return {
    type: ALARMING.includes(to) ? 'Warning' : 'Normal',
    reason: to,
    action: 'Observe',
    ...withDetails(
      `phase ${from} became ${to}`,
      ready && ready.status !== 'True' ? `: ${ready.message}` : '',
    ),
  };
}

function gradeNote(before: AgentObservation, after: AgentObservation): Note | null {
  const from = before.status?.grade;
  const to = after.status?.grade;
  if (to === undefined || from === to) return null;
  const properties = after.status?.issues?.map((issue) => issue.property) ?? [];
  const issues = properties.length > 0 ? `: ${properties.slice(0, 10).join(', ')}` : '';
  // Grades are letters from A to F; a later letter is worse.
  const worse = to > (from ?? 'B');
  return {
    type: worse ? 'Warning' : 'Normal',
    reason: 'GradeChanged',
    action: 'Observe',
    ...withDetails(
      `grade ${from ?? '(none)'} became ${to}`,
      `, score ${after.status?.score ?? '(none)'}${issues}`,
    ),
  };
}

/** Normal only if it is known that nothing important changed. */
function manifestNotes(before: AgentObservation, after: AgentObservation): EventNote[] {
  const change = after.status?.manifestChange;
  if (change === undefined || change.at === before.status?.manifestChange?.at) return [];
  const [from, to] = [change.from, change.to].map((hash) => `${hash.slice(0, 12)}…`);
  const note: Note = {
    type: change.severity === 'LOW' ? 'Normal' : 'Warning',
    action: 'ReadManifest',
    reason: 'ManifestChanged',
    note: `manifest ${from} became ${to}: ${change.summary}`,
  };
  return [{ ...note, regarding: regarding(after) }, ...ownerNotes(after, note)];
}

/** Emitted when every instance confirmed the stop, not when it was requested. */
function stopNotes(before: AgentObservation, after: AgentObservation): EventNote[] {
  const confirmedIn = ({ status }: AgentObservation) =>
    conditionOf(status, 'Stopped')?.status === 'True' ? status?.stop : undefined;
  const [was, stop] = [confirmedIn(before), confirmedIn(after)];
  let note: Note;
  if (stop !== undefined && stop.id !== was?.id)
    note = {
      type: 'Warning',
      action: 'Stop',
      reason: 'AgentStopped',
      note: `${conditionOf(after.status, 'Stopped')?.message}${stop.by === undefined ? '' : `, by ${stop.by}`}${stop.until === undefined ? '' : `, until ${stop.until}`}: ${stop.reason}`,
    };
  else if (before.status?.stop !== undefined && after.status?.stop === undefined)
    note = {
      type: 'Normal',
      action: 'Resume',
      reason: 'AgentResumed',
      note: `the stop ${before.status.stop.id} ended`,
    };
  else return [];
  return [{ ...note, regarding: regarding(after) }, ...ownerNotes(after, note)];
}

/** Emits Events for a new AgentObservation and for the injection state of its workload. */
export function announceNew(
  events: EventRecorder,
  observation: AgentObservation,
  agentState: AgentState,
): void {
  const { uid = '', name } = observation.metadata;
  const { kind, name: workload } = observation.spec.agentRef ?? {};
  const state = stateOf(INJECTED, agentState);
  const runs = state.status === 'True' ? 'runs with the sidecar' : 'should run with the sidecar';
  const note = `observing ${kind} ${workload}, which ${runs}`;
  const notes: EventNote[] = [
    { regarding: regarding(observation), type: 'Normal', action: 'Create', reason: 'Observed', note },
    ...ownerNotes(observation, injectionNote(state, name)),
  ];
  for (const each of notes) events.record({ ...each, occurrence: `${uid}/made` });
}

/** Warns that the agent's name belongs to a remote agent in this namespace, so its workload cannot be observed. */
export function announceNameTaken(
  { events, logger }: { events: EventRecorder; logger: Logger },
  observation: AgentObservation,
  { apiVersion, kind, name, uid }: WorkloadRef,
): void {
  const { namespace, name: agent, uid: occurrence = '' } = observation.metadata;
  logger.warn('workload not observed, its agent name belongs to a remote agent', {
    ...{ namespace, agent, kind, workload: name },
  });
  events.record({
    regarding: { apiVersion, kind, name, uid, namespace },
    type: 'Warning',
    action: 'Observe',
    reason: 'NotObserved',
    note: `AgentObservation ${agent} in this namespace has source remote; delete it or set another agent name with the annotation platform.io/agent-name`,
    occurrence,
  });
}
