import { EVENT_BATCH_LIMITS, parseEventBatch } from '../../core/behavior/parse-event-batch.ts';
import { jsonBody, type Route } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { MAX_ENTRY_BYTES } from '../audit/event-memory.ts';
import type { SidecarContext } from '../context.ts';
import { limitOf, ringHeaders, sinceOf } from './audit-query.ts';
import { auditStreamRoute } from './audit-stream-route.ts';

/** The requests that passed, and what the agent tells about them afterwards. */
export function auditRoutes(context: SidecarContext): Route[] {
  const { audit, policy } = context;
  return [
    auditStreamRoute(context),
    {
      method: 'GET',
      path: '/audit',
      summary:
        'Entries of the audit ring, oldest first. `?limit=N`: the newest N; `?since=<seq or request id>`: what came after. Headers `X-Platform-Audit-First`, `-Last`, `-Dropped`.',
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
      summary:
        'Body `{requestId, events[], agentName?}`, at most 64 KiB and 500 events. 200 `{requestId, found: true, opaViolations[]}`; 202 `{requestId, found: false}` for a request that is not in the ring; without `requestId` (`model` events only) 202, and the tokens count without a request; 400 with `errors`, or 413 when the events of the request take more than 512 KiB of memory: then nothing is recorded.',
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
              `the events of request ${requestId} take more than ${MAX_ENTRY_BYTES} bytes; nothing is recorded`,
            );
          if (entry === null) response.status(202).json({ requestId, found: false });
          else {
            // Without an event there is nothing that the engine has not been told.
            const isNews = events.length > 0;
            const opaViolations = isNews ? await policy.review(entry) : (entry.policyViolations ?? []);
            if (isNews) audit.changed(entry);
            response.json({ requestId, found: true, opaViolations });
          }
        },
      ],
    },
  ];
}
