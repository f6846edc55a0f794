import type { RequestListener } from 'node:http';
import type { Clock } from '../runtime/clock.ts';
import type { ConnectionLimits } from '../runtime/connection-limits.ts';
import { oneLargeRequestAtATime } from '../runtime/large-requests.ts';
import { comesOverLoopback } from './access.ts';
import type { LoadLimits } from './proxy/load-limits.ts';

/** Nobody needs more of port 4001; each costs a head. */
const MAX_UNANSWERED = 4;
const MAX_HEADER_FIELDS = 128;

/** Bytes of a body from which on bodies are read one at a time: read in chunks of one byte they cost many times their size. */
const LARGE_BODY = 4 * 1024;
/** Milliseconds that one of these has. */
const LARGE_BODY_MS = 5_000;
const MOST_WAITING = 32;

/**
 * What clients of port 4001 can make the sidecar hold. Connections over loopback (the agent, a port-forward) and others (the
 * kubelet, Prometheus, strangers) have half of the room each, so that neither shuts the other out.
 */
export function controlLimits(load: LoadLimits): ConnectionLimits {
  return {
    maxConnections: Math.max(1, Math.floor(load.maxControlConnections / 2)),
    maxUnanswered: MAX_UNANSWERED,
    maxHeaderFields: MAX_HEADER_FIELDS,
    maxUnreadBytes: load.maxControlUnread,
    groupOf: (socket) => (comesOverLoopback({ socket }) ? 'loopback' : 'other'),
    onRefused: () => (load.refused += 1),
    onCut: () => (load.cut += 1),
  };
}

/** Reads large bodies one after the other. */
export const limitBodies = (handler: RequestListener, clock: Clock): RequestListener =>
  oneLargeRequestAtATime(handler, {
    above: LARGE_BODY,
    holdMs: LARGE_BODY_MS,
    mostWaiting: MOST_WAITING,
    clock,
  });
