// The built command on a directory of code: the output rules and exit codes of the contract.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { runBuiltCommand } from '../testing/machine/built-command.ts';
import { startLlmVendor, streams, type LlmVendor } from '../testing/sidecar/llm-vendor.ts';
import { TestServers } from '../testing/http/sockets.ts';

let cwd: string;
let vendor: LlmVendor;
const servers = new TestServers();

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'scan-bundle-'));
  mkdirSync(join(cwd, 'shop'));
  writeFileSync(
    join(cwd, 'shop/main.py'),
    'from pydantic_ai import Agent\n\nagent = Agent("openai:gpt-4.1")\n\n\n@agent.tool_plain\ndef lookup(number): ...\n',
  );
  writeFileSync(join(cwd, 'shop/.env'), 'ONLY_IN_DOTENV=x');
  const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
  const response = { description: 'Sells.', tools: [{ name: 'lookup', description: 'Looks up.', ...hints }] };
  vendor = await startLlmVendor(servers, streams(JSON.stringify(response)));
});
afterAll(async () => {
  await servers.close();
  rmSync(cwd, { recursive: true, force: true });
});

const scan = (args: string[], env: Record<string, string> = {}) =>
  runBuiltCommand(['scan', '--dir', 'shop', ...args], { cwd, env: { PATH: '', ...env } });
const specIn = (file: string) => {
  const parsed = parseManifest(readFileSync(join(cwd, 'shop', file), 'utf8'));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest.spec;
};

test('without a provider, writes nothing and names --no-llm', async () => {
  const { errors, exitCode } = await scan([]);
  expect(errors).toMatch(/^error: no LLM provider is ready[^]*provider-status[^]*--no-llm/);
  expect([exitCode, readdirSync(join(cwd, 'shop')).sort()]).toEqual([1, ['.env', 'main.py']]);
});

test('--no-llm writes agent.yaml, then agent.yaml.new', async () => {
  const first = await scan(['--no-llm']);
  expect(first).toMatchObject({ errors: '', exitCode: 0 });
  expect(first.output).toMatch(/\ntool {7}lookup {10}main\.py:7\n[^]*\nwrote shop\/agent\.yaml\n$/);
  expect(specIn('agent.yaml').tools).toEqual([
    { name: 'lookup', type: 'function', module: 'main', function: 'lookup' },
  ]);
  expect((await scan(['--no-llm'])).output).toMatch(/\nwrote shop\/agent\.yaml\.new, because /);
  expect(readdirSync(join(cwd, 'shop')).sort()).toEqual(['.env', 'agent.yaml', 'agent.yaml.new', 'main.py']);
});

test('with a provider, --update replaces agent.yaml', async () => {
  const { output, errors, exitCode } = await scan(['--update', '--provider', 'openai-compatible'], {
    PLATFORM_LLM_API_KEY: 'test-key-0123456789',
    PLATFORM_LLM_MODEL: 'model-x',
    PLATFORM_LLM_BASE_URL: `${vendor.url}/v1`,
  });
  expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  expect(output).toMatch(/\nwrote shop\/agent\.yaml\n$/);
  expect(specIn('agent.yaml').tools).toMatchObject([
    { name: 'lookup', description: 'Looks up.', annotations: { readOnlyHint: true } },
  ]);
  expect(JSON.stringify(vendor.requests)).not.toContain('ONLY_IN_DOTENV');
});
