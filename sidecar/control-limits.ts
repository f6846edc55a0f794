import type { RequestListener } from 'node:http';
import type { Clock } from '../runtime/clock.ts';
import type { ConnectionLimits } from '../runtime/connection-limits.ts';
import { withUploadBudget } from '../runtime/upload-budget.ts';
import { comesOverLoopback } from './access.ts';
import type { LoadLimits } from './proxy/load-limits.ts';

/** Pipelined requests per connection; each request in flight occupies memory for its head. */
const MAX_UNANSWERED = 4;
const MAX_HEADER_FIELDS = 128;

/** Milliseconds that the body of a request may take. */
const BODY_MS = 5_000;
/** Bytes per second below which an upload is aborted when other uploads need its memory. */
const SLOW_RATE = 64 * 1024;

/**
 * Limits the memory that clients of port 4001 can occupy. Loopback connections (the agent, a port-forward) and other
 * connections (the kubelet, Prometheus, unknown clients) get half of it each, so that neither group blocks the other.
 */
export function controlLimits(load: LoadLimits): ConnectionLimits {
  return {
    maxConnections: Math.max(1, Math.floor(load.maxControlConnections / 2)),
    maxUnfinishedHeads: load.maxUnfinishedHeads,
    maxUnanswered: MAX_UNANSWERED,
    maxHeaderFields: MAX_HEADER_FIELDS,
    maxUnreadBytes: load.maxControlUnread,
    groupOf: (socket) => (comesOverLoopback({ socket }) ? 'loopback' : 'other'),
    onRefused: () => (load.refused += 1),
    onCut: () => (load.cut += 1),
  };
}

/** Limits the total size of request bodies that arrive at the same time. */
export const limitTotalBodyBytes = (
  handler: RequestListener,
  load: LoadLimits,
  clock: Clock,
): RequestListener =>
  withUploadBudget(handler, {
    bytes: load.maxControlBodies,
    bodyMs: BODY_MS,
    slowRate: SLOW_RATE,
    clock,
  });
