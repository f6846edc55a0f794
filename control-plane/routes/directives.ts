import { EVENT_STREAM_HEADERS } from '../../runtime/event-stream.ts';
import { callerOf } from '../auth/caller.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import { DirectiveStreams, MAX_DIRECTIVE_STREAMS, MAX_OF_SENDER } from '../stops/directive-streams.ts';
import { matching, readQuery } from './query.ts';

/** SHA-256, hex. */
const HASH = /^[0-9a-f]{64}$/;

const QUERY = {
  manifestHash: matching((raw) => HASH.test(raw), {
    what: 'a SHA-256 hash of 64 hexadecimal digits',
    schema: { pattern: HASH.source },
    description: 'Hash of the manifest of the sender.',
  }),
};

/** What sidecars should apply, as server-sent events. */
export function directiveRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  let streams: DirectiveStreams | null = null;
  context.metrics.gauge(
    'platform_control_plane_directive_streams',
    'Open streams of directives, one of each connected sidecar.',
    () => [{ value: streams?.size ?? 0 }],
  );
  return [
    {
      method: 'GET',
      path: '/api/v1/directives',
      access: 'bearer',
      summary: `Server-sent events \`directives\` \`{revision, stop, organisation?}\` for the agent of the key. The first event has the whole state, the next ones each change; an absent \`organisation\` changes nothing. \`stop\` is null if the agent may run. A comment line every 15 seconds keeps the connection open. A client that does not read is disconnected, and a stream ends after about an hour. Query: \`?manifestHash=\`. 429 above ${MAX_OF_SENDER.pod} streams of one pod or ${MAX_OF_SENDER.registered} of one registered agent. 503 for more than ${MAX_DIRECTIVE_STREAMS} streams, and until the stops are known.`,
      operation: {
        id: 'streamDirectives',
        query: QUERY,
        responses: {
          200: {
            description: 'The events, until either side closes the connection.',
            contentType: 'text/event-stream',
            schema: 'DirectiveStream',
          },
          429: {
            description: 'The sender has too many streams, or this address sent too many invalid tokens.',
            headers: { 'Retry-After': 'Seconds to wait.' },
          },
          503: {
            description: `There are ${MAX_DIRECTIVE_STREAMS} streams, the stops are not known, or the key cannot be verified.`,
            headers: { 'Retry-After': 'Seconds to wait.' },
          },
        },
      },
      handlers: [
        (request, response) => {
          const caller = callerOf(response);
          const { manifestHash = null } = readQuery(request, QUERY);
          streams ??= new DirectiveStreams(context);
          if (request.method === 'HEAD') {
            streams.check(caller);
            response.writeHead(200, EVENT_STREAM_HEADERS).end();
          } else streams.connect(response, { caller, manifestHash });
        },
      ],
    },
  ];
}
