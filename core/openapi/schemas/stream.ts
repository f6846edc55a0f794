import { ref } from '../../untrusted/json-schema.ts';
import type { JsonSchema } from '../../untrusted/json-schema.ts';

/** Schemas of `GET /stream`. */
export const STREAM_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  FleetStream: {
    description:
      'Server-sent events: `ready` with an empty object, then `agents` with the data of `contentSchema`. Lines that start with a colon are comments.',
    type: 'string',
    contentMediaType: 'text/event-stream',
    contentSchema: ref('FleetEvent'),
  },
};
