import { activityOf, silentSinceMs } from './activity.ts';
import type { ObservationStatus } from './observation.ts';
import { isLive, staleLimitMs } from './phase.ts';
import type { ObservationContext } from './status-of.ts';

/**
 * When `statusOf` would say something else although nobody reports anything: an instance falls silent, nobody replaces
 * the last one, or the UTC day ends. Null: never.
 */
export function nextChangeAt(status: ObservationStatus, at: Date, context: ObservationContext): Date | null {
  const instances = status.instances ?? [];
  const silent = [...instances, ...(status.unlisted ?? [])]
    .filter((instance) => isLive(instance, at))
    .map((instance) => Date.parse(instance.lastHeartbeat) + staleLimitMs(instance.intervalSeconds));
  const waits = instances.length === 0 && activityOf(status, context.activity) === 'running';
  const since = silentSinceMs(status);
  const unreplaced = waits && since !== null ? [since + staleLimitMs(context.heartbeatSeconds ?? 30)] : [];
  const midnight =
    (status.tokens ?? 0) > 0 ? [Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1)] : [];
  // One millisecond past a limit, which itself still counts as reporting.
  const future = [...silent, ...unreplaced, ...midnight]
    .map((ms) => ms + 1)
    .filter((ms) => ms > at.getTime());
  return future.length === 0 ? null : new Date(Math.min(...future));
}
