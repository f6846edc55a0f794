import type { RequestHandler } from 'express';
import { EVENT_BATCH_LIMITS, parseEventBatch } from '../../core/shapes/events.ts';
import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import { EVENT_STREAM_HEADERS } from '../../runtime/event-stream.ts';
import { jsonBody } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { AuditStreams, MAX_STREAMS } from '../audit/audit-streams.ts';
import { MAX_ENTRY_BYTES } from '../audit/event-memory.ts';
import type { SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';
import {
  LAST_EVENT_ID,
  limitOf,
  RING_HEADERS,
  RING_QUERY,
  ringHeaders,
  sinceOf,
  streamStartOf,
} from './audit-query.ts';

/** The audit entries of proxied requests, and the agent's events about them. */
export function auditRoutes(context: SidecarContext): SidecarRoute[] {
  const { audit } = context;
  return [
    auditStreamRoute(context),
    {
      method: 'GET',
      path: '/audit',
      access: 'local',
      summary:
        'Returns the entries of the audit ring, oldest first. `?limit=N`: the newest N; `?since=<seq or request id>`: entries after it. Headers `X-Platform-Audit-First`, `-Last`, `-Dropped`.',
      operation: {
        id: 'listAuditEntries',
        query: RING_QUERY,
        responses: {
          200: {
            description: 'The entries, oldest first.',
            schema: listOf(ref('AuditEntry')),
            headers: RING_HEADERS,
          },
        },
      },
      handlers: [
        (request, response) => {
          const { ring } = audit;
          const limit = limitOf(request);
          const since = sinceOf(request, ring);
          response.set(ringHeaders(ring));
          const after = since === 'unknown' ? 0 : since;
          response.json(after === null ? ring.newest(limit) : ring.after(after, limit));
        },
      ],
    },
    {
      method: 'POST',
      path: '/events',
      access: 'local',
      summary:
        'Records events of a request. Body `{requestId, events[], agentName?}`, at most 64 KiB and 500 events. 200 `{requestId, found: true, opaViolations[]}`. 202 `{requestId, found: false}` if the request is not in the ring. Without `requestId` (`model` events only): 202, and the tokens are counted without a request. 400 with `errors`. 413 if the events of the request need more than 512 KiB of memory; no event is recorded.',
      operation: {
        id: 'recordEvents',
        body: 'EventBatch',
        responses: {
          200: { description: 'The events are recorded.', schema: 'RecordedEvents' },
          202: { description: 'The request is not in the ring.', schema: 'UnmatchedEvents' },
          413: 'The body or the events of the request are too large; no event is recorded.',
        },
      },
      handlers: [jsonBody(EVENT_BATCH_LIMITS.bytes), recordEvents(context)],
    },
  ];
}

function recordEvents({ audit, policy }: SidecarContext): RequestHandler {
  return async (request, response) => {
    const parsed = parseEventBatch(request.body as unknown);
    if (!parsed.ok)
      throw new Problem(400, 'the event batch is not valid', { extra: { errors: parsed.errors } });
    const { requestId, events } = parsed.value;
    if (requestId === null) {
      audit.recordUsage(events);
      response.status(202).json({ requestId, found: false });
      return;
    }
    const entry = audit.recordEvents({ ...parsed.value, requestId });
    if (entry === 'full')
      throw new Problem(
        413,
        `the events of request ${requestId} need more than ${MAX_ENTRY_BYTES} bytes; no event was recorded`,
      );
    if (entry === null) response.status(202).json({ requestId, found: false });
    else {
      // Without new events, the engine's last result is still valid.
      const opaViolations = events.length > 0 ? await policy.review(entry) : (entry.policyViolations ?? []);
      response.json({ requestId, found: true, opaViolations });
    }
  };
}

/** The audit ring as server-sent events. */
function auditStreamRoute({ audit, clock, stopping }: SidecarContext): SidecarRoute {
  let streams: AuditStreams | null = null;
  return {
    method: 'GET',
    path: '/audit/stream',
    access: 'local',
    summary: `Streams audit entries as server-sent events: the completed entries of \`GET /audit\` (same query), then each entry when it completes, once each, in order of completion. Events: \`entry\` (\`id\` = seq), \`update\` (a late event changed the entry), \`gap\` \`{lost}\` (the reader was too slow). \`Last-Event-ID\` resumes after that entry. 503 for more than ${MAX_STREAMS} readers.`,
    operation: {
      id: 'streamAuditEntries',
      query: RING_QUERY,
      headers: LAST_EVENT_ID,
      responses: {
        200: {
          description: 'Events with an AuditEntry each.',
          contentType: 'text/event-stream',
          headers: RING_HEADERS,
        },
        503: { description: 'There are too many readers.', headers: { 'Retry-After': 'Seconds to wait.' } },
      },
    },
    handlers: [
      (request, response) => {
        const start = streamStartOf(request, audit.ring);
        streams ??= new AuditStreams({ audit, clock, signal: stopping.signal });
        if (streams.isFull)
          throw new Problem(503, `the limit of ${MAX_STREAMS} stream readers is reached`, {
            headers: { 'Retry-After': '10' },
          });
        response.writeHead(200, { ...EVENT_STREAM_HEADERS, ...ringHeaders(audit.ring) });
        if (request.method === 'HEAD') response.end();
        else streams.connect(response, start);
      },
    ],
  };
}
