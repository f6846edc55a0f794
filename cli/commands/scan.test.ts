import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { responds, startLlmVendor, streams, type LlmVendor } from '../../testing/sidecar/llm-vendor.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import type { CliContext } from '../context.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, names, read, run, write } = commandFolder();

const CODE = `import os
from langchain_openai import ChatOpenAI
from langchain_core.tools import tool

KEY = "sk-0123456789abcdefghij"
ChatOpenAI(model="gpt-4.1")
os.environ["SHOP_URL"]


@tool
def drop_order(number):
    """Deletes an order."""


def undecorated(number):
    return number
`;

beforeEach(() => write('shop/main.py', CODE));

const files = (): string[] => names('shop');
const platform = (args: string, context: Partial<CliContext> = {}) =>
  run(`scan ${args}`, { env: { PATH: '' }, ...context });

function manifestIn(path: string): Manifest {
  const parsed = parseManifest(read(path));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

const FOUND = `found in 1 file:
KIND       NAME            PLACE
framework  langchain       main.py:2, main.py:3
model      openai gpt-4.1  main.py:6
tool       drop_order      main.py:11
variable   SHOP_URL        main.py:7
`;
const WARNING = 'warning: main.py:5 contains what looks like a secret; it was not copied\n';

describe('the file', () => {
  test('is agent.yaml if there is none', async () => {
    expect(await platform('--dir shop --no-llm')).toEqual({
      output: `${FOUND}wrote shop/agent.yaml\n`,
      errors: WARNING,
      exitCode: 0,
    });
    expect(files()).toEqual(['agent.yaml', 'main.py']);
    expect(manifestIn('shop/agent.yaml')).toMatchObject({
      metadata: { name: 'shop' },
      spec: {
        model: { id: 'gpt-4.1' },
        tools: [{ name: 'drop_order' }],
        requires: { envVars: ['SHOP_URL'] },
      },
    });
  });

  test('is agent.yaml.new if agent.yaml exists', async () => {
    write('shop/agent.yaml', 'mine');
    const { output, exitCode } = await platform('--dir shop --no-llm');
    expect(output).toBe(
      `${FOUND}wrote shop/agent.yaml.new, because shop/agent.yaml exists; --update replaces it\n`,
    );
    expect([exitCode, read('shop/agent.yaml')]).toEqual([0, 'mine']);
    expect(manifestIn('shop/agent.yaml.new').spec.model.id).toBe('gpt-4.1');
  });

  test('is agent.yaml with --update, with the metadata of the earlier one', async () => {
    write(
      'shop/agent.yaml',
      manifestText('  tools: [{ name: gone }]\n').replace('name: minimal', 'name: seller'),
    );
    const { output } = await platform('--dir shop --no-llm --update');
    expect(output).toBe(`${FOUND}wrote shop/agent.yaml\n`);
    expect(files()).toEqual(['agent.yaml', 'main.py']);
    const { metadata, spec } = manifestIn('shop/agent.yaml');
    expect(metadata).toEqual({
      name: 'seller',
      version: '1.0.0',
      description: 'The least that is a manifest.',
    });
    expect(spec.tools?.map(({ name }) => name)).toEqual(['drop_order']);
  });

  test('is the path of --out, also if it or agent.yaml exists', async () => {
    write('shop/agent.yaml', 'mine');
    write('out/x.yaml', 'old');
    write('shop/prompts/system.md', 'Sell.');
    write('shop/main.py', `${CODE}PROMPT = "prompts/system.md"\n`);
    const { output } = await platform('--dir shop --no-llm --out out/x.yaml');
    expect(output).toMatch(/\nwrote out\/x\.yaml\n$/);
    expect(read('shop/agent.yaml')).toBe('mine');
    // A manifest cannot reference a file outside of its directory.
    expect(manifestIn('out/x.yaml').spec.prompts).toBeUndefined();
    await platform('--dir shop --no-llm --out above.yaml');
    expect(manifestIn('above.yaml').spec.prompts).toEqual({ system: '$file:shop/prompts/system.md' });
  });

  test('is not written with --dry-run, which prints the manifest', async () => {
    const { output, errors, exitCode } = await platform('--dir shop --no-llm --dry-run');
    expect(parseManifest(output)).toMatchObject({ ok: true });
    expect({ errors, exitCode }).toEqual({ errors: FOUND + WARNING, exitCode: 0 });
    expect(files()).toEqual(['main.py']);
  });

  test.each([
    ['--update', 'agent.yaml'],
    ['', 'agent.yaml.new'],
  ])('is not written through a symbolic link: %j', async (flags, link) => {
    write('elsewhere.yaml', 'mine');
    write('shop/agent.yaml', 'mine');
    rmSync(at(`shop/${link}`), { force: true });
    symlinkSync('../elsewhere.yaml', at(`shop/${link}`));
    expect(await platform(`--dir shop --no-llm ${flags}`.trim())).toEqual({
      output: '',
      errors: `error: shop/${link} is a symbolic link; use --output to name the file to write\n`,
      exitCode: 1,
    });
    expect(read('elsewhere.yaml')).toBe('mine');
  });

  test('has no secret of the code', async () => {
    await platform('--dir shop --no-llm');
    expect(read('shop/agent.yaml')).not.toContain('sk-');
  });
});

describe('errors, with exit code 1 and nothing written', () => {
  test.each([
    ['--dir shop --no-llm --provider openai-api', '--provider and --no-llm exclude each other'],
    // The path is checked before the provider: none is ready here.
    ['--dir none', 'cannot read none: does not exist'],
    ['--dir none --no-llm', 'cannot read none: does not exist'],
    ['--dir shop/main.py --no-llm', 'cannot read shop/main.py: is not a directory'],
    ['--dir empty --no-llm', 'empty contains no .py, .ts, .js, .mjs or .cjs file that can be read'],
    ['--dir shop --no-llm --out none/x.yaml', 'cannot write none/x.yaml: its directory does not exist'],
    ['--dir shop --no-llm --out empty', 'cannot write empty: it is a directory'],
  ])('%s', async (args, message) => {
    mkdirSync(at('empty'));
    expect(await platform(args)).toEqual({ output: '', errors: `error: ${message}\n`, exitCode: 1 });
    expect(files()).toEqual(['main.py']);
  });

  test('a directory with only secrets names them', async () => {
    write('keys/secrets.py', 'KEY = 1');
    const { errors, exitCode } = await platform('--dir keys --no-llm');
    expect(errors).toMatch(
      /^error: keys contains no .*\nnot read:\n {2}secrets\.py: its name looks like secrets\n$/,
    );
    expect(exitCode).toBe(1);
  });

  test('no --dir', async () => {
    const { errors, exitCode } = await platform('--no-llm');
    expect(errors).toContain("error: required option '--dir <path>' not specified");
    expect(exitCode).toBe(1);
  });

  test('no provider: the message names --no-llm and provider-status', async () => {
    const { output, errors, exitCode } = await platform('--dir shop');
    expect(errors).toMatch(/^error: no LLM provider is ready/);
    expect(errors).toMatch(
      /"platform provider-status" shows the providers; --no-llm writes only what was found/,
    );
    expect({ output, exitCode }).toEqual({ output: '', exitCode: 1 });
  });

  test('a forced provider that is not ready', async () => {
    const { errors, exitCode } = await platform('--dir shop --provider anthropic-api');
    expect(errors).toMatch(/^error: anthropic-api is not ready: ANTHROPIC_API_KEY is not set/);
    expect(exitCode).toBe(1);
  });
});

describe('with an LLM', () => {
  let servers: TestServers;
  let vendor: LlmVendor;
  beforeEach(async () => {
    servers = new TestServers();
    vendor = await startLlmVendor(servers, streams('{}'));
  });
  afterEach(() => servers.close());

  const scan = (args = '--dir shop', context: Partial<CliContext> = {}) =>
    platform(args, {
      env: {
        PATH: '',
        PLATFORM_LLM_API_KEY: 'test-key-0123456789',
        PLATFORM_LLM_MODEL: 'model-x',
        PLATFORM_LLM_BASE_URL: `${vendor.url}/v1`,
      },
      ...context,
    });
  const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };
  const RESPONSE = {
    description: 'Sells things.',
    tools: [
      { name: 'drop_order', description: 'Something else.', ...HINTS },
      { name: 'undecorated', description: 'Returns a number.', ...HINTS },
      { name: 'invented', description: 'Is not in the code.', ...HINTS },
    ],
    guardrails: [],
    models: [],
    variables: [],
  };

  test('adds what the code does not show, and marks it', async () => {
    vendor.replies = [streams(JSON.stringify(RESPONSE))];
    const lines: string[] = [];
    const { output, errors, exitCode } = await scan('--dir shop', { progress: (line) => lines.push(line) });
    expect(output).toContain('tool       undecorated     proposed by the model, please review; main.py:15\n');
    expect(errors).toBe(
      `${WARNING}warning: 1 proposal of the model left out, because the code does not contain the name\n`,
    );
    expect([exitCode, lines]).toEqual([0, ['waiting for openai-compatible (1 file)']]);
    const { metadata, spec } = manifestIn('shop/agent.yaml');
    expect(metadata.description).toBe('Sells things.');
    expect(spec.tools).toEqual([
      expect.objectContaining({ name: 'drop_order', description: 'Deletes an order.', annotations: HINTS }),
      { name: 'undecorated', type: 'function', description: 'Returns a number.', annotations: HINTS },
    ]);
    expect(spec.model.id).toBe('gpt-4.1');
  });

  test('the model gets the code as delimited data, without secrets', async () => {
    await scan();
    const [request] = vendor.requests;
    const sent = JSON.stringify(request?.body);
    expect(sent).toContain('<data name=\\"main.py\\" id=');
    expect(sent).toContain('def drop_order(number)');
    expect(sent).toContain('tool drop_order: main.py:11');
    expect(sent).not.toContain('sk-0123456789');
  });

  test.each([
    ['a refusal', 'I cannot do that.', 'the response of the model has no JSON object'],
    ['a cut response', '{"description": "a', 'the JSON object in the response of the model is not complete'],
    [
      'an invalid response',
      '{"tools": "none"}',
      'the response of the model is not valid: tools must be a list',
    ],
  ])('%s writes nothing', async (_what, response, reason) => {
    vendor.replies = [streams(response)];
    expect(await scan()).toEqual({
      output: '',
      errors: `error: openai-compatible: ${reason}; nothing was written. --no-llm writes only what was found in the code\n`,
      exitCode: 1,
    });
    expect(existsSync(at('shop/agent.yaml'))).toBe(false);
  });

  test('a vendor that rejects the key writes nothing', async () => {
    vendor.replies = [responds(401, { error: { message: 'invalid key' } })];
    const { errors, exitCode } = await scan();
    expect(errors).toMatch(/^error: openai-compatible: .*401.*; nothing was written\. --no-llm writes/);
    expect(errors).not.toContain('test-key');
    expect([exitCode, files()]).toEqual([1, ['main.py']]);
  });

  test('an interruption writes nothing', async () => {
    const { errors, exitCode } = await scan('--dir shop', { onInterrupt: () => AbortSignal.abort() });
    expect(errors).toMatch(/^error: openai-compatible: the request was interrupted; nothing was written/);
    expect([exitCode, files()]).toEqual([1, ['main.py']]);
  });

  test('an existing file is rejected before a request is made', async () => {
    mkdirSync(at('out'));
    await scan('--dir shop --out out');
    expect(vendor.requests).toEqual([]);
  });

  test('a response cannot remove or replace what was found', async () => {
    vendor.replies = [
      streams(
        JSON.stringify({
          ...RESPONSE,
          tools: [],
          models: [{ provider: 'evil', id: 'gpt-4.1' }],
          variables: ['KEY'],
        }),
      ),
    ];
    await scan();
    const { spec } = manifestIn('shop/agent.yaml');
    expect(spec.model).toMatchObject({ provider: 'openai', id: 'gpt-4.1', apiKey: '$env:OPENAI_API_KEY' });
    expect(spec.tools).toHaveLength(1);
    expect(spec.requires?.envVars).toEqual(['SHOP_URL', 'KEY']);
  });
});
