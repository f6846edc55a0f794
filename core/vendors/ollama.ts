import { added, OPENAI_ROUTES, openAiLike } from './openai-like.ts';
import type { UnreadVendorRoutes, Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: [],
  api: openAiLike('http://localhost:11434/v1'),
  lane: {
    id: 'ollama',
    errors: 'ollama',
    upstream: 'http://127.0.0.1:11434',
    endings: [],
    variables: [added('OLLAMA_HOST'), added('OLLAMA_API_BASE')],
    bareHostPort: 11434,
    prefix: { pattern: '/(?:api|v1)', canonical: '/api', resources: /^\/(?:chat|generate|embed|tags|show)$/ },
    routes: [...OPENAI_ROUTES, { path: /\/api\/(?:chat|generate)$/, wire: 'ollama' }],
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  names: ['ollama_chat'],
  host: /:11434\b/,
  libraries: [{ name: 'ollama', language: 'any', imports: /^ollama(?:[./]|$)/ }],
  methods: [{ modules: 'ollama', path: '(?:chat|generate)' }],
  langchain: 'ChatOllama',
};

export const unread: UnreadVendorRoutes = {
  what: 'embeddings and models of Ollama',
  routes: [
    ...['POST /api/embed', 'POST /api/show', 'POST /api/pull', 'POST /api/create'],
    ...['GET /api/tags', 'GET /api/ps'],
  ],
};
