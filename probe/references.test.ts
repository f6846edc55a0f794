import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Reference, ReferenceKind } from '../core/manifest/references.ts';
import { foundSecrets, readableFiles, resolveReference, type ReferenceSources } from './references.ts';

let root: string;
let folder: string;
let secretDir: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'references-'));
  folder = join(root, 'manifest');
  secretDir = join(root, 'secrets');
  mkdirSync(join(folder, 'prompts'), { recursive: true });
  mkdirSync(secretDir);
  writeFileSync(join(folder, 'prompts', 'system.md'), 'You plan trips.\n');
  writeFileSync(join(root, 'outside.md'), 'not yours');
  symlinkSync(join(root, 'outside.md'), join(folder, 'escaping.md'));
  symlinkSync(join(folder, 'prompts', 'system.md'), join(folder, 'inside.md'));
  symlinkSync(root, join(folder, 'up'));
  writeFileSync(join(secretDir, 'openai-key'), 'sk-from-file\n');
  writeFileSync(join(secretDir, 'empty'), '');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const sources = (overrides: Partial<ReferenceSources> = {}): ReferenceSources => ({
  env: { OPENAI_API_KEY: 'sk-1', EMPTY: '', PLATFORM_SECRET_OPENAI_KEY: 'sk-from-variable' },
  folder,
  secretDir: null,
  now: () => new Date('2026-03-04T05:06:07.890Z'),
  ...overrides,
});

const refer = (kind: ReferenceKind, ...names: string[]): Reference[] =>
  names.map((name) => ({ kind, name, path: 'spec.prompts.system' }));

describe('resolveReference', () => {
  test.each([
    ['plain text', 'plain text'],
    ['$100', '$100'],
    ['$env:OPENAI_API_KEY', 'sk-1'],
    ['$secret:openai-key', 'sk-from-variable'],
    ['$file:prompts/system.md', 'You plan trips.\n'],
    ['$file:inside.md', 'You plan trips.\n'],
    ['$func:now_iso', '2026-03-04T05:06:07.890Z'],
    ['$func:now_unix', '1772600767'],
    ['$func:now_date', '2026-03-04'],
  ])('resolves %s to %j', async (text, value) => {
    expect(await resolveReference(text, sources())).toEqual({ ok: true, value });
  });

  test('reads secrets from the secret directory if given, without the final line feed', async () => {
    expect(await resolveReference('$secret:openai-key', sources({ secretDir }))).toEqual({
      ok: true,
      value: 'sk-from-file',
    });
  });

  test.each([
    ['$env:MISSING', 'the variable MISSING is not set'],
    ['$env:EMPTY', 'the variable EMPTY is not set'],
    ['$secret:other', 'the secret other was not found: PLATFORM_SECRET_OTHER is not set'],
    ['$file:prompts/none.md', "the file prompts/none.md cannot be read inside the manifest's directory"],
    ['$file:prompts', "the file prompts cannot be read inside the manifest's directory"],
    ['$file:escaping.md', "the file escaping.md cannot be read inside the manifest's directory"],
    ['$file:up/outside.md', "the file up/outside.md cannot be read inside the manifest's directory"],
    ['$file:../outside.md', 'the file "../outside.md" is outside the manifest\'s directory'],
    ['$func:now', 'unknown function "now"; use now_iso, now_unix or now_date'],
  ])('does not resolve %s: %s', async (text, reason) => {
    expect(await resolveReference(text, sources())).toEqual({ ok: false, reason });
  });

  test.each(['other', 'empty'])('does not find the secret %s in the secret directory', async (name) => {
    expect(await resolveReference(`$secret:${name}`, sources({ secretDir }))).toEqual({
      ok: false,
      reason: `the secret ${name} was not found: no such file in PLATFORM_SECRET_DIR`,
    });
  });

  test('does not resolve a secret name that leads out of the secret directory', async () => {
    writeFileSync(join(root, 'key'), 'sk-outside');
    expect(await resolveReference('$secret:../key', sources({ secretDir }))).toMatchObject({ ok: false });
  });

  test('reports files that cannot be read from here', async () => {
    expect(await resolveReference('$file:inside.md', sources({ folder: null }))).toEqual({
      ok: false,
      reason: 'the file inside.md cannot be read from here',
    });
  });

  test('does not resolve a file over 1 MiB', async () => {
    writeFileSync(join(folder, 'large'), Buffer.alloc(1024 * 1024 + 1, 'a'));
    expect(await resolveReference('$file:large', sources())).toMatchObject({ ok: false });
    writeFileSync(join(folder, 'large'), Buffer.alloc(1024 * 1024, 'a'));
    expect(await resolveReference('$file:large', sources())).toMatchObject({ ok: true });
  });
});

test('readableFiles reports which files can be read inside the directory', async () => {
  const references = [
    ...refer('file', 'prompts/system.md', 'inside.md', 'escaping.md', 'up/outside.md', '../outside.md'),
    ...refer('file', 'none.md', 'prompts', 'prompts/system.md'),
    ...refer('env', 'OPENAI_API_KEY'),
  ];
  expect(await readableFiles(folder, references)).toEqual(
    new Map([
      ['prompts/system.md', 'readable'],
      ['inside.md', 'readable'],
      ['escaping.md', 'unreadable'],
      ['up/outside.md', 'unreadable'],
      ['../outside.md', 'unreadable'],
      ['none.md', 'unreadable'],
      ['prompts', 'unreadable'],
    ]),
  );
});

describe('foundSecrets', () => {
  const references = [...refer('secret', 'openai-key', 'other', 'empty'), ...refer('env', 'HOME')];

  test('reads variables when no directory is given', async () => {
    expect(await foundSecrets(sources().env, null, references)).toEqual({
      backend: 'env',
      found: new Set(['openai-key']),
    });
  });

  test('reads only the directory when one is given', async () => {
    writeFileSync(join(secretDir, 'other'), 'x');
    expect(await foundSecrets({}, secretDir, references)).toEqual({
      backend: 'file',
      found: new Set(['openai-key', 'other']),
    });
  });
});
