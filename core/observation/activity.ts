import { conditionOf } from './condition-of.ts';
import type { ObservationStatus } from '../shapes/observation.ts';

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
  return INACTIVE.get(conditionOf(known, 'Reporting')?.reason ?? '') ?? 'running';
}

/**
 * Time (ISO 8601) from which an agent is expected to report: a new agent since its first pod runs, an agent that was idle since it
 * is active again. Its stale time starts here, because it has no last report, or a very old one. undefined: the agent reports, is
 * idle, or has reported and has never been idle.
 */
export function awaitedSinceOf(
  known: ObservationStatus | undefined,
  now: { isReporting: boolean; activity: Activity; hasStarted: boolean; at: Date },
): string | undefined {
  if (now.isReporting || now.activity !== 'running') return undefined;
  const wasActive = activityOf(known, undefined) === 'running';
  // The pods of a new agent may still be scheduled, or pull their images.
  const begins = known?.lastChecked === undefined ? now.hasStarted : !wasActive;
  return (wasActive ? known?.awaitedSince : undefined) ?? (begins ? now.at.toISOString() : undefined);
}

/** Time since which an agent without instances has not reported, in milliseconds since the epoch; null: it is not expected yet. */
export function silentSinceMs({
  lastChecked,
  awaitedSince,
}: Pick<ObservationStatus, 'lastChecked' | 'awaitedSince'>): number | null {
  const times = [lastChecked, awaitedSince].flatMap((time) => (time === undefined ? [] : Date.parse(time)));
  return times.length === 0 ? null : Math.max(...times);
}
