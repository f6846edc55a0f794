import type { Activity } from '../../core/observation/activity.ts';
import { contextOf } from '../../core/observation/context-of.ts';
import type { AgentObservation } from '../../core/observation/observation.ts';
import type { Drift } from '../../core/shapes/drift.ts';
import type { AgentStop } from '../../core/organisation/stops.ts';
import type { BriefInstance } from '../../core/shapes/instance.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import { statusOf, withoutGone } from '../../core/observation/status-of.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import type { StatusWriter } from '../../kube/status-writer.ts';
import type { Pod } from '../../kube/types.ts';
import type { Clock } from '../../runtime/clock.ts';
import { hasEnded, isLive } from '../../kube/pods.ts';
import { mayReport } from './sidecar-state.ts';

export interface AgeContext {
  clock: Clock;
  statusWriter: Pick<StatusWriter<AgentObservation, ObservationStatus>, 'write'>;
  /** Pods of the agent, by label or by the name that injection would give them; includes ended and terminating pods. */
  podsOf(key: string): Pod[];
  /** The stop of the agent; null: it has none; undefined: the stops are not known yet. */
  stopAt(key: string): AgentStop | null | undefined;
}

/**
 * Updates a status for elapsed time, deleted pods and, if given, drift. Sends nothing if the status does not change.
 * Without pods the last known drift stays, like the conditions that this process writes.
 */
export async function age(
  context: AgeContext,
  key: string,
  observation: AgentObservation,
  { activity, drift }: { activity: Activity; drift?: Drift[] },
): Promise<void> {
  const { namespace, name } = observation.metadata;
  // Reads time and pods on every call: after a write conflict the update runs again, and pods may have been created meanwhile.
  const update = (current: AgentObservation): ObservationStatus => {
    const at = context.clock.now();
    const pods = context.podsOf(key);
    const exists = (instance: BriefInstance): boolean =>
      pods.some(
        (pod) =>
          pod.metadata.name === instance.name &&
          !hasEnded(pod) &&
          (instance.uid === undefined || pod.metadata.uid === instance.uid),
      );
    const known = withoutGone(current.status ?? { phase: 'Pending' }, exists, at);
    const stop = context.stopAt(key);
    return statusOf(drift ? withDrift(known, drift) : known, at, {
      ...contextOf(current, activity),
      ...(stop !== undefined && { stop }),
      hasStarted: pods.some((pod) => isLive(pod) && mayReport(pod)),
    });
  };
  // If this copy is stale, the next watch event leads to another call.
  if (sameJson(update(observation), observation.status)) return;
  await context.statusWriter.write({ namespace, name }, update);
}

function withDrift({ drift: _, ...status }: ObservationStatus, drift: Drift[]): ObservationStatus {
  return drift.length > 0 ? { ...status, drift } : status;
}
