import { isRepeat, mergeHeartbeat } from '../../core/observation/merge-heartbeat.ts';
import type { InstanceStatus, ObservationStatus } from '../../core/observation/observation.ts';
import { isLive, staleLimitMs } from '../../core/observation/phase.ts';
import { withoutGone, type ObservationContext } from '../../core/observation/status-of.ts';
import type { Arrival } from '../stores/store.ts';

export type Received =
  | { kind: 'accepted'; status: ObservationStatus }
  | { kind: 'repeat' }
  | { kind: 'limited'; retryAfterSeconds: number };

/** What a store may know of the agent besides its status. */
export interface ReceiveOptions {
  context: ObservationContext;
  /** The least time between two accepted heartbeats of one instance. */
  rateLimitSeconds: number;
}

/**
 * What becomes of a heartbeat. A repeat is one inside the rate limit too, since only accepted heartbeats count for it.
 * Pure, and the same for every store.
 */
export function receive(
  status: ObservationStatus | undefined,
  arrival: Arrival,
  { context, rateLimitSeconds }: ReceiveOptions,
): Received {
  const { heartbeat, at } = arrival;
  if (isRepeat(status, heartbeat, arrival, at)) return { kind: 'repeat' };
  const known = status?.instances?.find((instance) => instance.name === arrival.instance);
  const elapsed = known === undefined ? Infinity : (at.getTime() - Date.parse(known.lastHeartbeat)) / 1000;
  // A clock that was set back must not lock an instance out until it has caught up.
  if (elapsed >= 0 && elapsed < rateLimitSeconds)
    return { kind: 'limited', retryAfterSeconds: Math.ceil(rateLimitSeconds - elapsed) };
  return { kind: 'accepted', status: mergeArrival(status, arrival, context) };
}

/** The status after a heartbeat that was accepted; the same object when it is in the status already. */
export function mergeArrival(
  status: ObservationStatus | undefined,
  arrival: Arrival,
  context: ObservationContext,
): ObservationStatus {
  const { heartbeat, at, instance, uid, proofs } = arrival;
  const sender = {
    ...context,
    instance,
    ...(uid === undefined ? {} : { uid }),
    ...(proofs === undefined ? {} : { proofs }),
  };
  if (isRepeat(status, heartbeat, sender, at) && status !== undefined) return status;
  const known = status === undefined ? undefined : withoutForgotten(status, arrival);
  return mergeHeartbeat(known, heartbeat, sender, at);
}

/** Silent instances are forgotten after this time, or after twice their stale limit; milliseconds. */
const FORGET_MS = 3_600_000;
/** The most instances that a status lists; a silent one gives way to a new one. */
const MAX_INSTANCES = 50;

/**
 * Remote instances have no pod whose end the operator could see, so the ones that others have outlived are dropped
 * with the next heartbeat. Their tokens of the day stay counted.
 */
function withoutForgotten(status: ObservationStatus, { instance, at }: Arrival): ObservationStatus {
  const isFull = (status.instances ?? []).length >= MAX_INSTANCES;
  const stays = (each: InstanceStatus): boolean => {
    if (each.name === instance || isLive(each, at)) return true;
    const silentMs = at.getTime() - Date.parse(each.lastHeartbeat);
    return !isFull && silentMs <= Math.max(FORGET_MS, 2 * staleLimitMs(each.intervalSeconds));
  };
  return withoutGone(status, stays, at);
}
