import type { Activity } from '../../core/observation/activity.ts';
import { contextOf } from '../../core/observation/context-of.ts';
import type {
  AgentObservation,
  Drift,
  BriefInstance,
  ObservationStatus,
} from '../../core/observation/observation.ts';
import { statusOf, withoutGone } from '../../core/observation/status-of.ts';
import { sameJson } from '../../kube/merge-patch.ts';
import { hasEnded } from './agent-pods.ts';
import type { ReconcileContext } from './reconcile-agent.ts';

type AgeContext = Pick<ReconcileContext, 'clock' | 'podsOf' | 'statusWriter'>;

/**
 * What time, pods that are gone and, where it is told, drift do to a status; nothing is sent where nothing changes.
 * Without pods drift stays, as the conditions of this process do, as it was seen last.
 */
export async function age(
  context: AgeContext,
  key: string,
  observation: AgentObservation,
  { activity, drift }: { activity: Activity; drift?: Drift[] },
): Promise<void> {
  const { namespace, name } = observation.metadata;
  // The time and the pods of this very moment: a read again, after somebody else's write, may show a pod made meanwhile.
  const update = (current: AgentObservation): ObservationStatus => {
    const at = context.clock.now();
    const pods = context.podsOf(key);
    const isThere = (instance: BriefInstance): boolean =>
      pods.some(
        (pod) =>
          pod.metadata.name === instance.name &&
          !hasEnded(pod) &&
          (instance.uid === undefined || pod.metadata.uid === instance.uid),
      );
    const known = withoutGone(current.status ?? { phase: 'Pending' }, isThere, at);
    return statusOf(drift ? withDrift(known, drift) : known, at, contextOf(current, activity));
  };
  // A copy that is behind the API server comes by again with its next watch event.
  if (sameJson(update(observation), observation.status)) return;
  await context.statusWriter.write({ namespace, name }, update);
}

function withDrift({ drift: _, ...status }: ObservationStatus, drift: Drift[]): ObservationStatus {
  return drift.length > 0 ? { ...status, drift } : status;
}
