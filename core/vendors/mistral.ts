import { added, OPENAI_PREFIX, OPENAI_ROUTES, openAiLike } from './openai-like.ts';
import type { Vendor, VendorCode, VendorPrices } from './vendor.ts';

export const vendor = {
  aliases: ['mistralai'],
  keys: ['MISTRAL_API_KEY'],
  api: openAiLike('https://api.mistral.ai/v1'),
  lane: {
    id: 'mistral',
    errors: 'openai',
    upstream: 'https://api.mistral.ai',
    endings: ['/v1'],
    variables: [added('MISTRAL_BASE_URL', '/v1'), added('MISTRAL_AZURE_API_BASE', '/v1')],
    prefix: OPENAI_PREFIX,
    routes: OPENAI_ROUTES,
    // Unknown options are rejected, and the usage is always stated.
    usageOption: 'not-accepted',
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  models: /^(?:mistral-|codestral-|ministral-|magistral-|pixtral-)/,
  firstModel: 'mistral-small-latest',
  libraries: [
    { name: 'mistral', language: 'any', imports: /^(?:mistralai|@mistralai\/mistralai)(?:[./]|$)/ },
  ],
  methods: [{ modules: 'mistralai|@mistralai/mistralai', path: 'chat\\.(?:complete|stream)(?:_async)?' }],
  langchain: 'ChatMistralAI',
};

export const prices: VendorPrices = {
  'mistral-large-4': [0.68, 2.09, 0.068],
  'mistral-large': [0.5, 1.5, 0.05],
  'mistral-medium': [1.5, 7.5, 0.15],
  'mistral-small': [0.15, 0.6, 0.015],
  'ministral-14b': [0.2, 0.2, 0.02],
  'ministral-8b': [0.15, 0.15, 0.015],
  'ministral-3b': [0.1, 0.1, 0.01],
  'magistral-medium': [1.5, 7.5, 0.15],
  'magistral-small': [0.15, 0.6, 0.015],
  'devstral-medium': [0.4, 2, 0.04],
  'devstral-small': [0.1, 0.3, 0.01],
  codestral: [0.3, 0.9, 0.03],
  'mistral-embed': [0.1, 0],
};
