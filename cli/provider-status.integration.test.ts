import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { COMMAND_BUNDLE, runBuiltCommand } from '../testing/machine/built-command.ts';

const DIST = dirname(dirname(COMMAND_BUNDLE));

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'provider-status-'));
  const script = `#!/bin/sh
case "$*" in
--help) echo '  auth --tools --system-prompt --output-format' ;;
'auth status') echo '{"loggedIn": true}' ;;
*) exit 9 ;;
esac
`;
  writeFileSync(join(cwd, 'claude'), script, { mode: 0o755 });
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const status = (env: Record<string, string>) => runBuiltCommand(['provider-status', '--json'], { cwd, env });

test('the exit code is 1 without a provider, and 0 with one', async () => {
  const none = await status({});
  expect({ errors: none.errors, exitCode: none.exitCode }).toEqual({ errors: '', exitCode: 1 });
  expect(JSON.parse(none.output)).toMatchObject({ selected: null });
  const key = await status({ ANTHROPIC_API_KEY: 'sk-ant-0123456789' });
  expect({ errors: key.errors, exitCode: key.exitCode }).toEqual({ errors: '', exitCode: 0 });
  expect(JSON.parse(key.output)).toMatchObject({ selected: 'anthropic-api' });
  expect(key.output).not.toContain('0123456789');
  const login = await status({ PATH: cwd, ANTHROPIC_API_KEY: 'sk-ant-0123456789' });
  expect(JSON.parse(login.output)).toMatchObject({ selected: 'claude-subscription' });
});

test('only the bundle of the SDKs contains them, and it provides both', async () => {
  for (const part of ['cli', 'sidecar']) {
    const { inputs } = JSON.parse(readFileSync(join(DIST, part, 'meta.json'), 'utf8')) as { inputs: object };
    const files = Object.keys(inputs).filter((file) => /node_modules\/(openai|@anthropic-ai)\//.test(file));
    expect(files).toEqual([]);
  }
  const program = `
    const { loadAnthropic, loadOpenai } = require(${JSON.stringify(join(DIST, 'llm-sdk/main.js'))});
    Promise.all([loadAnthropic(), loadOpenai()]).then(([Anthropic, OpenAI]) => {
      const settings = { apiKey: 'key', baseURL: 'http://localhost' };
      console.log(typeof new Anthropic(settings).messages.create);
      console.log(typeof new OpenAI(settings).chat.completions.create);
    });`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', program], { cwd, env: {} });
  expect({ stdout, stderr }).toEqual({ stdout: 'function\nfunction\n', stderr: '' });
});
