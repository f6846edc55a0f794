import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { COMMAND_BUNDLE } from '../testing/machine/built-command.ts';

const DIST = dirname(dirname(COMMAND_BUNDLE));

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
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', program], { env: {} });
  expect({ stdout, stderr }).toEqual({ stdout: 'function\nfunction\n', stderr: '' });
});
