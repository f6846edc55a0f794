/** Providers with an API key, and the variables of the key and the address. A sidecar never uses the login of a vendor's CLI. */
export const ANALYSIS_PROVIDERS = {
  'anthropic-api': { key: 'ANTHROPIC_API_KEY', baseUrl: 'ANTHROPIC_BASE_URL' },
  'openai-api': { key: 'OPENAI_API_KEY', baseUrl: 'OPENAI_BASE_URL' },
  'openai-compatible': { key: 'PLATFORM_LLM_API_KEY', baseUrl: 'PLATFORM_LLM_BASE_URL' },
} as const;

export type AnalysisProvider = keyof typeof ANALYSIS_PROVIDERS;

export const ANALYSIS_PROVIDER_NAMES = Object.keys(ANALYSIS_PROVIDERS) as AnalysisProvider[];

const ADDRESS = '^{llmBaseUrl}$';
const USD = '^[0-9]{1,6}([.][0-9]{1,4})?$';

/**
 * The variables of the analysis in an injected sidecar, except the key, and the RE2 pattern of each for the guard. The chart fills
 * in the placeholders in braces.
 */
export const ANALYSIS_VARIABLES = {
  LLM_ANALYSIS_PROVIDER: '^{llmProvider}$',
  PLATFORM_LLM_MODEL: '^{llmModel}$',
  ANTHROPIC_BASE_URL: ADDRESS,
  OPENAI_BASE_URL: ADDRESS,
  PLATFORM_LLM_BASE_URL: ADDRESS,
  LLM_ANALYSIS_TIMEOUT_SECONDS: '^[1-9][0-9]{0,2}$',
  LLM_ANALYSIS_TOKENS_PER_DAY: '^[1-9][0-9]{0,9}$',
  LLM_ANALYSIS_USD_PER_DAY: USD,
  LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS: USD,
  LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS: USD,
} as const;
