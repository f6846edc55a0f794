import type { AnalysisState } from '../../core/shapes/analysis-state.ts';
import type { AnalysisProvider } from '../../core/injection/analysis-settings.ts';
import { checkAnthropic } from '../../llm/anthropic.ts';
import { checkCompatible, checkOpenai } from '../../llm/openai.ts';
import type { Readiness } from '../../llm/provider.ts';
import type { Environment } from '../../runtime/env.ts';
import { llmAnalysisLimits } from '../../runtime/llm-analysis-fields.ts';
import type { SidecarConfig } from '../config.ts';
import { LlmAnalysis, type LlmAnalysisOptions } from './llm-analysis.ts';

/** Adds what the LLM analysis knows to the gap reports. */
export interface GapReviews {
  review: LlmAnalysis['review'];
  /** null: the analysis is off. */
  analysis: LlmAnalysis | null;
}

/** Only API keys: the sidecar starts no command-line tool of a vendor. The vendor's library is loaded for the first request. */
const CHECKS: Readonly<Record<AnalysisProvider, (env: Environment) => Readiness>> = {
  'anthropic-api': checkAnthropic,
  'openai-api': checkOpenai,
  'openai-compatible': checkCompatible,
};

/** The LLM analysis. Without a usable key it is off: it returns every report unchanged and sends no request. */
export function createLlmAnalysis({
  config,
  ...options
}: Pick<LlmAnalysisOptions, 'clock' | 'logger' | 'signal'> & { config: SidecarConfig }): GapReviews {
  const { LLM_ANALYSIS_PROVIDER: name } = config;
  if (name === 'off') return off(null);
  const found = CHECKS[name](environmentOf(config));
  if (!found.ready) {
    options.logger.warn('LLM analysis off', { provider: name, reason: found.reason });
    return off(found.reason);
  }
  const { provider } = found;
  const limits = llmAnalysisLimits(config);
  options.logger.info('LLM analysis on', { provider: name, model: provider.model, ...limits });
  const analysis = new LlmAnalysis({ ...options, provider, limits });
  return { analysis, review: (...report) => analysis.review(...report) };
}

function off(reason: string | null): GapReviews {
  const llm: AnalysisState = { status: 'off', model: null, analysedAt: null, reason };
  return { analysis: null, review: (_manifest, _facts, gap) => ({ gap, llm }) };
}

/** The variables that the providers read. */
function environmentOf(config: SidecarConfig): Environment {
  // `echo` leaves a line feed at the end of a Secret.
  const keyOf = (key: SidecarConfig['ANTHROPIC_API_KEY']): string => key?.reveal().trim() ?? '';
  return {
    ANTHROPIC_API_KEY: keyOf(config.ANTHROPIC_API_KEY),
    ANTHROPIC_BASE_URL: config.ANTHROPIC_BASE_URL ?? '',
    OPENAI_API_KEY: keyOf(config.OPENAI_API_KEY),
    OPENAI_BASE_URL: config.OPENAI_BASE_URL ?? '',
    PLATFORM_LLM_API_KEY: keyOf(config.PLATFORM_LLM_API_KEY),
    PLATFORM_LLM_BASE_URL: config.PLATFORM_LLM_BASE_URL ?? '',
    PLATFORM_LLM_MODEL: config.PLATFORM_LLM_MODEL ?? '',
  };
}
