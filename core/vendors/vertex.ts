import { CHAT, GENERATE_CONTENT, rewritten, VERSION } from './openai-like.ts';
import type { UnreadVendorRoutes, Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: ['GOOGLE_APPLICATION_CREDENTIALS'],
  // The address depends on the region, and the credentials are no key.
  api: null,
  lane: {
    id: 'vertex',
    errors: 'gemini',
    upstream: null,
    endings: ['/v1beta1', '/v1'],
    variables: [rewritten('GOOGLE_VERTEX_BASE_URL'), rewritten('ANTHROPIC_VERTEX_BASE_URL')],
    prefix: { pattern: VERSION, canonical: '/v1', resources: /^\/projects\// },
    routes: [
      CHAT,
      GENERATE_CONTENT,
      {
        path: /\/publishers\/anthropic\/models\/(?<model>[^/:]+):(?:(?<stream>streamRawPredict)|rawPredict)$/,
        wire: 'anthropic',
      },
    ],
    alsoOf: 'google',
    isGateway: true,
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  names: ['vertex_ai', 'google-vertex', 'google_vertexai', 'vertexai'],
  host: /aiplatform\.googleapis\.com\b/,
  langchain: 'ChatVertexAI',
};

export const unread: UnreadVendorRoutes = {
  what: 'predictions, batches and caches of Vertex, and models of other publishers',
  routes: [
    ...['POST /v1/projects/{project}/locations/{location}/publishers/google/models/{model}:predict'],
    ...['POST /v1/projects/{project}/locations/{location}/publishers/mistralai/models/{model}:rawPredict'],
    ...['POST /v1/projects/{project}/locations/{location}/batchPredictionJobs'],
    ...['POST /v1/projects/{project}/locations/{location}/cachedContents'],
  ],
};
