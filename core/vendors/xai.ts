import { added, OPENAI_ROUTES, openAiLike } from './openai-like.ts';
import type { Vendor, VendorCode, VendorPrices } from './vendor.ts';

export const vendor = {
  aliases: ['x-ai', 'grok'],
  keys: ['XAI_API_KEY'],
  api: openAiLike('https://api.x.ai/v1'),
  client: { name: 'XAI_API_BASE', path: '' },
  lane: {
    id: 'xai',
    errors: 'openai',
    upstream: 'https://api.x.ai',
    endings: ['/v1'],
    variables: [added('XAI_API_BASE', '/v1')],
    // LiteLLM lists models below `/v1` of an address that ends in `/v1`.
    prefix: { pattern: '(?:/v1)+', canonical: '/v1', resources: /^\/./, isExact: true },
    routes: OPENAI_ROUTES,
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  models: /^grok-/,
  firstModel: 'grok-4.5',
  langchain: 'ChatXAI',
};

export const prices: VendorPrices = {
  'grok-4.7': [2, 6, 0.5],
  'grok-4.6': [2, 6, 0.5],
  'grok-4.5': [2, 6, 0.3],
  'grok-4.3': [1.25, 2.5, 0.2],
  'grok-4.20': [1.25, 2.5, 0.2],
};
