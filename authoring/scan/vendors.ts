import type { Setting } from './code.ts';

interface Vendor {
  /** Value of `provider` in a manifest. */
  provider: string;
  /** Other names of the vendor in front of model ids and in names of packages. */
  aliases: readonly string[];
  /** Variables of the API key that the vendor's libraries read, the common one first; empty: there is no key. */
  keys: readonly string[];
  /** Part of the address of the API. */
  host?: RegExp;
  /** Names of models that only this vendor has. */
  models?: RegExp;
}

const VENDORS: readonly Vendor[] = [
  {
    provider: 'openai',
    aliases: ['openai-chat', 'openai-responses'],
    keys: ['OPENAI_API_KEY'],
    host: /^https:\/\/api\.openai\.com\b/,
    models: /^(?:gpt-|chatgpt-|o[1-9](?:-|$)|ft:gpt-)/,
  },
  {
    provider: 'anthropic',
    aliases: ['claude'],
    keys: ['ANTHROPIC_API_KEY'],
    host: /^https:\/\/api\.anthropic\.com\b/,
    models: /^claude-/,
  },
  {
    provider: 'google',
    aliases: ['gemini', 'google-gla', 'google_genai', 'google-genai', 'googleai'],
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    host: /^https:\/\/generativelanguage\.googleapis\.com\b/,
    models: /^gemini-/,
  },
  {
    provider: 'vertex',
    aliases: ['vertex_ai', 'google-vertex', 'google_vertexai', 'vertexai'],
    keys: ['GOOGLE_APPLICATION_CREDENTIALS'],
    host: /aiplatform\.googleapis\.com\b/,
  },
  {
    provider: 'azure',
    aliases: ['azure_openai', 'azure-openai', 'azure_ai', 'azureopenai'],
    keys: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    host: /\.openai\.azure\.com\b/,
  },
  {
    provider: 'bedrock',
    aliases: ['bedrock_converse', 'amazon-bedrock', 'amazon_bedrock', 'aws'],
    keys: ['AWS_BEARER_TOKEN_BEDROCK', 'AWS_ACCESS_KEY_ID'],
  },
  {
    provider: 'mistral',
    aliases: ['mistralai'],
    keys: ['MISTRAL_API_KEY'],
    host: /^https:\/\/api\.mistral\.ai\b/,
    models: /^(?:mistral-|codestral-|ministral-|magistral-|pixtral-)/,
  },
  { provider: 'groq', aliases: [], keys: ['GROQ_API_KEY'], host: /^https:\/\/api\.groq\.com\b/ },
  {
    provider: 'cohere',
    aliases: ['cohere_chat'],
    keys: ['COHERE_API_KEY', 'CO_API_KEY'],
    host: /^https:\/\/api\.cohere\.(?:com|ai)\b/,
    models: /^command-/,
  },
  {
    provider: 'deepseek',
    aliases: [],
    keys: ['DEEPSEEK_API_KEY'],
    host: /^https:\/\/api\.deepseek\.com\b/,
    models: /^deepseek-(?:chat|reasoner)/,
  },
  {
    provider: 'xai',
    aliases: ['grok', 'x-ai'],
    keys: ['XAI_API_KEY'],
    host: /^https:\/\/api\.x\.ai\b/,
    models: /^grok-/,
  },
  {
    provider: 'together',
    aliases: ['together_ai', 'togetherai'],
    keys: ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY'],
    host: /^https:\/\/api\.together\.(?:xyz|ai)\b/,
  },
  {
    provider: 'openrouter',
    aliases: [],
    keys: ['OPENROUTER_API_KEY'],
    host: /^https:\/\/openrouter\.ai\b/,
  },
  { provider: 'ollama', aliases: ['ollama_chat'], keys: [], host: /:11434\b/ },
];

const BY_NAME: ReadonlyMap<string, Vendor> = new Map(
  VENDORS.flatMap((vendor) => [vendor.provider, ...vendor.aliases].map((name) => [name, vendor] as const)),
);

/** Splits `openai:gpt-4o` and `openai/gpt-4o`, and derives the vendor from the name of a model that only one vendor has. */
export function splitModel(text: string | null): { provider: string | null; id: string | null } {
  if (text === null) return { provider: null, id: null };
  const [, prefix = '', rest = ''] = /^([\w-]+)[:/](.+)$/.exec(text) ?? [];
  const named = BY_NAME.get(prefix.toLowerCase());
  if (named !== undefined) return { provider: named.provider, id: rest };
  return { provider: VENDORS.find(({ models }) => models?.test(text))?.provider ?? null, id: text };
}

/** The vendor whose API has an address; null: the address is not known. */
export function providerAtUrl({ text }: Setting): string | null {
  if (text === null) return null;
  return VENDORS.find(({ host }) => host?.test(text))?.provider ?? null;
}

/** Variables of the API key that the libraries of a vendor read; null: the vendor is not known. */
export const keyVariables = (provider: string): readonly string[] | null =>
  BY_NAME.get(provider)?.keys ?? null;
