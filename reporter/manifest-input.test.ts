import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { assess } from '../core/gap/assess.ts';
import { check } from '../core/health/check.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { evaluate, policyOf } from '../core/policy/policy.ts';
import { gather } from '../probe/gather.ts';
import { manifestFrom, ManifestInputError } from './manifest-input.ts';

const MANIFEST: Manifest = {
  apiVersion: 'platform.io/v1',
  kind: 'PlatformAgent',
  metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
  spec: { model: { provider: 'openai', id: 'gpt', apiKey: '$env:KEY' } },
};

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'manifest-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the manifest of a reporter', () => {
  test('is the given object', () => {
    expect(manifestFrom(MANIFEST)).toBe(MANIFEST);
  });

  test('is read from a .json file', () => {
    const path = join(directory, 'agent.json');
    writeFileSync(path, JSON.stringify(MANIFEST));
    expect(manifestFrom(path)).toEqual(MANIFEST);
  });

  test.each<[string, unknown, string[]]>([
    [
      'a YAML path',
      'agent.yaml',
      ['"agent.yaml" is not a .json file; parse agent.yaml with a YAML library and pass the object'],
    ],
    ['a missing file', '/nonexistent/agent.json', ['cannot read /nonexistent/agent.json as JSON']],
    [
      'undefined',
      undefined,
      [
        'metadata.name must be a non-empty string',
        'spec.model.provider must be a non-empty string',
        'spec.model.id must be a non-empty string',
        'spec.model.apiKey must be a non-empty string',
      ],
    ],
    [
      'members of wrong types, with all problems at once',
      {
        ...MANIFEST,
        spec: { ...MANIFEST.spec, tools: ['a'], requires: { envVars: [1], services: {} }, mcp: [] },
      },
      [
        'spec.tools must be a list of objects with a name',
        'spec.mcp must be an object',
        'spec.requires.envVars must be a list of strings',
        'spec.requires.services must be a list of objects',
      ],
    ],
    [
      'nested members of wrong types, each with its path',
      {
        ...MANIFEST,
        spec: {
          model: { ...MANIFEST.spec.model, fallback: {}, costControls: { maxTokensPerDay: '1000' } },
          tools: [{ name: 'a' }, { name: 'b', annotations: { destructiveHint: 'yes' } }],
          mcp: { servers: [{ name: 'files', command: ['npx'] }] },
          memory: { shortTerm: { connection: null } },
          requires: { services: [{ address: 6379 }] },
          guardrails: { output: [{ type: 'toxicity-filter', threshold: '0.7' }] },
          observability: { tracing: { backend: 'otel', endpoint: {} } },
        },
      },
      [
        'spec.model.fallback.provider must be a non-empty string',
        'spec.model.fallback.id must be a non-empty string',
        'spec.model.fallback.apiKey must be a non-empty string',
        'spec.model.costControls.maxTokensPerDay must be a number',
        'spec.tools[1].annotations.destructiveHint must be true or false',
        'spec.mcp.servers[0].command must be a string',
        'spec.memory.shortTerm.connection must be a string',
        'spec.requires.services[0].address must be a string',
        'spec.guardrails.output[0].threshold must be a number',
        'spec.observability.tracing.endpoint must be a string',
      ],
    ],
  ])('rejects %s', (_name, input, problems) => {
    expect(() => manifestFrom(input as Manifest)).toThrow(expect.objectContaining({ problems }));
  });

  test('accepts a manifest with every member', async () => {
    const text = await readFile(join(import.meta.dirname, '../testing/manifests/full-agent.yaml'), 'utf8');
    const full = parse(text) as Manifest;
    expect(manifestFrom(full)).toBe(full);
  });

  test('is either rejected or checked without an error if one value is replaced by a hostile value', async () => {
    const text = await readFile(join(import.meta.dirname, '../testing/manifests/full-agent.yaml'), 'utf8');
    const full = parse(text) as object;
    for (const path of pathsIn(full)) {
      for (const value of [null, 7, {}, [null]]) {
        const hostile = structuredClone(full);
        replaceAt(hostile, path, value);
        try {
          manifestFrom(hostile as Manifest);
        } catch (error) {
          expect([path, error]).toEqual([path, expect.any(ManifestInputError)]);
          continue;
        }
        const manifest = hostile as Manifest;
        const environment = { kind: 'own' as const, variables: {}, folder: null, secretDir: null };
        // Skips all connections: the test only checks that the manifest can be read.
        const skippedCategories = ['service', 'mcp', 'memory', 'tracing'] as const;
        const facts = await gather({
          manifest,
          upstreamUrl: null,
          environment,
          skippedCategories,
          now: () => new Date(),
        });
        expect([path, check(manifest, facts).agentName]).toEqual([path, manifest.metadata.name]);
        expect(evaluate(policyOf(manifest), { agent_name: 'x', request_type: 'llm_call' })).toBeDefined();
        expect(assess(manifest, facts).score).toBeLessThanOrEqual(100);
      }
    }
  }, 60_000);
});

type Path = (string | number)[];

function pathsIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return path.length === 0 ? [] : [path];
  const inner = Object.entries(value).flatMap(([key, each]) =>
    pathsIn(each, [...path, Array.isArray(value) ? Number(key) : key]),
  );
  return path.length === 0 ? inner : [path, ...inner];
}

function replaceAt(value: unknown, path: Path, by: unknown): void {
  const last = path.at(-1) ?? '';
  let holder = value as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string | number, unknown>;
  holder[last] = by;
}
