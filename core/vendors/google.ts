import { added, CHAT, GENERATE_CONTENT, openAiLike, VERSION } from './openai-like.ts';
import type { UnreadVendorRoutes, Vendor, VendorCode, VendorPrices } from './vendor.ts';

export const vendor = {
  aliases: ['gemini', 'google-genai'],
  keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  api: {
    ...openAiLike('https://generativelanguage.googleapis.com', '/v1beta/models'),
    keyHeader: 'x-goog-api-key',
    // Google rejects an invalid key with 400 API_KEY_INVALID.
    rejected: [400],
    openAiPath: '/v1beta/openai',
  },
  client: { name: 'GOOGLE_GEMINI_BASE_URL', path: '' },
  lane: {
    id: 'gemini',
    errors: 'gemini',
    upstream: 'https://generativelanguage.googleapis.com',
    endings: ['/v1beta', '/v1'],
    variables: [added('GOOGLE_GEMINI_BASE_URL'), added('GEMINI_API_BASE')],
    prefix: {
      pattern: VERSION,
      canonical: '/v1beta',
      resources: /^\/(?:models|tunedModels|cachedContents|files|operations)(?:\/|$)/,
    },
    routes: [CHAT, GENERATE_CONTENT],
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  names: ['google-gla', 'google_genai', 'googleai'],
  models: /^gemini-/,
  firstModel: 'gemini-2.5-flash',
  libraries: [
    {
      name: 'google-genai',
      language: 'any',
      imports: /^(?:google\.genai|@google\/genai|google\.generativeai|@google\/generative-ai)(?:[./]|$)/,
    },
  ],
  methods: [
    {
      modules: 'google|google\\.genai|@google/genai',
      path: 'models\\.generate_?[cC]ontent(?:_?[sS]tream)?',
    },
    { modules: '@google/generative-ai', path: 'getGenerativeModel' },
  ],
  constructors: [
    {
      language: 'python',
      name: /^google\.generativeai:GenerativeModel$/,
      ids: ['model_name', 0],
    },
  ],
  langchain: 'ChatGoogleGenerativeAI',
};

export const unread: UnreadVendorRoutes = {
  what: 'embeddings, media, batches, caches and files of Gemini',
  routes: [
    ...['POST /v1beta/models/{model}:embedContent', 'POST /v1beta/models/{model}:batchGenerateContent'],
    ...['POST /v1beta/models/{model}:countTokens', 'POST /v1beta/models/{model}:predict'],
    ...['POST /v1beta/cachedContents', 'POST /v1beta/files', 'GET /v1beta/models'],
  ],
};

export const prices: VendorPrices = {
  'gemini-4-argon': [2, 10, 0.1],
  'gemini-3.8-flash': [0.75, 3.75, 0.075],
  'gemini-3.7-flash': [0.75, 3.75, 0.075],
  'gemini-3.6-flash': [0.75, 3.75, 0.075],
  'gemini-3.5-flash': [1.5, 9, 0.15],
  'gemini-3.5-flash-lite': [0.3, 2.5, 0.03],
  'gemini-3.1-pro-preview': [2, 12, 0.2],
  'gemini-3.1-flash-lite': [0.25, 1.5, 0.025],
  'gemini-3-flash-preview': [0.5, 3, 0.05],
  'gemini-2.5-pro': [1.25, 10, 0.125],
  'gemini-2.5-flash': [0.3, 2.5, 0.03],
  'gemini-2.5-flash-lite': [0.1, 0.4, 0.01],
  'gemini-embedding-001': [0.15, 0],
  'gemini-embedding-2': [0.2, 0],
};
