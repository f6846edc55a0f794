import type { TokenPrice } from '../core/usage/day-totals.ts';
import { integer, withDefault, type ConfigOf, type EnvField, type Summaries } from './env.ts';

const usd = (fallback: string): EnvField<number> =>
  withDefault('an amount of US dollars, such as 0.5', fallback, (raw) =>
    /^\d{1,6}(\.\d{1,4})?$/.test(raw) ? Number(raw) : undefined,
  );

/** The limits of the LLM analysis. The injector passes them to the sidecars. */
export const LLM_LIMIT_FIELDS = {
  LLM_ANALYSIS_TIMEOUT_SECONDS: integer({ min: 5, max: 600, default: 60 }),
  LLM_ANALYSIS_TOKENS_PER_DAY: integer({ min: 1, max: 1_000_000_000, default: 200_000 }),
  LLM_ANALYSIS_USD_PER_DAY: usd('1'),
  LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS: usd('5'),
  LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS: usd('25'),
} as const;

export const LLM_LIMIT_SUMMARIES: Summaries<typeof LLM_LIMIT_FIELDS> = {
  LLM_ANALYSIS_TIMEOUT_SECONDS: 'Seconds until a request of the LLM analysis is cancelled.',
  LLM_ANALYSIS_TOKENS_PER_DAY:
    'Tokens that the LLM analysis of one sidecar may use per UTC day. A restart starts at zero.',
  LLM_ANALYSIS_USD_PER_DAY:
    'US dollars that the LLM analysis of one sidecar may cost per UTC day. A restart starts at zero.',
  LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS:
    'The price of the model for input tokens, from which the cost is computed.',
  LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS: 'The price of the model for output tokens.',
};

export interface LlmAnalysisLimits {
  /** Of one request. */
  timeoutSeconds: number;
  tokensPerDay: number;
  usdPerDay: number;
  usdPerMillionTokens: TokenPrice;
}

export function llmAnalysisLimits(config: ConfigOf<typeof LLM_LIMIT_FIELDS>): LlmAnalysisLimits {
  return {
    timeoutSeconds: config.LLM_ANALYSIS_TIMEOUT_SECONDS,
    tokensPerDay: config.LLM_ANALYSIS_TOKENS_PER_DAY,
    usdPerDay: config.LLM_ANALYSIS_USD_PER_DAY,
    usdPerMillionTokens: {
      input: config.LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS,
      output: config.LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS,
    },
  };
}
