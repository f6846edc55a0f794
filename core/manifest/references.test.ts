import { describe, expect, test } from '@jest/globals';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { Manifest } from './manifest.ts';
import { parseManifest } from './parse-manifest.ts';
import { functionValue, referenceOf, referencesIn, secretVariable } from './references.ts';

function manifestOf(text: string): Manifest {
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

describe('referenceOf', () => {
  test.each([
    ['$env:A_1', { kind: 'env', name: 'A_1' }],
    ['$file:a/b.md', { kind: 'file', name: 'a/b.md' }],
    ['$secret:db.key', { kind: 'secret', name: 'db.key' }],
    ['$func:now_iso', { kind: 'func', name: 'now_iso' }],
    ['$env:', { kind: 'env', name: '' }],
    ['env:A', null],
    [' $env:A', null],
    ['redis://$env:HOST', null],
    ['$foo:a', null],
  ])('parses %j as %j', (text, reference) => {
    expect(referenceOf(text)).toEqual(reference);
  });
});

test('referencesIn finds every reference with its path and skips x- keys', () => {
  const manifest = manifestOf(
    manifestText(`  prompts:
    system: $file:system.md
    variables: [{ name: a, value: plain }, { name: b, value: $func:now_date }]
  mcp: { servers: [{ name: s, command: c, env: { TOKEN: $secret:token, x-note: $env:SECRET } }] }
  x-notes: { key: $env:NOT_THIS }
`),
  );
  expect(referencesIn(manifest)).toEqual([
    { kind: 'env', name: 'OPENAI_API_KEY', path: 'spec.model.apiKey' },
    { kind: 'file', name: 'system.md', path: 'spec.prompts.system' },
    { kind: 'func', name: 'now_date', path: 'spec.prompts.variables[1].value' },
    { kind: 'secret', name: 'token', path: 'spec.mcp.servers[0].env.TOKEN' },
  ]);
});

test.each([
  ['openai-key', 'PLATFORM_SECRET_OPENAI_KEY'],
  ['db.password_2', 'PLATFORM_SECRET_DB_PASSWORD_2'],
])('secret %s is read from variable %s', (name, variable) => {
  expect(secretVariable(name)).toBe(variable);
});

test.each([
  ['now_iso', '2026-03-04T23:59:59.999Z'],
  ['now_unix', '1772668799'],
  ['now_date', '2026-03-04'],
] as const)('$func:%s evaluates to %s', (name, value) => {
  expect(functionValue(name, new Date('2026-03-04T23:59:59.999Z'))).toBe(value);
});
