import {
  describeProblems,
  optionalHeaderSecret,
  optionalHttpUrl,
  optionalOneOf,
  optionalText,
  parseHttpUrl,
  withDefault,
  type Environment,
  type EnvProblem,
  type Summaries,
} from '../runtime/env.ts';
import { notReady, PROVIDERS, type Readiness } from './provider.ts';

/** Models that are requested unless PLATFORM_LLM_MODEL names one. The CLI of a subscription has its own default. */
export const DEFAULT_MODELS = {
  'anthropic-api': 'claude-sonnet-5-5',
  'openai-api': 'gpt-5.5',
} as const;

export const ANTHROPIC_FIELDS = {
  ANTHROPIC_API_KEY: optionalHeaderSecret,
  ANTHROPIC_BASE_URL: optionalHttpUrl,
} as const;

export const OPENAI_FIELDS = {
  OPENAI_API_KEY: optionalHeaderSecret,
  OPENAI_BASE_URL: optionalHttpUrl,
} as const;

export const COMPATIBLE_FIELDS = {
  PLATFORM_LLM_API_KEY: optionalHeaderSecret,
  PLATFORM_LLM_MODEL: optionalText,
  PLATFORM_LLM_BASE_URL: withDefault(
    'a URL with the http: or https: protocol, without credentials',
    'https://api.openai.com/v1',
    parseHttpUrl,
  ),
} as const;

/** Every variable that selects or configures a provider. */
export const LLM_FIELDS = {
  PLATFORM_CODEGEN_PROVIDER: optionalOneOf(PROVIDERS),
  ...ANTHROPIC_FIELDS,
  ...OPENAI_FIELDS,
  ...COMPATIBLE_FIELDS,
} as const;

export const LLM_SUMMARIES: Summaries<typeof LLM_FIELDS> = {
  PLATFORM_CODEGEN_PROVIDER:
    'The provider to use. Unset: the first one that is ready, in the order of this list. `--provider` takes precedence.',
  ANTHROPIC_API_KEY: 'The key of the provider anthropic-api.',
  ANTHROPIC_BASE_URL: 'Base URL of the Anthropic API, without /v1. Unset: the public API.',
  OPENAI_API_KEY: 'The key of the provider openai-api.',
  OPENAI_BASE_URL: 'Base URL of the OpenAI API, with /v1. Unset: the public API.',
  PLATFORM_LLM_API_KEY:
    'The key of the provider openai-compatible. A server that has no keys accepts any value.',
  PLATFORM_LLM_MODEL: `The model of the provider openai-compatible, required if PLATFORM_LLM_API_KEY is set. Otherwise it replaces the default model of the used provider (${Object.values(DEFAULT_MODELS).join(', ')}, or that of the subscription's command).`,
  PLATFORM_LLM_BASE_URL:
    'Base URL of the provider openai-compatible: an endpoint with the chat completions API of OpenAI.',
};

/** The model that replaces a provider's default; null: none, or PLATFORM_LLM_MODEL belongs to the compatible endpoint. */
export function modelOverride(env: Environment): string | null {
  const { PLATFORM_LLM_API_KEY: key = '', PLATFORM_LLM_MODEL: model = '' } = env;
  return key !== '' || model === '' ? null : model;
}

/** A provider with an invalid variable. */
export function withInvalidVariable(problems: readonly EnvProblem[]): Readiness {
  const reason = describeProblems(problems).replaceAll('\n', '; ');
  return notReady(reason, 'Correct the variable.');
}
