import { expect, test } from '@jest/globals';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { lanesOfRun, type RunLanes } from './lanes-of-run.ts';

function lanes(env: Record<string, string>, spec = '') {
  const parsed = parseManifest(manifestText(spec));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return lanesOfRun(parsed.manifest, env, 4102);
}

const entriesOf = ({ lanes: found }: RunLanes): string[] =>
  found.map(({ lane, upstream }) => `${lane}=${upstream}`);

test('the provider of the manifest opens its lane, and each lane has its variables', () => {
  const parsed = parseManifest(manifestText().replace('provider: openai', 'provider: google'));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  expect(lanesOfRun(parsed.manifest, {}, 4002).lanes).toEqual([
    {
      ...{ lane: 'gemini', upstream: 'https://generativelanguage.googleapis.com' },
      variables: ['GOOGLE_GEMINI_BASE_URL', 'GEMINI_API_BASE'],
    },
  ]);
});

test.each([
  [
    'a key',
    { ANTHROPIC_API_KEY: 'k' },
    'anthropic=https://api.anthropic.com',
    { ANTHROPIC_BASE_URL: 'http://127.0.0.1:4102/anthropic' },
  ],
  [
    'a gateway',
    { GROQ_BASE_URL: 'https://gateway.example.com/groq' },
    'groq=https://gateway.example.com/groq',
    { GROQ_BASE_URL: 'http://127.0.0.1:4102/groq' },
  ],
])('%s of a vendor opens its lane', (_, env, upstream, variables) => {
  const found = lanes(env);
  expect(entriesOf(found)).toContain(upstream);
  expect(found.variables).toMatchObject(variables);
});

test('an agent with Azure gets no OPENAI_BASE_URL', () => {
  const { variables } = lanes({
    OPENAI_API_KEY: 'k',
    AZURE_OPENAI_API_KEY: 'k',
    AZURE_OPENAI_ENDPOINT: 'https://shop.openai.azure.com',
  });
  expect(variables).not.toHaveProperty('OPENAI_BASE_URL');
  expect(variables['AZURE_OPENAI_ENDPOINT']).toBe('http://127.0.0.1:4102/azure');
});

test('an MCP server whose URL is a variable gets a lane', () => {
  const spec = '  mcp: { servers: [{ name: files, transport: http, url: $env:FILES_URL }] }\n';
  const found = lanes({ FILES_URL: 'https://files.example.com/mcp' }, spec);
  expect(entriesOf(found)).toContain('mcp:files=https://files.example.com/mcp');
  expect(found.variables['FILES_URL']).toBe('http://127.0.0.1:4102/mcp/files');
});

test('a value that is not a URL is a problem without the value', () => {
  const { problems } = lanes({ OPENAI_BASE_URL: 'https://user:secret@example.com/v1' });
  expect(problems).toHaveLength(1);
  expect(problems.join()).not.toContain('secret');
});
