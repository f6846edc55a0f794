import { OPENAI_ROUTES, openAiLike, rewritten } from './openai-like.ts';
import type { UnreadVendorRoutes, Vendor, VendorCode } from './vendor.ts';

export const vendor = {
  aliases: ['azure-openai'],
  keys: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
  api: {
    ...openAiLike(null, '/openai/models?api-version=2024-10-21'),
    keyHeader: 'api-key',
    openAiPath: '/openai/v1',
  },
  variable: 'AZURE_OPENAI_ENDPOINT',
  lane: {
    id: 'azure',
    errors: 'openai',
    upstream: null,
    endings: ['/openai/v1'],
    variables: [rewritten('AZURE_OPENAI_ENDPOINT'), rewritten('AZURE_API_BASE')],
    prefix: { pattern: '/openai', canonical: '/openai', resources: /^\/deployments\// },
    routes: OPENAI_ROUTES,
    isGateway: true,
    // The first version with `stream_options`.
    usageOption: { since: '2024-09-01' },
  },
} as const satisfies Vendor;

/** The beginnings of the names of variables that only agents with Azure OpenAI have. */
export const AZURE_VARIABLES: readonly string[] = [
  'AZURE_OPENAI_',
  'AZURE_API_',
  'OPENAI_API_VERSION',
  'OPENAI_API_TYPE',
];

export const code: VendorCode = {
  names: ['azure_openai', 'azure_ai', 'azureopenai'],
  host: /\.openai\.azure\.com\b/,
  langchain: 'AzureChatOpenAI',
};

export const unread: UnreadVendorRoutes = {
  what: 'texts, media, agents and files of Azure',
  routes: [
    ...['POST /openai/deployments/{deployment}/completions', 'POST /openai/assistants'],
    ...['POST /openai/deployments/{deployment}/images/generations', 'POST /openai/files'],
    ...['POST /openai/deployments/{deployment}/audio/transcriptions', 'GET /openai/models'],
  ],
};
