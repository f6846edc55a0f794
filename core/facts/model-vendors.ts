/** Addresses of a model vendor's API. */
export interface ModelVendor {
  /** null: the address differs between customers. */
  baseUrl: string | null;
  /** The cheapest GET that requires the key, appended to the base URL. */
  checkPath: string;
  /** The header that contains the key; `authorization` as bearer token. */
  keyHeader: 'authorization' | 'x-api-key' | 'x-goog-api-key' | 'api-key';
  /** Other headers of the check. */
  headers: Readonly<Record<string, string>>;
  /** Statuses in addition to 401 and 403 that mean a rejected key. */
  rejected: readonly number[];
  /** The API that is compatible with OpenAI's chat completions, appended to the base URL; null: none at that address. */
  openAiPath: string | null;
}

const openAiLike = (baseUrl: string | null, checkPath = '/models'): ModelVendor => ({
  baseUrl,
  checkPath,
  keyHeader: 'authorization',
  headers: {},
  rejected: [],
  openAiPath: '',
});

/** Vendors by provider name. */
export const MODEL_VENDORS: Readonly<Record<string, ModelVendor>> = {
  openai: openAiLike('https://api.openai.com/v1'),
  anthropic: {
    ...openAiLike('https://api.anthropic.com', '/v1/models'),
    keyHeader: 'x-api-key',
    headers: { 'anthropic-version': '2023-06-01' },
    openAiPath: '/v1',
  },
  google: {
    ...openAiLike('https://generativelanguage.googleapis.com', '/v1beta/models'),
    keyHeader: 'x-goog-api-key',
    // Google rejects an invalid key with 400 API_KEY_INVALID.
    rejected: [400],
    openAiPath: '/v1beta/openai',
  },
  mistral: openAiLike('https://api.mistral.ai/v1'),
  groq: openAiLike('https://api.groq.com/openai/v1'),
  cohere: { ...openAiLike('https://api.cohere.com/v1'), openAiPath: null },
  deepseek: openAiLike('https://api.deepseek.com'),
  xai: openAiLike('https://api.x.ai/v1'),
  together: openAiLike('https://api.together.xyz/v1'),
  // The model list is public there, so it does not verify the key.
  openrouter: openAiLike('https://openrouter.ai/api/v1', '/key'),
  ollama: openAiLike('http://localhost:11434/v1'),
  azure: {
    ...openAiLike(null, '/openai/models?api-version=2024-10-21'),
    keyHeader: 'api-key',
    openAiPath: '/openai/v1',
  },
};

/** Other common names of the vendors above. */
export const VENDOR_ALIASES: Readonly<Record<string, string>> = {
  gemini: 'google',
  'google-genai': 'google',
  mistralai: 'mistral',
  'x-ai': 'xai',
  grok: 'xai',
  togetherai: 'together',
  'azure-openai': 'azure',
};

/** Variables of the vendor's own clients, which lead to an egress lane, and what follows their values in the base URL. */
const CLIENT_VARIABLES: Readonly<Record<string, { name: string; path: string }>> = {
  google: { name: 'GOOGLE_GEMINI_BASE_URL', path: '' },
  cohere: { name: 'CO_API_URL', path: '/v1' },
};

/**
 * The vendor of a declared provider, and the variable that replaces its base URL. `client`: a variable that counts without it. An unknown
 * vendor is like OpenAI.
 */
export function modelVendorOf(provider: string): {
  vendor: ModelVendor;
  variable: string;
  client?: { name: string; path: string };
} {
  const folded = provider.trim().toLowerCase();
  const name = Object.hasOwn(VENDOR_ALIASES, folded) ? (VENDOR_ALIASES[folded] ?? folded) : folded;
  const known = Object.hasOwn(MODEL_VENDORS, name) ? MODEL_VENDORS[name] : undefined;
  const variable =
    name === 'azure'
      ? 'AZURE_OPENAI_ENDPOINT'
      : `${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_BASE_URL`;
  const client = Object.hasOwn(CLIENT_VARIABLES, name) ? CLIENT_VARIABLES[name] : undefined;
  return { vendor: known ?? openAiLike(null), variable, ...(client && { client }) };
}
