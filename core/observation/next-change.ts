import { allInstances } from './all-instances.ts';
import { activityOf, silentSinceMs } from './activity.ts';
import type { ObservationStatus } from '../shapes/observation.ts';
import { isLive, staleLimitMs } from './phase.ts';
import type { ObservationContext } from './status-of.ts';

/**
 * The next time at which `statusOf` changes without a report: an instance becomes stale, the time
 * for the replacement of the last instance ends, the UTC day ends, or the stop of the agent ends. null: never.
 */
export function nextChangeAt(status: ObservationStatus, at: Date, context: ObservationContext): Date | null {
  const instances = status.instances ?? [];
  const silent = allInstances(status)
    .filter((instance) => isLive(instance, at))
    .map((instance) => Date.parse(instance.lastHeartbeat) + staleLimitMs(instance.intervalSeconds));
  const waits = instances.length === 0 && activityOf(status, context.activity) === 'running';
  const since = silentSinceMs(status);
  const unreplaced = waits && since !== null ? [since + staleLimitMs(context.heartbeatSeconds ?? 30)] : [];
  const midnight =
    (status.tokens ?? 0) > 0 ? [Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1)] : [];
  const stopEnd = status.stop?.until === undefined ? [] : [Date.parse(status.stop.until)];
  // One millisecond after the limit, because at the limit an instance still counts as reporting.
  const future = [...silent, ...unreplaced, ...midnight, ...stopEnd]
    .map((ms) => ms + 1)
    .filter((ms) => ms > at.getTime());
  return future.length === 0 ? null : new Date(Math.min(...future));
}
