import { describe, expect, test } from '@jest/globals';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { Code } from './code.ts';
import { collect } from './collect.ts';
import { draftOf } from './draft.ts';
import { manifestText } from './manifest-text.ts';
import { propose, type ObservedCall } from './propose.ts';

const OPENAI = { lane: 'openai', upstream: 'https://api.openai.com' };
const CALL: ObservedCall = {
  ...{ lane: 'openai', method: 'POST', path: '/v1/chat/completions', model: 'gpt-5', statusCode: 200 },
  ...{ toolsOffered: [], toolsCalled: [], toolsExecuted: [], blocked: false },
};

/** The manifest that is proposed for code and calls. */
function proposed(
  calls: Partial<ObservedCall>[],
  { code = '', lanes = [OPENAI] }: { code?: string; lanes?: { lane: string; upstream: string }[] } = {},
): { text: string; spec: Manifest['spec'] } {
  const parsedCode = new Code([{ path: 'main.py', text: code }]);
  const draft = draftOf(collect(parsedCode), parsedCode, []);
  const observation = { lanes, calls: calls.map((call) => ({ ...CALL, ...call })) };
  const text = manifestText(propose(observation, draft), { name: 'a', metadata: null, relative: () => null });
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(`${JSON.stringify(parsed.problems)}\n${text}`);
  return { text, spec: parsed.manifest.spec };
}

const names = (list: { name: string }[] = []): string[] => list.map(({ name }) => name);

describe('a manifest from calls', () => {
  test('has the models and tools under the names of the calls, each with its evidence', () => {
    const { text, spec } = proposed([
      { toolsOffered: ['search'], toolsCalled: ['search'] },
      { toolsOffered: ['search'], toolsExecuted: ['search'] },
      { model: 'gpt-5-nano' },
    ]);
    expect(spec.model).toMatchObject({ provider: 'openai', id: 'gpt-5', apiKey: '$env:OPENAI_API_KEY' });
    expect(spec.egress).toEqual({ models: ['gpt-5-nano'] });
    expect(names(spec.tools)).toEqual(['search']);
    expect(text).toContain('id: gpt-5 # requested 2 times on lane openai\n');
    expect(text).toContain('- name: search # offered 2 times, called once, executed once\n');
    expect(text).toContain('- gpt-5-nano # requested once on lane openai\n');
  });

  test.each<[string, Partial<ObservedCall>]>([
    ['a denied call', { blocked: true, statusCode: 403 }],
    ['a call that was removed from its response', { blocked: true }],
    ['a call that the vendor rejected', { statusCode: 401 }],
    ['a call without a response', { statusCode: null }],
  ])('has nothing of %s', (_what, call) => {
    const { spec } = proposed([
      {},
      { model: 'gpt-6', toolsOffered: ['a'], toolsCalled: ['b'], toolsExecuted: ['c'], ...call },
    ]);
    expect(spec.model.id).toBe('gpt-5');
    expect(spec).not.toHaveProperty('tools');
    expect(spec).not.toHaveProperty('egress');
  });

  test('keeps what only the code shows', () => {
    const code =
      'from openai import OpenAI\nOpenAI().chat.completions.create(model="gpt-5")\nfrom langchain.tools import tool\n@tool\ndef refund():\n  pass\n';
    const { text, spec } = proposed([{ toolsOffered: ['search'] }], { code });
    expect(names(spec.tools)).toEqual(['refund', 'search']);
    expect(text).toContain('id: gpt-5 # requested once on lane openai; main.py:2\n');
  });

  test('does not begin with a model of embeddings', () => {
    const embeddings = { model: 'text-embedding-3-small', path: '/v1/embeddings' };
    const { spec } = proposed([embeddings, embeddings, {}]);
    expect([spec.model.id, spec.egress?.models]).toEqual(['gpt-5', ['text-embedding-3-small']]);
  });

  test('has the hosts that its provider does not explain', () => {
    const { spec } = proposed([{ lane: 'openai' }, { lane: 'gemini', model: 'gemini-2.5-flash' }], {
      lanes: [
        { lane: 'openai', upstream: 'https://gateway.example.com/openai' },
        { lane: 'gemini', upstream: 'https://generativelanguage.googleapis.com' },
      ],
    });
    expect(spec.egress?.hosts).toEqual(['gateway.example.com', 'generativelanguage.googleapis.com']);
  });

  test('has an MCP server, whose tools are its own', () => {
    const { spec } = proposed(
      [
        { lane: 'mcp:files', model: null, toolsOffered: ['read_file'] },
        { toolsOffered: ['files_read_file', 'search'] },
      ],
      { lanes: [OPENAI, { lane: 'mcp:files', upstream: 'https://files.example.com/mcp' }] },
    );
    expect(spec.mcp?.servers).toEqual([
      { name: 'files', transport: 'http', url: 'https://files.example.com/mcp' },
    ]);
    expect(names(spec.tools)).toEqual(['search']);
  });
});
