import { describe, expect, test } from '@jest/globals';
import { readEnv } from './env.ts';
import { INJECTION_FIELDS, injectionSettings } from './injection-config.ts';

const settingsOf = (env: Record<string, string>) => {
  const read = readEnv({ SIDECAR_IMAGE: 'sidecar:1', ...env }, INJECTION_FIELDS);
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return injectionSettings(read.config, 'system');
};

describe('the LLM analysis of injected sidecars', () => {
  test('is off without a Secret, whatever else is set', () => {
    expect(
      settingsOf({ LLM_ANALYSIS_MODEL: 'm', LLM_ANALYSIS_BASE_URL: 'https://llm.example' }).llmAnalysis,
    ).toBeNull();
  });

  test('has the limits, and the key from the Secret', () => {
    expect(settingsOf({ LLM_ANALYSIS_SECRET: 'llm' }).llmAnalysis).toEqual({
      key: { variable: 'ANTHROPIC_API_KEY', secret: 'llm', entry: 'api-key' },
      variables: [
        { name: 'LLM_ANALYSIS_PROVIDER', value: 'anthropic-api' },
        { name: 'LLM_ANALYSIS_TIMEOUT_SECONDS', value: '60' },
        { name: 'LLM_ANALYSIS_TOKENS_PER_DAY', value: '200000' },
        { name: 'LLM_ANALYSIS_USD_PER_DAY', value: '1' },
        { name: 'LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS', value: '5' },
        { name: 'LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS', value: '25' },
      ],
    });
  });

  test.each([
    ['anthropic-api', 'ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL'],
    ['openai-api', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    ['openai-compatible', 'PLATFORM_LLM_API_KEY', 'PLATFORM_LLM_BASE_URL'],
  ])('has the variables of %s', (provider, variable, baseUrl) => {
    const { llmAnalysis } = settingsOf({
      LLM_ANALYSIS_SECRET: 'vendor',
      LLM_ANALYSIS_SECRET_KEY: 'key',
      LLM_ANALYSIS_PROVIDER: provider,
      LLM_ANALYSIS_MODEL: 'm-1',
      LLM_ANALYSIS_BASE_URL: 'https://llm.example/v1',
    });
    expect(llmAnalysis?.key).toEqual({ variable, secret: 'vendor', entry: 'key' });
    expect(llmAnalysis?.variables.slice(0, 3)).toEqual([
      { name: 'LLM_ANALYSIS_PROVIDER', value: provider },
      { name: 'PLATFORM_LLM_MODEL', value: 'm-1' },
      { name: baseUrl, value: 'https://llm.example/v1' },
    ]);
  });

  test('changes the hash by which pods with other settings are found', () => {
    expect(settingsOf({ LLM_ANALYSIS_SECRET: 'llm' }).configHash).not.toBe(settingsOf({}).configHash);
  });
});
