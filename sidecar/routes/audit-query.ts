import type { Request } from 'express';
import { Problem } from '../../runtime/problem.ts';
import type { AuditRing } from '../audit/ring.ts';
import type { StreamStart } from '../audit/stream-reader.ts';

/** The requested number of entries; undefined: all. */
export function limitOf(request: Request): number | undefined {
  const { limit } = request.query;
  if (limit === undefined) return undefined;
  if (typeof limit !== 'string' || !/^\d+$/.test(limit) || Number(limit) === 0)
    throw new Problem(400, 'limit must be a positive integer');
  return Number(limit);
}

/**
 * The seq after which entries are requested; null: no `since`. All digits are a seq, anything else is a request id.
 * `unknown`: an unknown id, or a seq that is not reached yet, for example after a restart of the sidecar.
 */
export function sinceOf(request: Request, ring: AuditRing): number | 'unknown' | null {
  const { since } = request.query;
  if (since === undefined) return null;
  if (typeof since !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(since))
    throw new Problem(400, 'since must be a seq or a request id');
  if (!/^\d+$/.test(since)) return ring.find(since)?.seq ?? 'unknown';
  return Number(since) <= ring.last ? Number(since) : 'unknown';
}

/** Where a stream starts. For a reader that reconnects, `Last-Event-ID` takes precedence over the query. */
export function streamStartOf(request: Request, ring: AuditRing): StreamStart {
  const start = { since: sinceOf(request, ring), limit: limitOf(request) };
  const lastEventId = request.get('last-event-id') ?? '';
  if (lastEventId === '') return start;
  if (!/^\d+$/.test(lastEventId)) throw new Problem(400, 'Last-Event-ID must be the id of an event');
  return { lastEventId: Number(lastEventId) };
}

/** Response headers with the range of the ring. */
export function ringHeaders(ring: AuditRing): Record<string, string> {
  return {
    'X-Platform-Audit-First': String(ring.last === 0 ? 0 : ring.first),
    'X-Platform-Audit-Last': String(ring.last),
    'X-Platform-Audit-Dropped': String(ring.dropped),
  };
}
