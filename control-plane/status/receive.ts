import { isRepeat, mergeHeartbeat } from '../../core/observation/merge-heartbeat.ts';
import type { ObservationStatus } from '../../core/shapes/observation.ts';
import type { ObservationContext } from '../../core/observation/status-of.ts';
import { knownInstance, liveCount } from '../../core/observation/worst-instances.ts';
import type { Arrival, HeartbeatOutcome } from '../stores/store.ts';

export type Received =
  | { kind: 'accepted'; status: ObservationStatus; isNewName: boolean }
  | Extract<HeartbeatOutcome, { kind: 'repeat' | 'limited' }>;

/** Inputs from the store in addition to the agent's status. */
export interface ReceiveOptions {
  context: ObservationContext;
  /** Minimum time between two accepted heartbeats of one instance. */
  rateLimitSeconds: number;
  /** When new instance names were accepted, in milliseconds. Times older than the rate limit may be left out. */
  newNames: readonly number[];
}

/** Maximum number of new instance names of one registered agent within the rate limit. */
export const MAX_NEW_INSTANCES = 60;
/** Maximum number of live instance names of a registered agent. */
const MAX_LIVE_NAMES = 1_000;
/** Retry delay for a name above this maximum. Instances become stale after two minutes at the earliest. */
const FULL_RETRY_SECONDS = 60;
/**
 * The share of the rate limit by which a heartbeat may be early. The interval of a sender may equal the limit, and network
 * delays and the clocks of replicas vary.
 */
const EARLY_SHARE = 0.05;

/**
 * The outcome of a heartbeat. A repeat within the rate limit is still a repeat, because only accepted heartbeats count for
 * the limit. Pure, and the same for every store.
 */
export function receive(
  before: ObservationStatus | undefined,
  arrival: Arrival,
  { context, rateLimitSeconds, newNames }: ReceiveOptions,
): Received {
  const known = knownInstance(before, arrival.instance);
  const isNewName = known === undefined;
  const waitSeconds = isNewName
    ? waitOfNewName(before, arrival, { rateLimitSeconds, newNames })
    : waitOfKnownName(known.lastHeartbeat, arrival.at, rateLimitSeconds);
  // Limited heartbeats are not merged, because a merge is much slower than this check.
  if (waitSeconds > 0 && !isRepeat(before, arrival.heartbeat, arrival, arrival.at)) {
    const retryAfterSeconds = Math.ceil(waitSeconds);
    return { kind: 'limited', retryAfterSeconds, ...(isNewName ? { isNewName } : {}) };
  }
  const status = mergeArrival(before, arrival, context);
  return status === before ? { kind: 'repeat' } : { kind: 'accepted', status, isNewName };
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
    .at(-MAX_NEW_INSTANCES);
  return oldest === undefined ? 0 : remaining(oldest, at, rateLimitSeconds);
}

/** Seconds that an instance must wait after its last accepted heartbeat; 0: none. */
function waitOfKnownName(lastHeartbeat: string, at: Date, limitSeconds: number): number {
  const seconds = remaining(Date.parse(lastHeartbeat), at, limitSeconds);
  return seconds > limitSeconds * EARLY_SHARE ? seconds : 0;
}

/** Remaining seconds of a limit that began at `sinceMs`. A clock that was set back must not extend the limit. */
function remaining(sinceMs: number, at: Date, limitSeconds: number): number {
  const elapsed = (at.getTime() - sinceMs) / 1000;
  return elapsed >= 0 && elapsed < limitSeconds ? limitSeconds - elapsed : 0;
}

/** The status after a heartbeat; the same object if the status already contains this heartbeat or a newer one. */
export function mergeArrival(
  status: ObservationStatus | undefined,
  arrival: Arrival,
  context: ObservationContext,
): ObservationStatus {
  return mergeHeartbeat(status, arrival.heartbeat, { ...context, ...arrival }, arrival.at);
}
