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

/** Inputs from the store in addition to the agent's status. */
export interface ReceiveOptions {
  context: ObservationContext;
  /** Minimum time between two accepted heartbeats of one instance. */
  rateLimitSeconds: number;
  /** When new instance names were accepted, in milliseconds. Times older than the rate limit may be left out. */
  newNames: readonly number[];
}

/** Maximum number of new instance names of one registered agent within the rate limit. */
export const MAX_NEW_NAMES = 60;
/** Maximum number of live instance names of a registered agent. */
const MAX_LIVE_NAMES = 1_000;
/** Retry delay for a name above this maximum. Instances become stale after two minutes at the earliest. */
const FULL_RETRY_SECONDS = 60;

/**
 * The outcome of a heartbeat. A repeat within the rate limit is still a repeat, because only accepted heartbeats count for
 * the limit. Pure, and the same for every store.
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
 * Seconds that an unknown name must wait; 0: none. The holder of a registration key can invent names, so a limit per name
 * would have no effect. The cluster provides pod names, so they are not limited.
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

/** Remaining seconds of a limit that began at `sinceMs`. A clock that was set back must not extend the limit. */
function remaining(sinceMs: number, at: Date, limitSeconds: number): number {
  const elapsed = (at.getTime() - sinceMs) / 1000;
  return elapsed >= 0 && elapsed < limitSeconds ? limitSeconds - elapsed : 0;
}

/** The status after an accepted heartbeat; the same object if the status already contains the heartbeat. */
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

/** Silent instances are dropped after this time, or after twice their stale limit if that is longer; milliseconds. */
const FORGET_MS = 3_600_000;

/**
 * Remote instances have no pod whose deletion the operator could detect. The next heartbeat drops those that are silent for
 * too long. Their tokens of the day stay counted.
 */
function withoutForgotten(status: ObservationStatus, { instance, at }: Arrival): ObservationStatus {
  // In a full list a new instance replaces silent instances.
  const isFull = (status.instances ?? []).length >= MAX_INSTANCES;
  const stays = (each: BriefInstance): boolean => {
    if (each.name === instance || isLive(each, at)) return true;
    const silentMs = at.getTime() - Date.parse(each.lastHeartbeat);
    return !isFull && silentMs <= Math.max(FORGET_MS, 2 * staleLimitMs(each.intervalSeconds));
  };
  return withoutGone(status, stays, at);
}
