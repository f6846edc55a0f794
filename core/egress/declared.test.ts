import { describe, expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import { FULL_MANIFEST } from '../../testing/manifests/manifest-text.ts';
import { parseManifest } from '../manifest/parse-manifest.ts';
import {
  declaredEgressOf,
  isDeclaredHost,
  isDeclaredModel,
  isDeclaredTool,
  mcpToolsIn,
  toolsOfServer,
} from './declared.ts';

const model = { provider: 'openai', id: 'gpt-4o', apiKey: 'k' };

describe('a requested model', () => {
  test.each([
    ['gpt-4o', 'gpt-4o', true],
    ['gpt-4o', 'gpt-4o-2024-08-06', true],
    ['gpt-4o', 'GPT-4o', true],
    ['gpt-4o', 'openai/gpt-4o', true],
    ['gpt-4o', 'gpt-4o-mini', false],
    ['gpt-4o', 'gpt-4', false],
    ['gpt-4o-2024-08-06', 'gpt-4o', false],
    ['gpt-4o-2024-08-06', 'gpt-4o-2024-11-20', false],
    ['claude-sonnet-4', 'claude-sonnet-4-20250514', true],
    ['mistral-large-latest', 'mistral-large-2411', true],
    ['gemini-2.5-flash', 'models/gemini-2.5-flash', true],
    ['gpt-4o', 'unknown', false],
    ['gpt-4o', '', false],
  ])('of a manifest with %s: %s is declared: %s', (id, requested, isDeclared) => {
    const declared = declaredEgressOf(aManifest({ model: { ...model, id } }));
    expect(isDeclaredModel(declared, requested)).toBe(isDeclared);
  });

  test('can be the fallback or a further model, but a price declares nothing', () => {
    const declared = declaredEgressOf(
      aManifest({
        model: {
          ...model,
          fallback: { provider: 'anthropic', id: 'claude-haiku-4-5', apiKey: 'k' },
          prices: { 'gpt-5': { input: 1, output: 1 } },
        },
        egress: { models: ['text-embedding-3-small', 'gpt-4o'] },
      }),
    );
    expect(declared.models).toEqual(['gpt-4o', 'claude-haiku-4-5', 'text-embedding-3-small']);
    expect(
      ['claude-haiku-4-5-20251001', 'text-embedding-3-small', 'gpt-5'].map((id) =>
        isDeclaredModel(declared, id),
      ),
    ).toEqual([true, true, false]);
  });
});

describe('a tool', () => {
  const declared = declaredEgressOf(
    aManifest({
      tools: [{ name: 'search' }],
      egress: { tools: ['web_search', 'crm_*'] },
      mcp: { servers: [{ name: 'files', url: 'http://files/mcp' }] },
    }),
  );

  test.each([
    ['search', true],
    ['Search', false],
    ['search2', false],
    ['web_search', true],
    ['crm_', true],
    ['crm_find', true],
    ['crm', false],
    ['crm_*', true],
    ['', false],
  ])('%j is declared: %s', (name, isDeclared) => {
    expect(isDeclaredTool(declared, name)).toBe(isDeclared);
  });

  test.each([
    ['read', true],
    ['files_read', true],
    ['files__read', true],
    ['files.read', true],
    ['mcp__files__read', true],
    ['mcp:files', true],
    ['files_delete', false],
    ['other_read', false],
    ['mcp:other', false],
    ['steal', false],
  ])('%s of an MCP server is declared: %s', (name, isDeclared) => {
    const listed = new Map([
      ['files', ['read', 'write']],
      ['undeclared', ['steal']],
    ]);
    expect(isDeclaredTool(declared, name, mcpToolsIn(declared, [name], listed))).toBe(isDeclared);
  });

  test('of MCP servers are in the order of the call, and follow each new list of a server', () => {
    const listed = new Map([['files', ['read', 'write']]]);
    const names = ['files_write', 'steal', 'read'];
    expect([...mcpToolsIn(declared, names, listed)]).toEqual(['files_write', 'read']);
    listed.set('files', ['steal']);
    expect([...mcpToolsIn(declared, names, listed)]).toEqual(['steal']);
  });

  test.each([
    ['code_interpreter', [], true],
    ['code_interpreter', ['code_interpreter'], false],
    ['mcp:files', ['mcp:files'], true],
    ['mcp:evil', ['mcp:evil'], false],
  ])('%s is a listed tool if the vendor runs %j: %s', (name, vendorTools, isListed) => {
    const listed = new Map([['files', ['code_interpreter', 'mcp:evil']]]);
    expect(mcpToolsIn(declared, [name], listed, vendorTools).has(name)).toBe(isListed);
  });

  test.each([
    ['files', ['read'], ['read']],
    ['files', [], []],
    ['files', undefined, ['read', 'files_read', 'steal']],
    ['undeclared', ['read', 'steal'], []],
    ['undeclared', undefined, []],
  ])('on the lane of the server %s with the list %j are %j', (server, listed, own) => {
    const names = ['read', 'files_read', 'steal'];
    expect(toolsOfServer(declared, server, { names, listed })).toEqual(own);
  });

  test('of a server that has not listed its tools is not declared', () => {
    expect(mcpToolsIn(declared, ['read', 'files_read'], new Map())).toEqual(new Set());
  });

  test('of a manifest without tools and servers is never declared', () => {
    expect(isDeclaredTool(declaredEgressOf(aManifest()), 'search')).toBe(false);
  });
});

describe('hosts', () => {
  test('are those of spec.egress, of all addresses, and of the vendors', () => {
    const { hosts } = declaredEgressOf(
      aManifest({
        model: { ...model, fallback: { provider: 'Gemini', id: 'g', apiKey: 'k' } },
        egress: { hosts: ['API.example.com', '*.maps.example.com', '10.0.0.7'] },
        requires: {
          services: [
            { name: 'db', address: 'postgres://u:p@db.internal/x' },
            { name: 'other', type: 'strange', address: 'plain.internal:9' },
            { name: 'disk', address: 'sqlite:///data.db' },
          ],
        },
        mcp: {
          servers: [
            { name: 'a', url: 'https://mcp.example.com/x' },
            { name: 'b', host: 'weather.internal', port: 80 },
            { name: 'c', transport: 'stdio', command: 'npx' },
          ],
        },
        observability: {
          tracing: { backend: 'langfuse', endpoint: 'https://traces.example.com' },
          metrics: { backend: 'prometheus', endpoint: '/metrics' },
        },
        humanInTheLoop: { webhookUrl: 'https://hooks.example.com/x' },
        api: { auth: { type: 'jwt', jwksUri: 'https://id.example.com/jwks' } },
        subagents: [{ name: 's', ref: { a2a: { url: 'https://visa.example.com/a2a' } } }],
      }),
    );
    expect([...hosts.exact].sort()).toEqual(
      [
        ...[
          '10.0.0.7',
          'api.example.com',
          'api.openai.com',
          'db.internal',
          'generativelanguage.googleapis.com',
        ],
        ...['hooks.example.com', 'id.example.com', 'mcp.example.com', 'plain.internal', 'traces.example.com'],
        ...['visa.example.com', 'weather.internal'],
      ].sort(),
    );
    expect(hosts.domains).toEqual(['.maps.example.com']);
    expect(hosts.unresolved).toEqual([]);
  });

  test.each([
    ['example.com', true],
    ['EXAMPLE.com.', true],
    ['a.example.org', true],
    ['example.org', false],
    ['badexample.com', false],
    ['[2001:db8::1]', true],
    ['2001:db8::1', true],
  ])('%s is declared: %s', (host, isDeclared) => {
    const egress = { hosts: ['example.com', '*.example.org', '[2001:DB8::1]'] };
    expect(isDeclaredHost(declaredEgressOf(aManifest({ egress })), host)).toBe(isDeclared);
  });

  test.each([
    [
      'a reference',
      { requires: { services: [{ name: 'db', address: '$env:DB' }] } },
      'spec.requires.services[0].address',
    ],
    ['a vendor without a known host', { model: { ...model, provider: 'azure' } }, 'spec.model.provider'],
    [
      'a name that must be looked up',
      { requires: { services: [{ name: 'db', address: 'mongodb+srv://cluster.example.com/x' }] } },
      'spec.requires.services[0].address',
    ],
  ])('are not all known with %s', (_what, spec, path) => {
    const declared = declaredEgressOf(aManifest(spec));
    expect(declared.hosts.unresolved).toEqual([path]);
    expect(isDeclaredHost(declared, 'evil.example.com')).toBeNull();
  });

  test('of a manifest with every key are found', () => {
    const parsed = parseManifest(FULL_MANIFEST);
    if (!parsed.ok) throw new Error('the manifest is not valid');
    const { hosts } = declaredEgressOf(parsed.manifest);
    expect(hosts.domains).toEqual(['.maps.example.com']);
    expect(hosts.unresolved).toContain('spec.humanInTheLoop.webhookUrl');
  });
});
