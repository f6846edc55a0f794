import { added, CHAT, openAiLike, rewritten, VERSION } from './openai-like.ts';
import type { UnreadVendorRoutes, Vendor, VendorCode, VendorPrices } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: ['COHERE_API_KEY', 'CO_API_KEY'],
  api: { ...openAiLike('https://api.cohere.com/v1'), openAiPath: null },
  client: { name: 'CO_API_URL', path: '/v1' },
  lane: {
    id: 'cohere',
    errors: 'cohere',
    upstream: 'https://api.cohere.com',
    endings: ['/v2/chat', '/v2', '/v1'],
    // `COHERE_API_BASE` is the address of chat for one function of LiteLLM, and of the whole API for another, so it is not added.
    variables: [added('CO_API_URL'), rewritten('COHERE_API_BASE')],
    prefix: { pattern: VERSION, canonical: '/v2', resources: /^\/(?:chat|embed|rerank)$/ },
    routes: [CHAT, { path: /\/v2\/chat$/, wire: 'cohere' }],
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  names: ['cohere_chat'],
  host: /^https:\/\/api\.cohere\.(?:com|ai)\b/,
  models: /^command-/,
  firstModel: 'command-a-03-2025',
  libraries: [{ name: 'cohere', language: 'any', imports: /^cohere(?:-ai)?(?:[./]|$)/ }],
  methods: [{ modules: 'cohere|cohere-ai', path: 'chat(?:_stream|Stream)?' }],
  langchain: 'ChatCohere',
};

export const unread: UnreadVendorRoutes = {
  what: 'embeddings, scores and the older API of Cohere',
  routes: ['POST /v2/embed', 'POST /v2/rerank', 'POST /v1/chat', 'POST /v1/generate', 'GET /v1/models'],
};

export const prices: VendorPrices = {
  'command-a': [2.5, 10],
  'command-r-plus': [2.5, 10],
  'command-r': [0.15, 0.6],
  'command-r7b': [0.0375, 0.15],
  'embed-v4.0': [0.12, 0],
};
