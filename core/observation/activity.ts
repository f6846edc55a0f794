import type { ObservationStatus } from './observation.ts';

/** Whether the workload should have running pods. If it should not, missing reports are not an alarm. */
export type Activity = 'running' | 'scaled-to-zero' | 'idle';

const INACTIVE: ReadonlyMap<string, Activity> = new Map([
  ['ScaledToZero', 'scaled-to-zero'],
  ['Idle', 'idle'],
]);

/**
 * The activity as reported by the operator, which is the only writer that reads the workload. Other writers use the last
 * value from the condition `Reporting`. Otherwise two writers would keep overwriting each other.
 */
export function activityOf(known: ObservationStatus | undefined, reported: Activity | undefined): Activity {
  if (reported !== undefined) return reported;
  const reporting = known?.conditions?.find((condition) => condition.type === 'Reporting');
  return INACTIVE.get(reporting?.reason ?? '') ?? 'running';
}

/**
 * Time (ISO 8601) from which an agent that was idle is expected to report again. Its stale time starts here, because its last
 * report may be very old. undefined: the agent reports, is idle, or has never been idle.
 */
export function awaitedSinceOf(
  known: ObservationStatus | undefined,
  now: { isReporting: boolean; activity: Activity; at: Date },
): string | undefined {
  if (now.isReporting || now.activity !== 'running') return undefined;
  return activityOf(known, undefined) === 'running' ? known?.awaitedSince : now.at.toISOString();
}

/** Time since which an agent without instances has not reported, in milliseconds since the epoch; null: it never reported. */
export function silentSinceMs({
  lastChecked,
  awaitedSince,
}: Pick<ObservationStatus, 'lastChecked' | 'awaitedSince'>): number | null {
  if (lastChecked === undefined) return null;
  return Math.max(Date.parse(lastChecked), awaitedSince === undefined ? 0 : Date.parse(awaitedSince));
}
