import type { Request } from 'express';
import { EVENT_BATCH_LIMITS, parseEventBatch } from '../../core/behavior/parse-event-batch.ts';
import { jsonBody, type Route } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import type { AuditRing } from '../audit/ring.ts';
import type { SidecarContext } from '../context.ts';

/** The requests that passed, and what the agent tells about them afterwards. */
export function auditRoutes({ audit, policy }: SidecarContext): Route[] {
  return [
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
          const isEmpty = ring.last === 0;
          response.set({
            'X-Platform-Audit-First': String(isEmpty ? 0 : ring.first),
            'X-Platform-Audit-Last': String(ring.last),
            'X-Platform-Audit-Dropped': String(ring.dropped),
          });
          response.json(since === null ? ring.newest(limit) : ring.after(since, limit));
        },
      ],
    },
    {
      method: 'POST',
      path: '/events',
      summary:
        'Body `{requestId, events[], agentName?}`, at most 64 KiB and 500 events. 200 `{requestId, found: true, opaViolations[]}`; 202 `{requestId, found: false}` for a request that is not in the ring; 400 with `errors`, and nothing is recorded.',
      handlers: [
        jsonBody(EVENT_BATCH_LIMITS.bytes),
        async (request, response) => {
          const parsed = parseEventBatch(request.body as unknown);
          if (!parsed.ok)
            throw new Problem(400, 'the event batch is not valid', { extra: { errors: parsed.errors } });
          const { requestId } = parsed.value;
          const entry = audit.recordEvents(parsed.value);
          if (entry === null) response.status(202).json({ requestId, found: false });
          else {
            // Without an event there is nothing that the engine has not been told.
            const isNews = parsed.value.events.length > 0;
            const opaViolations = isNews ? await policy.review(entry) : (entry.policyViolations ?? []);
            response.json({ requestId, found: true, opaViolations });
          }
        },
      ],
    },
  ];
}

function limitOf(request: Request): number | undefined {
  const { limit } = request.query;
  if (limit === undefined) return undefined;
  if (typeof limit !== 'string' || !/^[1-9]\d{0,8}$/.test(limit))
    throw new Problem(400, 'limit must be a positive integer');
  return Number(limit);
}

/** The seq after which entries are wanted: all digits are a seq, anything else an id; an id that is unknown starts from the oldest. */
function sinceOf(request: Request, ring: AuditRing): number | null {
  const { since } = request.query;
  if (since === undefined) return null;
  if (typeof since !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(since))
    throw new Problem(400, 'since must be a seq or a request id');
  return /^\d+$/.test(since) ? Number(since) : (ring.find(since)?.seq ?? 0);
}
