import { isRepeat, mergeHeartbeat } from '../../core/observation/merge-heartbeat.ts';
import type { BriefInstance, ObservationStatus } from '../../core/observation/observation.ts';
import { isLive, staleLimitMs } from '../../core/observation/phase.ts';
import { withoutGone, type ObservationContext } from '../../core/observation/status-of.ts';
import { knownInstance, liveCount, MAX_INSTANCES } from '../../core/observation/worst-instances.ts';
import type { Arrival } from '../stores/store.ts';

export type Received =
  | { kind: 'accepted'; status: ObservationStatus; isNewName: boolean }
  | { kind: 'repeat' }
  | { kind: 'limited'; retryAfterSeconds: number; isNewName?: true };

/** What a store may know of the agent besides its status. */
export interface ReceiveOptions {
  context: ObservationContext;
  /** The least time between two accepted heartbeats of one instance. */
  rateLimitSeconds: number;
  /** When new names of the agent were accepted, in milliseconds; older ones than the rate limit may be left out. */
  newNames: readonly number[];
}

/** New names of instances that one registered agent may bring within the rate limit. */
export const MAX_NEW_NAMES = 60;
/** Names of a registered agent that report at a time. */
const MAX_LIVE_NAMES = 1_000;
/** When a name beyond these may try again: instances fall silent after two minutes at the earliest. */
const FULL_RETRY_SECONDS = 60;

/**
 * What becomes of a heartbeat. A repeat is one inside the rate limit too, since only accepted heartbeats count for it.
 * Pure, and the same for every store.
 */
export function receive(
  status: ObservationStatus | undefined,
  arrival: Arrival,
  { context, rateLimitSeconds, newNames }: ReceiveOptions,
): Received {
  const { heartbeat, at } = arrival;
  if (isRepeat(status, heartbeat, arrival, at)) return { kind: 'repeat' };
  const known = knownInstance(status, arrival.instance);
  const waitSeconds =
    known === undefined
      ? waitOfNewName(status, arrival, { rateLimitSeconds, newNames })
      : remaining(Date.parse(known.lastHeartbeat), at, rateLimitSeconds);
  if (waitSeconds > 0) {
    const retryAfterSeconds = Math.ceil(waitSeconds);
    return { kind: 'limited', retryAfterSeconds, ...(known === undefined ? { isNewName: true } : {}) };
  }
  return {
    kind: 'accepted',
    status: mergeArrival(status, arrival, context),
    isNewName: known === undefined,
  };
}

/**
 * The seconds that an unknown name has to wait; 0: none. Whoever holds a registration key invents names as it likes, so
 * that a limit of each name alone would be none. The name of a pod is what the cluster says.
 */
function waitOfNewName(
  status: ObservationStatus | undefined,
  { source, at }: Arrival,
  { rateLimitSeconds, newNames }: Pick<ReceiveOptions, 'rateLimitSeconds' | 'newNames'>,
): number {
  if (source === 'sidecar') return 0;
  if (liveCount(status, at) >= MAX_LIVE_NAMES) return FULL_RETRY_SECONDS;
  const oldest = newNames
    .filter((ms) => remaining(ms, at, rateLimitSeconds) > 0)
    .sort((a, b) => a - b)
    .at(-MAX_NEW_NAMES);
  return oldest === undefined ? 0 : remaining(oldest, at, rateLimitSeconds);
}

/** Seconds of a limit that began at `sinceMs`. A clock that was set back must lock nobody out until it has caught up. */
function remaining(sinceMs: number, at: Date, limitSeconds: number): number {
  const elapsed = (at.getTime() - sinceMs) / 1000;
  return elapsed >= 0 && elapsed < limitSeconds ? limitSeconds - elapsed : 0;
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

/**
 * Remote instances have no pod whose end the operator could see, so the ones that others have outlived are dropped
 * with the next heartbeat. Their tokens of the day stay counted.
 */
function withoutForgotten(status: ObservationStatus, { instance, at }: Arrival): ObservationStatus {
  // A silent one gives way to a new one.
  const isFull = (status.instances ?? []).length >= MAX_INSTANCES;
  const stays = (each: BriefInstance): boolean => {
    if (each.name === instance || isLive(each, at)) return true;
    const silentMs = at.getTime() - Date.parse(each.lastHeartbeat);
    return !isFull && silentMs <= Math.max(FORGET_MS, 2 * staleLimitMs(each.intervalSeconds));
  };
  return withoutGone(status, stays, at);
}
