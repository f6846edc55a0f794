import type { LaneKind } from './lanes.ts';

/** Routes of vendors that lanes know and do not read, in every mode. Placeholders are in braces. */
export interface UnreadRoutes {
  what: string;
  lanes: readonly LaneKind[];
  /** Method and path at the vendor. */
  routes: readonly string[];
}

const LIKE_OPENAI: readonly LaneKind[] = ['openai', 'groq', 'mistral', 'compatible'];

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
  {
    what: 'texts, media, agents and files of Azure',
    lanes: ['azure'],
    routes: [
      ...['POST /openai/deployments/{deployment}/completions', 'POST /openai/assistants'],
      ...['POST /openai/deployments/{deployment}/images/generations', 'POST /openai/files'],
      ...['POST /openai/deployments/{deployment}/audio/transcriptions', 'GET /openai/models'],
    ],
  },
  {
    what: 'batches, counts of tokens and files of Anthropic',
    lanes: ['anthropic'],
    routes: [
      ...['POST /v1/messages/batches', 'POST /v1/messages/count_tokens', 'POST /v1/complete'],
      ...['POST /v1/files', 'GET /v1/models'],
    ],
  },
  {
    what: 'embeddings, media, batches, caches and files of Gemini',
    lanes: ['gemini'],
    routes: [
      ...['POST /v1beta/models/{model}:embedContent', 'POST /v1beta/models/{model}:batchGenerateContent'],
      ...['POST /v1beta/models/{model}:countTokens', 'POST /v1beta/models/{model}:predict'],
      ...['POST /v1beta/cachedContents', 'POST /v1beta/files', 'GET /v1beta/models'],
    ],
  },
  {
    what: 'predictions, batches and caches of Vertex, and models of other publishers',
    lanes: ['vertex'],
    routes: [
      ...['POST /v1/projects/{project}/locations/{location}/publishers/google/models/{model}:predict'],
      ...['POST /v1/projects/{project}/locations/{location}/publishers/mistralai/models/{model}:rawPredict'],
      ...['POST /v1/projects/{project}/locations/{location}/batchPredictionJobs'],
      ...['POST /v1/projects/{project}/locations/{location}/cachedContents'],
    ],
  },
  {
    what: 'embeddings, scores and the older API of Cohere',
    lanes: ['cohere'],
    routes: ['POST /v2/embed', 'POST /v2/rerank', 'POST /v1/chat', 'POST /v1/generate', 'GET /v1/models'],
  },
  {
    what: 'embeddings and models of Ollama',
    lanes: ['ollama'],
    routes: [
      ...['POST /api/embed', 'POST /api/show', 'POST /api/pull', 'POST /api/create'],
      ...['GET /api/tags', 'GET /api/ps'],
    ],
  },
];
