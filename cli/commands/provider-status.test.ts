import { describe, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { LLM_FIELDS } from '../../llm/settings.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, run } = commandFolder();

const KEY = 'sk-proj-0123456789';
const platform = (args: string, env: Record<string, string> = {}, color = false) =>
  run(`provider-status ${args}`, { color, env: { PATH: at(), ...env } });

/** Installs a stand-in for Codex that is logged in. */
const installCodex = () =>
  writeFileSync(at('codex'), "#!/bin/sh\necho '--json --sandbox --skip-git-repo-check'\n", { mode: 0o755 });

test('without a provider, prints for each one what to do, and exits with 1', async () => {
  expect(await platform('')).toEqual({
    output: `   PROVIDER             STATUS     DETAILS
   claude-subscription  not ready  the command claude is not on PATH. Install Claude Code and run: claude auth login.
   codex-subscription   not ready  the command codex is not on PATH. Install Codex and run: codex login.
   anthropic-api        not ready  ANTHROPIC_API_KEY is not set. Set ANTHROPIC_API_KEY to a key of the Anthropic API.
   openai-api           not ready  OPENAI_API_KEY is not set. Set OPENAI_API_KEY to a key of the OpenAI API.
   openai-compatible    not ready  PLATFORM_LLM_API_KEY is not set. Set PLATFORM_LLM_API_KEY, PLATFORM_LLM_MODEL and PLATFORM_LLM_BASE_URL.

No provider is selected.
`,
    errors: '',
    exitCode: 1,
  });
});

test('marks the provider that is selected, and exits with 0', async () => {
  installCodex();
  const { output, errors, exitCode } = await platform('', { OPENAI_API_KEY: KEY });
  expect(output).toContain('\n*  codex-subscription   ready      default model of the command\n');
  expect(output).toContain('\n   openai-api           ready      model gpt-5.5\n');
  expect(output).toMatch(/\n\n\* codex-subscription is selected\.\n$/);
  expect(output).not.toContain(KEY);
  expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  const colored = await platform('', { OPENAI_API_KEY: KEY }, true);
  expect(colored.output).toContain('\u001b[32mready\u001b[39m');
});

describe('--json', () => {
  test('prints each provider with its model, or with the reason and what to do', async () => {
    const { output, errors, exitCode } = await platform('--json', { OPENAI_API_KEY: KEY });
    const { selected, providers } = JSON.parse(output) as { selected: unknown; providers: unknown[] };
    expect(selected).toBe('openai-api');
    expect(providers).toHaveLength(5);
    expect(providers).toContainEqual({ name: 'openai-api', ready: true, model: 'gpt-5.5' });
    expect(providers).toContainEqual({
      name: 'anthropic-api',
      ready: false,
      reason: 'ANTHROPIC_API_KEY is not set',
      remedy: 'Set ANTHROPIC_API_KEY to a key of the Anthropic API.',
    });
    expect(output).not.toContain(KEY);
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  });

  test('exits with 1 if none is ready', async () => {
    const { output, exitCode } = await platform('--json');
    expect(JSON.parse(output)).toMatchObject({ selected: null });
    expect(exitCode).toBe(1);
  });
});

describe('PLATFORM_CODEGEN_PROVIDER', () => {
  test('selects a provider', async () => {
    installCodex();
    const env = { OPENAI_API_KEY: KEY, PLATFORM_CODEGEN_PROVIDER: 'openai-api' };
    expect(JSON.parse((await platform('--json', env)).output)).toMatchObject({ selected: 'openai-api' });
  });

  test.each<[name: string, problem: string]>([
    [
      'anthropic-api',
      'anthropic-api is not ready: ANTHROPIC_API_KEY is not set. Set ANTHROPIC_API_KEY to a key of the Anthropic API.',
    ],
    [
      'gpt',
      '"gpt" is not an LLM provider; accepted: claude-subscription, codex-subscription, anthropic-api, openai-api, openai-compatible',
    ],
  ])('%s, which cannot be used, is an error line while another one is ready', async (name, problem) => {
    const env = { OPENAI_API_KEY: KEY, PLATFORM_CODEGEN_PROVIDER: name };
    const { output, errors, exitCode } = await platform('', env);
    expect(output).toContain('No provider is selected.');
    expect(errors).toBe(`error: PLATFORM_CODEGEN_PROVIDER: ${problem}\n`);
    expect(exitCode).toBe(0);
  });
});

test('the help names every variable', async () => {
  const { output } = await platform('--help');
  for (const name of Object.keys(LLM_FIELDS)) expect(output).toContain(name);
});
