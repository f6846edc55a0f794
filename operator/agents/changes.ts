import type { AgentObservation, Condition, Phase } from '../../core/observation/observation.ts';
import type { EventNote } from '../../kube/events.ts';
import { PORT_TAKEN } from './routing.ts';

/** The Events for a transition of an observation from `before` to `after`; the same in every replica. */
export function notesOf(before: AgentObservation, after: AgentObservation): EventNote[] {
  const ofBoth = [phaseNote(before, after), gradeNote(before, after)]
    .filter((note) => note !== null)
    .flatMap((note) => [note, ...ownerNotes(after, { ...note, reason: `Agent${note.reason}` })]);
  const occurrence = `${after.metadata.uid}/${after.metadata.resourceVersion}`;
  return [...ofBoth, ...injectionNotes(before, after), ...portNotes(before, after)].map((note) => ({
    ...note,
    occurrence,
    series: note.note,
  }));
}

const conditionIn = ({ status }: AgentObservation, type: Condition['type']): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

type InjectionState = Pick<Condition, 'status' | 'message'>;

/** The injection state, for the owner. The condition message contains what is missing and an example. */
export function injectionNote(
  { status, message }: InjectionState,
  agent: string,
): Omit<EventNote, 'regarding'> {
  return status === 'True'
    ? {
        type: 'Normal',
        action: 'Inject',
        reason: 'Injected',
        note: `all pods run with the sidecar; see AgentObservation ${agent} for the results`,
      }
    : { type: 'Warning', action: 'Inject', reason: 'SidecarMissing', note: message };
}

/** The first verdict is not a transition; `announceNew` emits it. */
function injectionNotes(before: AgentObservation, after: AgentObservation): EventNote[] {
  const [from, to] = [conditionIn(before, 'Injected'), conditionIn(after, 'Injected')];
  if (from === undefined || to === undefined || from.status === to.status) return [];
  return ownerNotes(after, injectionNote(to, after.metadata.name));
}

/** Another process in the pod uses a port of the sidecar. Emitted for the first verdict too. */
function portNotes(before: AgentObservation, after: AgentObservation): EventNote[] {
  const [from, to] = [conditionIn(before, 'Routed'), conditionIn(after, 'Routed')];
  if (to?.reason !== PORT_TAKEN || from?.reason === PORT_TAKEN) return [];
  const note = { type: 'Warning', action: 'Route', reason: PORT_TAKEN, note: to.message } as const;
  return [{ ...note, regarding: regarding(after) }, ...ownerNotes(after, note)];
}

/** The same note on the workload that owns the observation, which users check first; none for a remote agent. */
export function ownerNotes(observation: AgentObservation, note: Omit<EventNote, 'regarding'>): EventNote[] {
  const { namespace, ownerReferences = [] } = observation.metadata;
  return ownerReferences.slice(0, 1).map(({ apiVersion, kind, name, uid }) => ({
    ...note,
    regarding: { apiVersion, kind, name, uid, namespace },
  }));
}

/** The target of every Event about an observation. */
export function regarding(observation: AgentObservation): EventNote['regarding'] {
  const { name, namespace, uid } = observation.metadata;
  return {
    apiVersion: 'platform.io/v1',
    kind: 'AgentObservation',
    name,
    namespace,
    ...(uid === undefined ? {} : { uid }),
  };
}

const ALARMING: readonly Phase[] = ['Degraded', 'Unhealthy', 'Unknown'];

function phaseNote(before: AgentObservation, after: AgentObservation): EventNote | null {
  const from = before.status?.phase ?? 'Pending';
  const to = after.status?.phase ?? 'Pending';
  if (from === to) return null;
  const notReady = after.status?.conditions?.find((each) => each.type === 'Ready' && each.status !== 'True');
  return {
    regarding: regarding(after),
    type: ALARMING.includes(to) ? 'Warning' : 'Normal',
    reason: to,
    action: 'Observe',
    note: `phase ${from} became ${to}${notReady ? `: ${notReady.message}` : ''}`,
  };
}

function gradeNote(before: AgentObservation, after: AgentObservation): EventNote | null {
  const from = before.status?.grade;
  const to = after.status?.grade;
  if (to === undefined || from === to) return null;
  const properties = after.status?.issues?.map((issue) => issue.property) ?? [];
  const issues = properties.length > 0 ? `: ${properties.slice(0, 10).join(', ')}` : '';
  // Grades are letters from A to F; a later letter is worse.
  const worse = to > (from ?? 'B');
  return {
    regarding: regarding(after),
    type: worse ? 'Warning' : 'Normal',
    reason: 'GradeChanged',
    action: 'Observe',
    note: `grade ${from ?? '(none)'} became ${to}, score ${after.status?.score ?? '(none)'}${issues}`,
  };
}
