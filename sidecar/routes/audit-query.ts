import type { Request } from 'express';
import type { Operation } from '../../core/openapi/operation.ts';
import { Problem } from '../../runtime/problem.ts';
import type { AuditRing } from '../audit/ring.ts';
import type { StreamStart } from '../audit/stream-reader.ts';

/** A seq, or the id of a request. */
const SINCE = /^[\x21-\x7e]{1,128}$/;
const DIGITS = /^\d+$/;

/** The query of the routes of the audit ring, for OpenAPI. */
export const RING_QUERY: NonNullable<Operation['query']> = {
  limit: { schema: { type: 'integer', minimum: 1 }, description: 'Number of entries; default: all.' },
  since: {
    schema: { type: 'string', pattern: SINCE.source },
    description: 'Only entries after this seq, or after the entry with this request id.',
  },
};

/** The request header of a reader that reconnects, for OpenAPI. */
export const LAST_EVENT_ID: NonNullable<Operation['headers']> = {
  'Last-Event-ID': {
    schema: { type: 'string', pattern: DIGITS.source },
    description: 'Id of the last received event. It takes precedence over the query.',
  },
};

/** The response headers of `ringHeaders`, for OpenAPI. */
export const RING_HEADERS = {
  'X-Platform-Audit-First': 'seq of the oldest entry; 0: none.',
  'X-Platform-Audit-Last': 'seq of the newest entry; 0: none.',
  'X-Platform-Audit-Dropped': 'Number of overwritten entries.',
} as const;

/** The requested number of entries; undefined: all. */
export function limitOf(request: Request): number | undefined {
  const { limit } = request.query;
  if (limit === undefined) return undefined;
  if (typeof limit !== 'string' || !DIGITS.test(limit) || Number(limit) === 0)
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
  if (typeof since !== 'string' || !SINCE.test(since))
    throw new Problem(400, 'since must be a seq or a request id');
  if (!DIGITS.test(since)) return ring.find(since)?.seq ?? 'unknown';
  return Number(since) <= ring.last ? Number(since) : 'unknown';
}

/** Where a stream starts. For a reader that reconnects, `Last-Event-ID` takes precedence over the query. */
export function streamStartOf(request: Request, ring: AuditRing): StreamStart {
  const start = { since: sinceOf(request, ring), limit: limitOf(request) };
  const lastEventId = request.get('last-event-id') ?? '';
  if (lastEventId === '') return start;
  if (!DIGITS.test(lastEventId)) throw new Problem(400, 'Last-Event-ID must be the id of an event');
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
