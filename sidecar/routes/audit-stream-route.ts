import { Problem } from '../../runtime/problem.ts';
import type { Route } from '../../runtime/http-app.ts';
import { AuditStreams, MAX_STREAMS } from '../audit/audit-streams.ts';
import type { SidecarContext } from '../context.ts';
import { ringHeaders, streamStartOf } from './audit-query.ts';

/** The audit ring as server-sent events. */
export function auditStreamRoute({ audit, clock, stopping }: SidecarContext): Route {
  let streams: AuditStreams | null = null;
  return {
    method: 'GET',
    path: '/audit/stream',
    summary: `Server-sent events: the completed entries of \`GET /audit\` (same query), then each entry as it completes, once each, in order of completion. \`entry\` (\`id\` = seq), \`update\` (a late event came to it), \`gap\` \`{lost}\` (the reader was too slow). \`Last-Event-ID\` goes on after that entry. 503 for more than ${MAX_STREAMS} readers.`,
    handlers: [
      (request, response) => {
        const start = streamStartOf(request, audit.ring);
        streams ??= new AuditStreams({ audit, clock, signal: stopping.signal });
        if (streams.isFull)
          throw new Problem(503, `there are ${MAX_STREAMS} readers of the stream already`, {
            headers: { 'Retry-After': '10' },
          });
        response.writeHead(200, {
          'Content-Type': 'text/event-stream',
          'Cache-Control': 'no-store, no-transform',
          // The connection ends with the stream, which holds up no shutdown then.
          Connection: 'close',
          // nginx would collect the answer.
          'X-Accel-Buffering': 'no',
          ...ringHeaders(audit.ring),
        });
        if (request.method === 'HEAD') response.end();
        else streams.connect(response, start);
      },
    ],
  };
}
