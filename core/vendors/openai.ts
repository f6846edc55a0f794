import { added, OPENAI_PREFIX, OPENAI_ROUTES, openAiLike, rewritten } from './openai-like.ts';
import type { Vendor, VendorCode, VendorPrices } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: ['OPENAI_API_KEY'],
  api: openAiLike('https://api.openai.com/v1'),
  lane: {
    id: 'openai',
    errors: 'openai',
    upstream: 'https://api.openai.com',
    endings: ['/v1'],
    variables: [{ ...added('OPENAI_BASE_URL', '/v1'), isWrongWithAzure: true }, rewritten('OPENAI_API_BASE')],
    prefix: OPENAI_PREFIX,
    routes: OPENAI_ROUTES,
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  names: ['openai-chat', 'openai-responses'],
  models: /^(?:gpt-|chatgpt-|o[1-9](?:-|$)|ft:gpt-)/,
  firstModel: 'gpt-4.1-mini',
  libraries: [{ name: 'openai', language: 'any', imports: /^openai(?:[./]|$)/ }],
  methods: [
    { modules: 'openai', path: '(?:chat\\.completions|responses)\\.(?:create|parse|stream|runTools)' },
  ],
  langchain: 'ChatOpenAI',
};

export const prices: VendorPrices = {
  'gpt-6.1-sol': [2, 10, 0.1, 2.5],
  'gpt-6-sol': [2, 10, 0.2, 2.5],
  'gpt-6-luna': [0.1, 0.5, 0.01, 0.125],
  'gpt-6-astra': [10, 50, 1, 12.5],
  'gpt-5.6': [4, 20, 0.4, 5],
  'gpt-5.6-sol': [4, 20, 0.4, 5],
  'gpt-5.6-terra': [2, 12, 0.2, 2.5],
  'gpt-5.6-luna': [0.2, 1.2, 0.02, 0.25],
  'gpt-5.5': [5, 30, 0.5],
  'gpt-5.5-pro': [30, 180],
  'gpt-5.4': [2.5, 15, 0.25],
  'gpt-5.4-mini': [0.75, 4.5, 0.075],
  'gpt-5.4-nano': [0.2, 1.25, 0.02],
  'gpt-5.4-pro': [30, 180],
  'gpt-5.3-codex': [1.75, 14, 0.175],
  'gpt-5.2': [1.75, 14, 0.175],
  'gpt-5.2-pro': [21, 168],
  'gpt-5.1': [1.25, 10, 0.125],
  'gpt-5': [1.25, 10, 0.125],
  'gpt-5-mini': [0.25, 2, 0.025],
  'gpt-5-nano': [0.05, 0.4, 0.005],
  'gpt-5-pro': [15, 120],
  'gpt-4.1': [2, 8, 0.5],
  'gpt-4.1-mini': [0.4, 1.6, 0.1],
  'gpt-4.1-nano': [0.1, 0.4, 0.025],
  'gpt-4o': [2.5, 10, 1.25],
  'gpt-4o-2024-05-13': [5, 15],
  'gpt-4o-mini': [0.15, 0.6, 0.075],
  o1: [15, 60, 7.5],
  o3: [2, 8, 0.5],
  'o3-mini': [1.1, 4.4, 0.55],
  'o3-pro': [20, 80],
  'o4-mini': [1.1, 4.4, 0.275],
  'text-embedding-3-small': [0.02, 0],
  'text-embedding-3-large': [0.13, 0],
};
