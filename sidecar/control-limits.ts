import type { RequestListener } from 'node:http';
import type { Clock } from '../runtime/clock.ts';
import type { ConnectionLimits } from '../runtime/connection-limits.ts';
import { withUploadBudget } from '../runtime/upload-budget.ts';
import { comesOverLoopback } from './access.ts';
import type { LoadLimits } from './proxy/load-limits.ts';

/** Nobody needs more of port 4001; each costs a head. */
const MAX_UNANSWERED = 4;
const MAX_HEADER_FIELDS = 128;

/** How long the body of a request may take, in milliseconds. */
const BODY_MS = 5_000;
/** Bytes per second below which a sender loses its connection when others need the room. */
const SLOW_RATE = 64 * 1024;

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

/** Bounds the bodies of requests that arrive at the same time. */
export const limitBodies = (handler: RequestListener, load: LoadLimits, clock: Clock): RequestListener =>
  withUploadBudget(handler, {
    bytes: load.maxControlBodies,
    bodyMs: BODY_MS,
    slowRate: SLOW_RATE,
    clock,
  });
