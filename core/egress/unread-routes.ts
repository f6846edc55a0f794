import type { UnreadVendorRoutes } from '../vendors/vendor.ts';
import { VENDOR_UNREAD } from '../vendors/vendors.ts';
import { VENDOR_LANES } from './lane-variables.ts';
import type { LaneKind } from './lanes.ts';

/** Routes of vendors that lanes know and do not read, in every mode. */
export interface UnreadRoutes extends UnreadVendorRoutes {
  lanes: readonly LaneKind[];
}

/** The lanes of vendors with a public address and OpenAI's API only. */
const LIKE_OPENAI: readonly LaneKind[] = [
  ...Object.values(VENDOR_LANES).flatMap(({ id, errors, upstream }) =>
    errors === 'openai' && upstream !== null ? [id as LaneKind] : [],
  ),
  'compatible',
];

export const UNREAD_ROUTES: readonly UnreadRoutes[] = [
  {
    what: 'completions of a text, the older API',
    lanes: [...LIKE_OPENAI, 'ollama'],
    routes: ['POST /v1/completions', 'POST /v1/fim/completions'],
  },
  {
    what: 'images, audio and video; files are sent as a form',
    lanes: LIKE_OPENAI,
    routes: [
      ...['POST /v1/images/generations', 'POST /v1/images/edits', 'POST /v1/audio/speech'],
      ...['POST /v1/audio/transcriptions', 'POST /v1/audio/translations', 'POST /v1/videos', 'POST /v1/ocr'],
    ],
  },
  {
    what: 'agents and conversations that the vendor keeps',
    lanes: LIKE_OPENAI,
    routes: [
      ...['POST /v1/assistants', 'POST /v1/threads/{id}/runs', 'POST /v1/conversations'],
      ...['POST /v1/agents/completions', 'GET /v1/responses/{id}', 'POST /v1/responses/compact'],
    ],
  },
  {
    what: 'files, and calls that run later',
    lanes: LIKE_OPENAI,
    routes: ['POST /v1/files', 'POST /v1/batches', 'POST /v1/fine_tuning/jobs', 'POST /v1/vector_stores'],
  },
  {
    what: 'checks, scores and lists of models',
    lanes: LIKE_OPENAI,
    routes: ['POST /v1/moderations', 'POST /v1/rerank', 'GET /v1/models'],
  },
  {
    what: 'models of Amazon Bedrock',
    lanes: ['compatible'],
    routes: ['POST /model/{model}/converse', 'POST /model/{model}/invoke'],
  },
  {
    what: "Anthropic's messages on lanes of other vendors",
    lanes: [...LIKE_OPENAI, 'ollama'],
    routes: ['POST /v1/messages'],
  },
  ...Object.entries(VENDOR_UNREAD).map(([lane, { what, routes }]) => ({
    ...{ what, routes },
    lanes: [lane as LaneKind],
  })),
];
