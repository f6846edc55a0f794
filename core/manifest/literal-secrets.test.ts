import { expect, test } from '@jest/globals';
import { aManifest } from '../../testing/fleet/facts.ts';
import { isLiteralSecret, literalSecrets } from './literal-secrets.ts';
import { parsePath } from './position.ts';
import { MANIFEST_SCHEMA } from './schema.ts';

/** The names of all schema members for secrets. */
function secretMembers(node: unknown, name = ''): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const own = 'writeOnly' in node && node.writeOnly === true ? [name] : [];
  return [...own, ...Object.entries(node).flatMap(([key, child]) => secretMembers(child, key))];
}

test('every secret of the schema is recognized by its name', () => {
  const names = secretMembers(MANIFEST_SCHEMA);
  expect(new Set(names)).toEqual(new Set(['apiKey', 'secretKey', 'token']));
  expect(names.filter((name) => !isLiteralSecret([name], 'x'))).toEqual([]);
});

test.each([
  ['spec.model.apiKey', 'x', true],
  ['spec.model.apiKey', '$env:KEY', false],
  ['spec.model.apiKey', 'none', false],
  ['spec.model.id', 'gpt-4o', false],
  ['spec.observability.tracing.publicKey', 'pk-lf-1', true],
  ['spec.mcp.servers[0].env.API_TOKEN', 'x', true],
  ['spec.mcp.servers[0].env.OPENAI_KEY', 'x', true],
  ['spec.mcp.servers[0].env.LOG_LEVEL', 'debug', false],
  ['spec.mcp.servers[0].args[0]', '--api-key=x', true],
  ['spec.mcp.servers[0].args[0]', '--api-key=$KEY', false],
  ['spec.mcp.servers[0].args[1]', 'sk-proj-0123456789abcdef', true],
  ['spec.memory.longTerm.connectionString', 'host=db password=x', true],
  ['spec.memory.longTerm.connectionString', 'postgres://app:p/w@db/agent', true],
  ['spec.memory.longTerm.connectionString', 'postgres://db/agent', false],
  ['spec.model.parameters.maxTokens', 5, false],
])('%s: %p is a literal secret: %p', (path, value, expected) => {
  expect(isLiteralSecret(parsePath(path), value)).toBe(expected);
});

test('lists the paths of all secrets, except public keys', () => {
  const manifest = aManifest({
    model: { provider: 'openai', id: 'gpt-4o', apiKey: '$secret:key' },
    memory: { longTerm: { backend: 'postgres', connectionString: 'postgres://app:secret@db/agent' } },
    observability: { tracing: { backend: 'langfuse', publicKey: 'pk-lf-1', secretKey: 'sk-lf-1' } },
    subagents: [{ name: 'b', ref: { a2a: { url: 'https://b.example', auth: { token: 'x' } } } }],
  });
  expect(literalSecrets(manifest)).toEqual([
    'spec.memory.longTerm.connectionString',
    'spec.observability.tracing.secretKey',
    'spec.subagents[0].ref.a2a.auth.token',
  ]);
});
