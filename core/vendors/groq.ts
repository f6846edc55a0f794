import { added, OPENAI_ROUTES, openAiLike } from './openai-like.ts';
import type { Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: ['GROQ_API_KEY'],
  api: openAiLike('https://api.groq.com/openai/v1'),
  lane: {
    id: 'groq',
    errors: 'openai',
    upstream: 'https://api.groq.com',
    endings: ['/openai/v1'],
    variables: [added('GROQ_BASE_URL'), added('GROQ_API_BASE')],
    prefix: {
      pattern: '(?:/openai)?/v1',
      canonical: '/openai/v1',
      resources: /^\/(?:chat|responses|embeddings|models|audio)(?:\/|$)/,
      isExact: true,
    },
    routes: OPENAI_ROUTES,
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  firstModel: 'llama-3.3-70b-versatile',
  libraries: [{ name: 'groq', language: 'any', imports: /^groq(?:-sdk)?(?:[./]|$)/ }],
  methods: [{ modules: 'groq|groq-sdk', path: 'chat\\.completions\\.create' }],
  langchain: 'ChatGroq',
};
