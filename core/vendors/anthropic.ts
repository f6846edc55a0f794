import { added, openAiLike, rewritten, VERSION } from './openai-like.ts';
import type { UnreadVendorRoutes, Vendor, VendorCode, VendorPrices } from './vendor.ts';

export const vendor = {
  aliases: [],
  keys: ['ANTHROPIC_API_KEY'],
  api: {
    ...openAiLike('https://api.anthropic.com', '/v1/models'),
    keyHeader: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
    openAiPath: '/v1',
  },
  lane: {
    id: 'anthropic',
    errors: 'anthropic',
    upstream: 'https://api.anthropic.com',
    endings: ['/v1'],
    variables: [added('ANTHROPIC_BASE_URL'), rewritten('ANTHROPIC_API_BASE')],
    prefix: {
      pattern: VERSION,
      canonical: '/v1',
      resources: /^\/(?:messages|complete|models|files|skills)(?:\/|$)/,
    },
    routes: [{ path: /\/messages$/, wire: 'anthropic' }],
  },
} as const satisfies Vendor;

export const code: VendorCode = {
  names: ['claude'],
  models: /^claude-/,
  firstModel: 'claude-sonnet-4-5',
  libraries: [
    { name: 'anthropic', language: 'python', imports: /^anthropic(?:\.|$)/ },
    {
      name: 'anthropic',
      language: 'javascript',
      imports: /^@anthropic-ai\/(?:sdk|bedrock-sdk|vertex-sdk)(?:\/|$)/,
    },
  ],
  methods: [
    {
      modules: 'anthropic|@anthropic-ai/[\\w-]*sdk',
      path: 'messages\\.(?:create|stream|parse|tool_runner|toolRunner)',
    },
  ],
  langchain: 'ChatAnthropic',
};

export const unread: UnreadVendorRoutes = {
  what: 'batches, counts of tokens and files of Anthropic',
  routes: [
    ...['POST /v1/messages/batches', 'POST /v1/messages/count_tokens', 'POST /v1/complete'],
    ...['POST /v1/files', 'GET /v1/models'],
  ],
};

export const prices: VendorPrices = {
  'claude-fable-5': [10, 50, 1, 12.5],
  'claude-fable-5-1': [10, 50, 0.25, 12.5],
  'claude-mythos-5': [10, 50, 1, 12.5],
  'claude-mythos-5-1': [10, 50, 0.25, 12.5],
  'claude-opus-5-5': [4, 20, 0.2, 5],
  'claude-opus-5': [5, 25, 0.5, 6.25],
  'claude-opus-4-8': [5, 25, 0.5, 6.25],
  'claude-opus-4-7': [5, 25, 0.5, 6.25],
  'claude-opus-4-6': [5, 25, 0.5, 6.25],
  'claude-opus-4-5': [5, 25, 0.5, 6.25],
  'claude-sonnet-5-5': [2, 10, 0.1, 2.5],
  'claude-sonnet-5': [2, 10, 0.2, 2.5],
  'claude-sonnet-4-6': [3, 15, 0.3, 3.75],
  'claude-sonnet-4-5': [3, 15, 0.3, 3.75],
  'claude-haiku-5-5': [0.1, 0.5, 0.01, 0.125],
  'claude-haiku-4-5': [1, 5, 0.1, 1.25],
};
