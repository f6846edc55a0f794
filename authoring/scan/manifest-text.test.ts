import { describe, expect, test } from '@jest/globals';
import fc, { runs } from '../../testing/random/properties.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { Code } from './code.ts';
import { collect } from './collect.ts';
import { withCompletion, type Completion } from './completion.ts';
import { draftOf } from './draft.ts';
import { manifestText, type ManifestOptions } from './manifest-text.ts';
import { promptFiles } from './prompts.ts';
import type { SourceFile } from './source.ts';

const OPTIONS: ManifestOptions = { name: 'agent', metadata: null, relative: (path) => path };
const NOTHING: Completion = { description: '', tools: [], guardrails: [], models: [], variables: [] };

function written(
  files: SourceFile[],
  {
    others = [],
    completion = NOTHING,
    options = {},
  }: { others?: string[]; completion?: Completion; options?: Partial<ManifestOptions> } = {},
): { text: string; manifest: Manifest } {
  const code = new Code(files);
  const { draft } = withCompletion(draftOf(collect(code), code, promptFiles(code, others)), completion, code);
  const text = manifestText(draft, { ...OPTIONS, ...options });
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(`${JSON.stringify(parsed.problems)}\n${text}`);
  return { text, manifest: parsed.manifest };
}

const specOf = (path: string, text: string) => written([{ path, text }]).manifest.spec;

test('code without discoveries gives a valid manifest of examples', () => {
  const { text, manifest } = written([{ path: 'main.py', text: 'print("hello")' }]);
  expect(manifest).toMatchObject({
    metadata: { name: 'agent', version: '0.1.0' },
    spec: { model: { provider: 'model-provider', id: 'model-id', apiKey: '$env:MODEL_API_KEY' } },
  });
  for (const key of ['costControls', 'prompts', 'tools', 'guardrails', 'evaluation', 'observability', 'api'])
    expect(text).toMatch(new RegExp(`^ +# ${key}: \\{|^ +# ${key}: \\[`, 'm'));
});

