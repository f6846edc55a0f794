import { Problem } from '../../runtime/problem.ts';
import { AuditStreams, MAX_STREAMS } from '../audit/audit-streams.ts';
import type { SidecarRoute } from '../access.ts';
import type { SidecarContext } from '../context.ts';
import { ringHeaders, streamStartOf } from './audit-query.ts';

/** The audit ring as server-sent events. */
export function auditStreamRoute({ audit, clock, stopping }: SidecarContext): SidecarRoute {
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
