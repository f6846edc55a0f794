import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parseDocument } from 'yaml';
import { FULL_MANIFEST, manifestText } from '../../testing/manifests/manifest-text.ts';
import fc, { runs } from '../../testing/random/properties.ts';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { RELATED_FORMATS } from '../../core/manifest/related-formats.ts';
import { migrate } from './migrate.ts';
import { STEPS } from './steps.ts';

const AGENTSPEC = readFileSync(
  join(import.meta.dirname, '../../testing/manifests/agentspec-full.yaml'),
  'utf8',
);

const asAgentspec = (text: string, apiVersion = 'agentspec.io/v1') =>
  text.replace('platform.io/v1', apiVersion).replace('PlatformAgent', 'AgentSpec');

function migrated(text: string): { text: string; changes: string[] } {
  const migration = migrate(text);
  if (migration.outcome !== 'migrated') throw new Error(JSON.stringify(migration));
  return {
    text: migration.text,
    changes: migration.changes.map(({ path, change }) => `${path}: ${change}`),
  };
}

test('every related format has steps', () => {
  expect([...STEPS.keys()].sort()).toEqual([...RELATED_FORMATS.keys()].sort());
});

test('a current manifest stays as it is', () => {
  expect(migrate(FULL_MANIFEST)).toEqual({ outcome: 'current' });
});

test('an older version only changes its apiVersion', () => {
  const { text, changes } = migrated(FULL_MANIFEST.replace('platform.io/v1', 'platform.io/v1alpha1'));
  expect(text).toBe(FULL_MANIFEST);
  expect(changes).toEqual(['apiVersion: changed from platform.io/v1alpha1 to platform.io/v1']);
});

describe('agentspec', () => {
  test('every field of the format is converted or kept', () => {
    const { text, changes } = migrated(AGENTSPEC);
    expect(parseManifest(text)).toMatchObject({ ok: true });
    expect(changes).toEqual([
      'apiVersion: changed from agentspec.io/v1 to platform.io/v1',
      'kind: changed from AgentSpec to PlatformAgent',
      'spec.requires.services[0].connection: renamed to address',
      'spec.requires.services[0].name: added: postgres',
      'spec.requires.services[1].connection: renamed to address',
      'spec.requires.services[1].name: added: redis',
      'spec.requires.services[2].connection: renamed to address',
      'spec.requires.services[2].name: added: redis-2',
      'spec.subagents[0].ref.agentspec: renamed to manifest',
      'spec.api.streaming: added: true',
      'spec.api.chatEndpoint.streaming: kept as x-streaming: platform.io/v1 has no such field',
      'spec.api.chatEndpoint.sessionMode: kept as x-sessionMode: platform.io/v1 has no such field',
      'spec.api.chatEndpoint.threadIdHeader: kept as x-threadIdHeader: platform.io/v1 has no such field',
    ]);
  });

  test('every line that needs no change keeps its characters, with comments and order', () => {
    const before = AGENTSPEC.split('\n');
    const after = migrated(AGENTSPEC).text.split('\n');
    const rest = before.filter((line) => !after.includes(line));
    expect(rest.map((line) => line.trim().split(':')[0])).toEqual([
      'apiVersion',
      'kind',
      'agentspec',
      'streaming',
      'sessionMode',
      'threadIdHeader',
      '- type',
      'connection',
      '- type',
      'connection',
      '- type',
      'connection',
    ]);
  });

  test('no value is lost', () => {
    const scalars = (text: string) => {
      const found: unknown[] = [];
      JSON.stringify(parseDocument(text).toJS(), (_key, value: unknown) => {
        if (typeof value !== 'object') found.push(value);
        return value;
      });
      return found;
    };
    const after = new Set(scalars(migrated(AGENTSPEC).text));
    const lost = scalars(AGENTSPEC).filter((value) => !after.has(value));
    expect(lost).toEqual(['agentspec.io/v1', 'AgentSpec']);
  });

  test.each<[string, string, string, string[]]>([
    [
      'the legacy apiVersion',
      asAgentspec(manifestText(), 'agentspec/v1alpha1'),
      manifestText(),
      [
        'apiVersion: changed from agentspec/v1alpha1 to platform.io/v1',
        'kind: changed from AgentSpec to PlatformAgent',
      ],
    ],
    [
      'gRPC',
      asAgentspec(manifestText('  api: { type: grpc, port: 1 }\n')),
      manifestText('  api: { x-type: grpc, port: 1 }\n'),
      ['spec.api.type: kept as x-type: an HTTP/1.1 proxy cannot carry gRPC'],
    ],
    [
      'services in one line, with Windows line ends',
      asAgentspec(
        manifestText('  requires: { services: [{ type: redis, connection: $env:REDIS }] }\n'),
      ).replaceAll('\n', '\r\n'),
      manifestText(
        '  requires: { services: [{ name: redis, type: redis, address: $env:REDIS }] }\n',
      ).replaceAll('\n', '\r\n'),
      ['spec.requires.services[0].name: added: redis'],
    ],
    [
      'an unknown key next to an x- key of the same name',
      asAgentspec(manifestText('  "odd key": 1\n  x-odd: 2\n  odd: 3\n')),
      manifestText('  "x-odd key": 1\n  x-odd: 2\n  x-odd-2: 3\n'),
      ['spec.odd: kept as x-odd-2: platform.io/v1 has no such field'],
    ],
  ])('%s', (_what, from, to, changes) => {
    const result = migrated(from);
    expect(result.text).toBe(to);
    expect(result.changes).toEqual(expect.arrayContaining(changes));
  });
});

