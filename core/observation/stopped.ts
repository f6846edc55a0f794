import { hasEnded, isSameStop, stopId, type AgentStop } from '../organisation/stops.ts';
import { ANNOTATION_STOP, type ObservedStop } from '../shapes/agent-stop.ts';
import type { InstanceStatus } from '../shapes/instance.ts';
import { present } from '../untrusted/present.ts';
import type { ConditionInput, ConditionRow } from './condition-input.ts';
import { row } from './condition-table.ts';

/** The reason of a stop that is written on the pods only. It stays there, because the pod does not report it. */
const ANNOTATION_REASON = 'annotation platform.io/stop of a pod';

/** The instances, and the stop that each of them applies. */
interface Known {
  instances: readonly InstanceStatus[];
  /** Those of them that report. */
  live: readonly InstanceStatus[];
  /** Instances that report and are not listed. */
  unlisted: readonly Pick<InstanceStatus, 'stop'>[];
  at: Date;
}

/**
 * Member `stop` of the status; undefined: the agent is not stopped.
 * @param known the member so far
 * @param stop the stop of the agent; null: it has none; undefined: the writer does not know
 */
export function observedStopOf(
  known: ObservedStop | undefined,
  stop: AgentStop | null | undefined,
  { instances, live, unlisted, at }: Known,
): ObservedStop | undefined {
  const wanted = requested(known, stop, at) ?? annotated(live);
  if (wanted === undefined) return undefined;
  const before = known !== undefined && isSameStop(known, wanted) ? known : undefined;
  // An instance that no longer reports may still run, and without the stop.
  const count = instances.length + unlisted.length;
  const confirmed = [...live, ...unlisted].filter(
    ({ stop: applied }) => applied && isSameStop(applied, wanted),
  );
  const isWhole = count > 0 && confirmed.length === count;
  const now = at.toISOString();
  return present({
    ...wanted,
    instances: count,
    confirmed: confirmed.length,
    firstConfirmedAt: before?.firstConfirmedAt ?? (confirmed.length > 0 ? now : undefined),
    lastConfirmedAt: isWhole ? (before?.lastConfirmedAt ?? now) : undefined,
  });
}

type Requested = Pick<ObservedStop, 'id' | 'reason' | 'by' | 'since' | 'until'>;

function requested(
  known: ObservedStop | undefined,
  stop: AgentStop | null | undefined,
  at: Date,
): Requested | undefined {
  if (stop === null) return undefined;
  if (stop !== undefined) {
    const { reason, by, until } = stop.spec;
    return hasEnded(stop, at)
      ? undefined
      : present({ id: stopId(stop), reason, by, since: stop.since, until });
  }
  if (known === undefined || known.id === ANNOTATION_STOP) return undefined;
  const hasPassed = known.until !== undefined && Date.parse(known.until) <= at.getTime();
  const { id, reason, by, since, until } = known;
  return hasPassed ? undefined : present({ id, reason, by, since, until });
}

/** A stop by the annotation of a pod has no AgentStop, so only the instances know of it. */
function annotated(live: readonly InstanceStatus[]): Requested | undefined {
  const since = live
    .flatMap(({ stop }) => (stop?.id === ANNOTATION_STOP ? [stop.since] : []))
    .sort()
    .at(0);
  return since === undefined ? undefined : { id: ANNOTATION_STOP, reason: ANNOTATION_REASON, since };
}

/** Whether every instance applies the stop, or nothing of the agent runs. */
const isConfirmed = ({ stop, activity, live }: ConditionInput): boolean =>
  stop !== undefined &&
  ((stop.instances > 0 && stop.confirmed === stop.instances) ||
    (live.length === 0 && activity !== 'running'));

/** The rows of the condition `Stopped`. */
export const STOPPED: readonly ConditionRow[] = [
  row('False', 'Running', {
    when: 'no AgentStop applies to the agent, and no pod of it has the annotation `platform.io/stop`',
    holds: ({ stop }) => stop === undefined,
    message: () => 'the agent is not stopped',
  }),
  row('Unknown', 'Stopping', {
    when: 'an instance has not confirmed the stop, or no longer reports',
    holds: (input) => !isConfirmed(input),
    message: ({ stop }) => `${stop?.confirmed} of ${stop?.instances} instances are stopped (${stop?.id})`,
  }),
  row('True', 'IngressOnly', {
    when: 'every instance rejects requests, and an instance has no egress lanes: an agent that works on its own continues',
    holds: ({ stop, live }) =>
      live.some((instance) => instance.stop?.id === stop?.id && instance.stop?.lanes === false),
    message: ({ stop }) =>
      `requests are rejected (${stop?.id}); an instance has no egress lanes, so calls that the agent makes on its own continue`,
  }),
  row('True', 'Stopped', {
    when: 'every instance rejects requests and calls through egress lanes, or nothing of the agent runs',
    message: ({ stop }) => `every instance is stopped (${stop?.id})`,
  }),
];
