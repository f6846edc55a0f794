import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLlmVendor, streams } from '../testing/sidecar/llm-vendor.ts';
import { TestServers } from '../testing/http/sockets.ts';
import { PROVIDERS } from './provider.ts';
import { providerOverview, selectProvider } from './select-provider.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'select-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Installs commands that are logged in. */
function installCommands(): void {
  const help = 'auth --tools --system-prompt --output-format --json --sandbox --skip-git-repo-check';
  const script = `#!/bin/sh\necho '  ${help}'\n`;
  for (const command of ['claude', 'codex']) writeFileSync(join(directory, command), script, { mode: 0o755 });
}

const KEYS = {
  ANTHROPIC_API_KEY: 'sk-ant-0123456789',
  OPENAI_API_KEY: 'sk-proj-0123456789',
  PLATFORM_LLM_API_KEY: 'compatible-0123456789',
  PLATFORM_LLM_MODEL: 'qwen3',
};
const environment = (more: Record<string, string> = {}) => ({ PATH: directory, ...more });

const selected = async (env: Record<string, string>, forced?: string) => {
  const selection = await selectProvider(environment(env), forced);
  return selection.ok ? `${selection.provider.name} ${selection.provider.model}` : selection.reason;
};

describe('the automatic selection', () => {
  test('takes the first provider that is ready, in the order of PROVIDERS', async () => {
    installCommands();
    expect(await selected(KEYS)).toBe('claude-subscription null');
    rmSync(join(directory, 'claude'));
    expect(await selected(KEYS)).toBe('codex-subscription null');
    rmSync(join(directory, 'codex'));
    expect(await selected(KEYS)).toBe('anthropic-api claude-sonnet-5-5');
    const { ANTHROPIC_API_KEY: _first, ...others } = KEYS;
    expect(await selected(others)).toBe('openai-api gpt-5.5');
    const { OPENAI_API_KEY: _second, ...last } = others;
    expect(await selected(last)).toBe('openai-compatible qwen3');
  });

  test('lists what to set up if nothing is ready', async () => {
    const reason = await selected({ ANTHROPIC_API_KEY: '', PLATFORM_LLM_API_KEY: 'key' });
    expect(reason.split('\n')).toEqual([
      'no LLM provider is ready; set up one of these:',
      '  claude-subscription: the command claude is not on PATH. Install Claude Code and run: claude auth login.',
      '  codex-subscription: the command codex is not on PATH. Install Codex and run: codex login.',
      '  anthropic-api: ANTHROPIC_API_KEY is not set. Set ANTHROPIC_API_KEY to a key of the Anthropic API.',
      '  openai-api: OPENAI_API_KEY is not set. Set OPENAI_API_KEY to a key of the OpenAI API.',
      '  openai-compatible: PLATFORM_LLM_API_KEY is set, but PLATFORM_LLM_MODEL is not. Set PLATFORM_LLM_MODEL to a model of the endpoint.',
    ]);
  });

  test('skips a provider with an invalid variable', async () => {
    const invalid = { ...KEYS, ANTHROPIC_API_KEY: 'sk-ant-0123456789\n', OPENAI_BASE_URL: 'api.openai.com' };
    expect(await selected(invalid)).toBe('openai-compatible qwen3');
    const reason = await selected({ ...invalid, PLATFORM_LLM_BASE_URL: 'ftp://models' });
    expect(reason).toContain(
      'anthropic-api: ANTHROPIC_API_KEY=[secret]: must be a key of visible ASCII characters without spaces, or unset. Correct the variable.',
    );
    expect(reason).toContain('openai-api: OPENAI_BASE_URL=api.openai.com: must be a URL');
    expect(reason).toContain('openai-compatible: PLATFORM_LLM_BASE_URL=ftp://models: must be a URL');
  });

  test('replaces the default model by PLATFORM_LLM_MODEL, unless it belongs to the compatible endpoint', async () => {
    const { ANTHROPIC_API_KEY } = KEYS;
    expect(await selected({ ANTHROPIC_API_KEY, PLATFORM_LLM_MODEL: 'other' })).toBe('anthropic-api other');
    expect(await selected({ ANTHROPIC_API_KEY, PLATFORM_LLM_MODEL: '' })).toMatch(/claude-sonnet/);
    expect(await selected({ PLATFORM_LLM_MODEL: 'other' })).toContain('PLATFORM_LLM_API_KEY is not set');
  });
});

describe('a forced provider', () => {
  test.each(PROVIDERS)('%s is used by argument or by variable', async (name) => {
    installCommands();
    expect(await selected(KEYS, name)).toMatch(new RegExp(`^${name} `));
    expect(await selected({ ...KEYS, PLATFORM_CODEGEN_PROVIDER: name })).toMatch(new RegExp(`^${name} `));
  });

  test('by argument takes precedence over the variable', async () => {
    expect(await selected({ ...KEYS, PLATFORM_CODEGEN_PROVIDER: 'anthropic-api' }, 'openai-api')).toBe(
      'openai-api gpt-5.5',
    );
  });

  test('that is not ready is not replaced by another one', async () => {
    expect(await selected(KEYS, 'codex-subscription')).toBe(
      'codex-subscription is not ready: the command codex is not on PATH. Install Codex and run: codex login.',
    );
    const { OPENAI_API_KEY: _key, ...others } = KEYS;
    expect(await selected({ ...others, PLATFORM_CODEGEN_PROVIDER: 'openai-api' })).toBe(
      'PLATFORM_CODEGEN_PROVIDER: openai-api is not ready: OPENAI_API_KEY is not set. Set OPENAI_API_KEY to a key of the OpenAI API.',
    );
  });

  test('that is unknown is a failure with the accepted names', async () => {
    const accepted = `is not an LLM provider; accepted: ${PROVIDERS.join(', ')}`;
    expect(await selected(KEYS, 'gpt\n')).toBe(`"gpt\\n" ${accepted}`);
    expect(await selected({ ...KEYS, PLATFORM_CODEGEN_PROVIDER: 'toString' })).toBe(
      `PLATFORM_CODEGEN_PROVIDER: "toString" ${accepted}`,
    );
  });
});

test('the overview has every provider, and sends no request', async () => {
  const servers = new TestServers();
  try {
    const vendor = await startLlmVendor(servers, streams('{}'));
    const urls = {
      ANTHROPIC_BASE_URL: vendor.url,
      OPENAI_BASE_URL: `${vendor.url}/v1`,
      PLATFORM_LLM_BASE_URL: `${vendor.url}/v1`,
    };
    const overview = await providerOverview(environment({ ...KEYS, ...urls }));
    expect(overview).toMatchObject({ selected: 'anthropic-api', problem: null });
    expect(overview.statuses.map(({ name, ready }) => [name, ready])).toEqual([
      ['claude-subscription', false],
      ['codex-subscription', false],
      ['anthropic-api', true],
      ['openai-api', true],
      ['openai-compatible', true],
    ]);
    expect(vendor.requests).toEqual([]);
  } finally {
    await servers.close();
  }
});