describe('fails, with the problems', () => {
  test('at their place in the source, after fields that the conversion adds or renames', () => {
    const text = [
      'apiVersion: agentspec.io/v1',
      'kind: AgentSpec',
      'metadata: { version: 1.0.0, name: shop, description: Sells }',
      'spec:',
      '  model: { provider: openai, id: gpt-5, apiKey: $env:KEY }',
      '  unknownField: 1',
      '  requires:',
      '    services: [{ type: redis, connection: "redis://db" }]',
      '  humanInTheLoop: { notifyVia: [[deep]] }',
      '',
    ].join('\n');
    const migration = migrate(text);
    if (migration.outcome !== 'failed') throw new Error(migration.outcome);
    expect(migration.problems.map(({ path, line, column }) => [path, line, column])).toEqual([
      ['spec.humanInTheLoop.notifyVia[0]', 9, 33],
    ]);
  });

  test.each([
    ['another resource', 'apiVersion: v1\nkind: Pod\n', 'no migration exists for it'],
    ['text that is not YAML', 'apiVersion: [\n', 'it is not valid YAML'],
    ['an empty file', '', 'no migration exists for it'],
    ['a list', '- apiVersion: agentspec.io/v1\n', 'no migration exists for it'],
    ['a member of Object.prototype', 'apiVersion: constructor\n', 'no migration exists for it'],
    [
      'a value that is not valid',
      asAgentspec(manifestText()).replace('version: 1.0.0', 'version: one'),
      'it would not be valid after the migration',
    ],
  ])('%s', (_what, text, reason) => {
    const migration = migrate(text);
    expect(migration).toMatchObject({ outcome: 'failed', reason });
    if (migration.outcome === 'failed') expect(migration.problems.length).toBeGreaterThan(0);
  });
});

test('a text with random changes gives a valid manifest or a problem with a position', () => {
  const lines = AGENTSPEC.split('\n');
  const change = fc.record({
    line: fc.nat(lines.length - 1),
    text: fc.constantFrom(
      '',
      '  odd: 1',
      '    - x',
      '{',
      'a: &b c',
      '<<: *b',
      '? [k]',
      '%',
      '\t',
      '- - -',
      'spec:',
    ),
    doesReplace: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      const mutated = [...lines];
      for (const { line, text, doesReplace } of changes) mutated.splice(line, doesReplace ? 1 : 0, text);
      const migration = migrate(mutated.join('\n'));
      if (migration.outcome === 'migrated') expect(parseManifest(migration.text).ok).toBe(true);
      else if (migration.outcome === 'failed')
        expect(migration.problems[0]).toMatchObject({ line: expect.any(Number) as unknown });
    }),
    { numRuns: runs(150) },
  );
});
