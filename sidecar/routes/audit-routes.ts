import { EVENT_BATCH_LIMITS, parseEventBatch } from '../../core/behavior/parse-event-batch.ts';
import { jsonBody } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { AuditStreams, MAX_STREAMS } from '../audit/audit-streams.ts';
import { MAX_ENTRY_BYTES } from '../audit/event-memory.ts';
import type { SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';
import { limitOf, ringHeaders, sinceOf, streamStartOf } from './audit-query.ts';

/** The audit entries of proxied requests, and the agent's events about them. */
export function auditRoutes(context: SidecarContext): SidecarRoute[] {
  const { audit, policy } = context;
  return [
    auditStreamRoute(context),
    {
      method: 'GET',
      path: '/audit',
      access: 'local',
      summary:
        'Returns the entries of the audit ring, oldest first. `?limit=N`: the newest N; `?since=<seq or request id>`: entries after it. Headers `X-Platform-Audit-First`, `-Last`, `-Dropped`.',
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
      handlers: [
        jsonBody(EVENT_BATCH_LIMITS.bytes),
        async (request, response) => {
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
            const opaViolations =
              events.length > 0 ? await policy.review(entry) : (entry.policyViolations ?? []);
            response.json({ requestId, found: true, opaViolations });
          }
        },
      ],
    },
  ];
}

/** The audit ring as server-sent events. */
function auditStreamRoute({ audit, clock, stopping }: SidecarContext): SidecarRoute {
  let streams: AuditStreams | null = null;
  return {
    method: 'GET',
    path: '/audit/stream',
    access: 'local',
    summary: `Streams audit entries as server-sent events: the completed entries of \`GET /audit\` (same query), then each entry when it completes, once each, in order of completion. Events: \`entry\` (\`id\` = seq), \`update\` (a late event changed the entry), \`gap\` \`{lost}\` (the reader was too slow). \`Last-Event-ID\` resumes after that entry. 503 for more than ${MAX_STREAMS} readers.`,
    handlers: [
      (request, response) => {
        const start = streamStartOf(request, audit.ring);
        streams ??= new AuditStreams({ audit, clock, signal: stopping.signal });
        if (streams.isFull)
          throw new Problem(503, `the limit of ${MAX_STREAMS} stream readers is reached`, {
            headers: { 'Retry-After': '10' },
          });
        response.writeHead(200, {
          'Content-Type': 'text/event-stream',
          'Cache-Control': 'no-store, no-transform',
          // The connection ends with the stream, so that it does not delay a shutdown.
          Connection: 'close',
          // Without this header nginx would buffer the response.
          'X-Accel-Buffering': 'no',
          ...ringHeaders(audit.ring),
        });
        if (request.method === 'HEAD') response.end();
        else streams.connect(response, start);
      },
    ],
  };
}
