import type { ObservationStatus } from './observation.ts';

/** Whether the workload expects pods; where it does not, a missing report is not an alarm. */
export type Activity = 'running' | 'scaled-to-zero' | 'idle';

const RESTING: ReadonlyMap<string, Activity> = new Map([
  ['ScaledToZero', 'scaled-to-zero'],
  ['Idle', 'idle'],
]);

/**
 * Only the operator sees the workload and says so; every other writer goes by what it said last, in the condition
 * Reporting, or the two would write against each other.
 */
export function activityOf(known: ObservationStatus | undefined, reported: Activity | undefined): Activity {
  if (reported !== undefined) return reported;
  const reporting = known?.conditions?.find((condition) => condition.type === 'Reporting');
  return RESTING.get(reporting?.reason ?? '') ?? 'running';
}

/**
 * When an agent that rested was first seen to be expected again, ISO 8601. From then on it has its time to report; its
 * last report may be of long ago. Undefined: it reports, rests, or has never rested.
 */
export function awaitedSinceOf(
  known: ObservationStatus | undefined,
  now: { isReporting: boolean; activity: Activity; at: Date },
): string | undefined {
  if (now.isReporting || now.activity !== 'running') return undefined;
  return activityOf(known, undefined) === 'running' ? known?.awaitedSince : now.at.toISOString();
}

/** Since when nothing was heard from an agent without instances, in milliseconds of the epoch; null: it was never heard. */
export function silentSinceMs({
  lastChecked,
  awaitedSince,
}: Pick<ObservationStatus, 'lastChecked' | 'awaitedSince'>): number | null {
  if (lastChecked === undefined) return null;
  return Math.max(Date.parse(lastChecked), awaitedSince === undefined ? 0 : Date.parse(awaitedSince));
}