test('every commented example is valid when it is used', () => {
  const { text } = written([{ path: 'main.py', text: '' }]);
  const used = text.replaceAll(/^( +)# (\w+: [[{])/gm, '$1$2');
  expect(parseManifest(used)).toMatchObject({ ok: true });
});

describe('the model', () => {
  const key = (text: string) => specOf('main.py', `import os\n${text}`).model.apiKey;
  test.each([
    [
      'from openai import OpenAI\nOpenAI(api_key=os.environ["MY_KEY"]).chat.completions.create(model="gpt-4o")',
      '$env:MY_KEY',
    ],
    [
      'from openai import OpenAI\nOpenAI(api_key="sk-secret-secret-secret").chat.completions.create(model="gpt-4o")',
      '$env:OPENAI_API_KEY',
    ],
    [
      'from google import genai\nos.environ["GOOGLE_API_KEY"]\ngenai.Client().models.generate_content(model="gemini-x")',
      '$env:GOOGLE_API_KEY',
    ],
    ['import ollama\nollama.chat(model="m")', 'none'],
    ['from litellm import completion\ncompletion(model="my-own-model")', '$env:MODEL_API_KEY'],
  ])('key of %j', (text, expected) => {
    expect(key(text)).toBe(expected);
  });

  test('that is named most often is the model, others are named in comments', () => {
    const create = (model: string) => `client.chat.completions.create(model="${model}")\n`;
    const code = `from openai import OpenAI\nclient = OpenAI()\n${create('a')}${create('b')}${create('b')}`;
    const { text, manifest } = written([{ path: 'main.py', text: code }]);
    expect(manifest.spec.model.id).toBe('b');
    expect(text).toContain('# fallback: { provider: openai, id: a, apiKey: $env:OPENAI_API_KEY }');
  });

  test('whose id is a variable without a default is a reference', () => {
    const code = "import OpenAI from 'openai';\nnew OpenAI().responses.create({ model: process.env.MODEL });";
    expect(specOf('main.ts', code).model.id).toBe('$env:MODEL');
  });
});

test('secrets of the code are not copied', () => {
  const code = `
from mcp import StdioServerParameters
from mcp.client.sse import sse_client
import redis, asyncpg
StdioServerParameters(command="npx", args=["server", "--token=ghp_0123456789abcdefghijklmnop"], env={"TOKEN": "hunter2"})
sse_client("https://mcp.example.com/sse?api_key=abc")
asyncpg.connect("postgres://user:hunter2@db/orders")
redis.Redis.from_url("redis://cache:6379")`;
  const { text, manifest } = written([{ path: 'main.py', text: code }]);
  expect(text).not.toMatch(/hunter2|ghp_|api_key=/);
  expect(manifest.spec.mcp?.servers).toEqual([{ name: 'server', transport: 'stdio', command: 'npx' }]);
  expect(manifest.spec.requires?.services).toEqual([
    { type: 'postgres' },
    { type: 'redis', address: 'redis://cache:6379' },
  ]);
});

test('servers and services get unique names', () => {
  const code = `
from agents.mcp import MCPServerStreamableHttp
import redis
MCPServerStreamableHttp(params={"url": "https://mcp.example.com/a"})
MCPServerStreamableHttp(params={"url": "https://mcp.example.com/b"})
redis.Redis(host="a", port=1)
redis.Redis(host="b", port=2)`;
  const { mcp, requires } = specOf('main.py', code);
  expect(mcp?.servers?.map(({ name }) => name)).toEqual(['example', 'example-2']);
  expect(requires?.services).toEqual([
    { type: 'redis', address: 'a:1' },
    { name: 'redis-2', type: 'redis', address: 'b:2' },
  ]);
});

test('a tool with another name than its function is one tool', () => {
  const code = `
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent
@tool("find")
def search(q):
  """Finds it."""
create_react_agent(model, [search])`;
  expect(specOf('app/main.py', code).tools).toEqual([
    { name: 'find', type: 'function', description: 'Finds it.', module: 'app.main', function: 'search' },
  ]);
});

describe('the system prompt', () => {
  const prompts = (others: string[], relative: ManifestOptions['relative'] = (path) => path) => {
    const text = 'a = open("prompts/system.md"); b = open("fallback_prompt.txt")';
    return written([{ path: 'main.py', text }], { others, options: { relative } });
  };
  test('is a file that the code names', () => {
    const { text, manifest } = prompts(['prompts/system.md', 'app/fallback_prompt.txt', 'prompts/other.md']);
    expect(manifest.spec.prompts).toEqual({ system: '$file:prompts/system.md' });
    expect(text).toContain('# also in the code: app/fallback_prompt.txt (main.py:1)');
  });
  test('is not written if it is outside of the directory of the manifest, or if there is no such file', () => {
    expect(prompts(['prompts/system.md'], () => null).manifest.spec.prompts).toBeUndefined();
    expect(prompts(['a/prompts/system.md', 'b/prompts/system.md']).manifest.spec.prompts).toBeUndefined();
  });
});

test('metadata of an earlier manifest is kept', () => {
  const metadata = {
    name: 'shop',
    version: '2.0.0',
    description: 'Sells: things',
    tags: ['a b'],
    author: 'Team',
  };
  const { manifest } = written([{ path: 'main.py', text: 'import openai' }], { options: { metadata } });
  expect(manifest.metadata).toEqual(metadata);
});

test('the manifest is valid whatever the code and the model contain', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '$env:x y',
      '$foo:bar',
      '$file:../x',
      'true',
      '1',
      '# x',
      ': ',
      '- a',
      'a\nb: c',
      '"',
      '\u2028',
      '',
    ),
  );
  fc.assert(
    fc.property(fc.array(text, { minLength: 12, maxLength: 12 }), (parts) => {
      const [a, b, c, d, e, f, g, h, i, j, k, l] = parts.map((part) => JSON.stringify(part));
      const python = `
from agents import function_tool
from agents.mcp import MCPServerStdio, MCPServerSse
from openai import OpenAI
import redis
OpenAI().responses.create(model=${a})
function_tool(x, name_override=${b})
TOOLS = [{"type": "function", "function": {"name": ${c}, "description": ${d}}}]
MCPServerStdio(name=${e}, params={"command": ${f}, "args": [${g}]})
MCPServerSse(params={"url": "https://" + ${h}})
redis.Redis.from_url(${i})
redis.Redis(host=${j}, port=${k})
OpenAI(base_url=${l}).chat.completions.create(model=${b})`;
      const [name = '', description = '', provider = ''] = parts;
      const hints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true };
      const completion: Completion = {
        description,
        tools: parts.map((part) => ({ name: part, description, ...hints })),
        guardrails: parts.map((part) => ({ type: 'custom', where: 'output', function: part })),
        models: parts.map((part) => ({ provider, id: part })),
        variables: parts,
      };
      const options = { relative: () => name };
      written([{ path: `${name}/main.py`, text: python }], {
        completion,
        options,
        others: [`prompts/${name}.md`],
      });
    }),
    { numRuns: runs(120) },
  );
});
