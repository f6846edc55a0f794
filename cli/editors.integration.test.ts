import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LanguageClient, type Position } from '../testing/machine/language-client.ts';
import { FULL_MANIFEST, manifestText } from '../testing/manifests/manifest-text.ts';
import { runCommandLine } from './program.ts';

/** The YAML language server, which VS Code, Neovim and other editors use, with the line that `platform init` writes. */

const require = createRequire(import.meta.url);
const SERVER = require.resolve('yaml-language-server/bin/yaml-language-server');
const MODELINE = '# yaml-language-server: $schema=agent.schema.json\n';
/** The place of the cursor in a text. */
const CURSOR = '‸';

let directory: string;
let client: LanguageClient;
let documents = 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'editor-'));
  const schema = join(import.meta.dirname, '../core/manifest/agent.schema.generated.json');
  copyFileSync(schema, join(directory, 'agent.schema.json'));
  const yaml = { validate: true, hover: true, completion: true, schemaStore: { enable: false } };
  client = new LanguageClient([process.execPath, SERVER, '--stdio'], { yaml });
  await client.start(pathToFileURL(directory).href);
});
afterAll(async () => {
  await client.stop();
  rmSync(directory, { recursive: true });
});

/** Opens a document in the directory, and returns its URI. */
function open(text: string): string {
  documents += 1;
  const uri = pathToFileURL(join(directory, `agent-${documents}.yaml`)).href;
  client.open(uri, text);
  return uri;
}

/** Opens a document with the cursor in it. */
function openAt(text: string): { textDocument: { uri: string }; position: Position } {
  const before = text.slice(0, text.indexOf(CURSOR)).split('\n');
  const position = { line: before.length - 1, character: before.at(-1)?.length ?? 0 };
  return { textDocument: { uri: open(text.replace(CURSOR, '')) }, position };
}

async function completions(text: string): Promise<string[]> {
  const found = await client.request<{ items: { label: string }[] } | { label: string }[]>(
    'textDocument/completion',
    openAt(MODELINE + text),
  );
  const items = Array.isArray(found) ? found : found.items;
  return items.map(({ label }) => label.replaceAll('"', ''));
}

/** The text of a hover without the escapes of Markdown. */
async function hover(text: string): Promise<string> {
  const found = await client.request<{ contents: { value: string } } | null>(
    'textDocument/hover',
    openAt(MODELINE + text),
  );
  return found?.contents.value.replaceAll('\\', '') ?? '';
}

describe('completion proposes', () => {
  test.each<[string, string, string[]]>([
    ['the keys of spec', manifestText(`  ${CURSOR}`), ['guardrails', 'tools', 'mcp', 'memory', 'evaluation']],
    [
      'enumerated values',
      manifestText(`  guardrails:\n    input:\n      - type: ${CURSOR}\n`),
      ['pii-detector', 'prompt-injection', 'topic-filter'],
    ],
    [
      'examples of open values',
      manifestText().replace('provider: openai', `provider: ${CURSOR}`),
      ['openai', 'anthropic', 'google'],
    ],
    [
      'references for secrets',
      manifestText().replace('apiKey: $env:OPENAI_API_KEY', `apiKey: ${CURSOR}`),
      ['$env:OPENAI_API_KEY', '$secret:model-key'],
    ],
    ['true and false', manifestText(`  api:\n    streaming: ${CURSOR}\n`), ['true', 'false']],
  ])('%s', async (_what, text, labels) => {
    expect(await completions(text)).toEqual(expect.arrayContaining(labels));
  });
});

describe('hover shows the description', () => {
  test.each([
    ['of a key', manifestText().replace('provider:', `prov${CURSOR}ider:`), 'Vendor of the model'],
    [
      'of an object',
      manifestText().replace('model:', `mo${CURSOR}del:`),
      'The language model that the agent calls',
    ],
    [
      'of a key in a list',
      manifestText(`  tools:\n    - name: search\n      ty${CURSOR}pe: function\n`),
      'Where the tool is implemented',
    ],
    [
      'with the format of a value',
      manifestText().replace('version:', `ver${CURSOR}sion:`),
      'Must be a semantic version such as 1.2.3, or a reference.',
    ],
  ])('%s', async (_what, text, description) => {
    expect(await hover(text)).toContain(description);
  });
});

describe('diagnostics', () => {
  const diagnosticsOf = (text: string) => client.diagnostics(open(text));

  test.each([
    ['an unknown key', manifestText('  tols: []\n'), 12, /tols/],
    ['a wrong value', manifestText('  guardrails: { input: [{ type: pii }] }\n'), 12, /pii-detector/],
    ['a missing key', manifestText().replace('    id: gpt-4.1\n', ''), 8, /"id"/],
    ['a wrong type', manifestText('  api: { port: http }\n'), 12, /integer|number/],
  ])('report %s at its line', async (_what, text, line, message) => {
    const found = await diagnosticsOf(MODELINE + text);
    expect(found).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(message),
        range: expect.objectContaining({ start: expect.objectContaining({ line: expect.any(Number) }) }),
      }),
    ]);
    expect(Math.abs((found[0]?.range.start.line ?? 0) - line)).toBeLessThanOrEqual(1);
  });

  test('report nothing about a manifest with every key, with references and x- keys', async () => {
    expect(await diagnosticsOf(MODELINE + FULL_MANIFEST)).toEqual([]);
    const referring = manifestText('  api: { url: $env:PUBLIC_URL }\n  x-team: { any: 1 }\n');
    expect(await diagnosticsOf(MODELINE + referring)).toEqual([]);
  });

  test('report nothing about the manifest that init writes, which names the schema next to it', async () => {
    const context = { env: {}, cwd: directory, now: () => new Date(), color: false, ask: null };
    await runCommandLine(['init', 'new', '--yes'], context);
    const path = join(directory, 'new', 'agent.yaml');
    const text = readFileSync(path, 'utf8');
    expect(text.startsWith(MODELINE)).toBe(true);
    const uri = pathToFileURL(path).href;
    client.open(uri, text);
    expect(await client.diagnostics(uri)).toEqual([]);
    const wrong = pathToFileURL(join(directory, 'new', 'wrong.yaml')).href;
    client.open(wrong, text.replace('metadata:', 'metdata:'));
    expect(await client.diagnostics(wrong)).not.toEqual([]);
  });
});
