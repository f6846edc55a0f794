import type { ConnectionLimits } from '../runtime/connection-limits.ts';
import type { RequestTimeouts } from '../runtime/http-listener.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** Agents keep their connections open, so this is above the number of agents that one replica serves. */
const MAX_CONNECTIONS = 20_000;
/** About 32 KiB each. An agent sends its head at once. */
const MAX_UNFINISHED_HEADS = 1_000;
const MAX_UNANSWERED = 8;
const MAX_HEADER_FIELDS = 128;
/** A page of 1,000 agents has less than one MiB. */
const MAX_UNREAD_BYTES = 64 * 2 ** 20;

/** A heartbeat has at most 64 KiB, and a registration 256 KiB. */
export const API_TIMEOUTS: RequestTimeouts = { headMs: 20_000, requestMs: 60_000 };

/** Limits the memory that clients of the API can occupy. Behind a proxy all clients have one address: there are no groups. */
export function apiLimits(metrics: Metrics): ConnectionLimits {
  const actions = metrics.counter(
    'platform_control_plane_overload_total',
    'Actions at a limit of connections: requests rejected with 503 (refused), connections closed (cut).',
  );
  return {
    maxConnections: MAX_CONNECTIONS,
    maxUnfinishedHeads: MAX_UNFINISHED_HEADS,
    maxUnanswered: MAX_UNANSWERED,
    maxHeaderFields: MAX_HEADER_FIELDS,
    maxUnreadBytes: MAX_UNREAD_BYTES,
    groupOf: () => '',
    onRefused: () => actions.add({ action: 'refused' }),
    onCut: () => actions.add({ action: 'cut' }),
  };
}
