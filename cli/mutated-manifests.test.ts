// Random manifests through the commands that read one: a result or errors with positions, but never an exception. A hang ends with
// the time limit of the test. `make soak` runs 100,000 mutations.
import { beforeEach, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { audit } from '../core/audit/audit.ts';
import { cardOf } from '../core/manifest/card.ts';
import { diffManifests } from '../authoring/diff/diff.ts';
import { manifestWarnings } from '../core/manifest/manifest-warnings.ts';
import type { Manifest, ManifestProblem } from '../core/manifest/manifest.ts';
import { parseManifest } from '../core/manifest/parse-manifest.ts';
import { parsePath, positionsIn } from '../core/manifest/position.ts';
import { migrate } from '../authoring/migrate/migrate.ts';
import { policyFilesOf } from '../core/policy/generate.ts';
import { diceOf } from '../testing/random/dice.ts';
import { FULL_MANIFEST, manifestText } from '../testing/manifests/manifest-text.ts';
import { mutatedManifest } from '../testing/manifests/mutate-manifest.ts';
import { IN_SOAK } from '../testing/time/real-time.ts';
import { SEED } from '../testing/random/seed.ts';
import { agentsMdBlock, withAgentsMdBlock } from './agents-md.ts';
import { commandFolder } from '../testing/cli/command-folder.ts';

const ROOT = dirname(import.meta.dirname);
const MUTATIONS = IN_SOAK ? 100_000 : 200;
/** Share of the mutations per manifest. The last two are large: one of their mutations takes ten times as long. */
const SOURCES: readonly [file: string, share: number][] = [
  ['examples/agents/compliant/agent.yaml', 0.16],
  ['examples/agents/gappy/agent.yaml', 0.16],
  ['examples/agents/lying/agent.yaml', 0.16],
  ['examples/agents/misbehaving/agent.yaml', 0.16],
  ['examples/agents/silent/agent.yaml', 0.16],
  ['examples/kubernetes/agent.yaml', 0.08],
  ['testing/manifests/full-agent.yaml', 0.1],
  ['testing/manifests/agentspec-full.yaml', 0.02],
];
const AT = new Date('2026-01-02T03:04:05Z');

function valid(text: string): Manifest {
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems[0]));
  return parsed.manifest;
}

const BASE = valid(FULL_MANIFEST);

/** Throws unless there is a problem, and each has a message and a position in the text. */
function checkProblems(problems: readonly ManifestProblem[], text: string): void {
  const lines = text.split('\n').length;
  const wrong = problems.find(
    ({ line, column, message }) => message === '' || !(line >= 1 && line <= lines && column >= 1),
  );
  if (problems.length === 0 || wrong !== undefined)
    throw new Error(`a problem without a position: ${JSON.stringify(wrong ?? null)}`);
}

/** Everything that the commands compute from a valid manifest. */
function useManifest(manifest: Manifest, text: string): void {
  const positionOf = positionsIn(text);
  for (const { path } of manifestWarnings(manifest)) positionOf(parsePath(path));
  for (const verdict of audit(manifest, { evidence: null, at: AT }).results)
    if (!verdict.passed) positionOf(parsePath(verdict.path));
  for (const { path } of diffManifests({ name: 'a', manifest: BASE }, { name: 'b', manifest }).changes)
    positionOf(path);
  diffManifests({ name: 'b', manifest }, { name: 'a', manifest: BASE });
  JSON.stringify([cardOf(manifest), policyFilesOf(manifest)]);
  const block = agentsMdBlock(manifest, 'agent.yaml');
  const once = withAgentsMdBlock('# Rules\n', manifest.metadata.name, block);
  const twice = once.ok ? withAgentsMdBlock(once.text, manifest.metadata.name, block) : once;
  if (!once.ok || !twice.ok || twice.text !== once.text)
    throw new Error('the block of AGENTS.md is not replaced');
}

/** Returns whether the manifest is valid. */
function useText(text: string): boolean {
  const parsed = parseManifest(text);
  if (parsed.ok) {
    useManifest(parsed.manifest, text);
    return true;
  }
  checkProblems(parsed.problems, text);
  const migration = migrate(text);
  if (migration.outcome === 'migrated') valid(migration.text);
  else if (migration.outcome === 'failed') checkProblems(migration.problems, text);
  else throw new Error('migrate calls an invalid manifest current');
  return false;
}

/** Adds to an error what is needed to repeat it. */
function withContext<T>(text: string, number: number, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new Error(`mutation ${number} with SEED=${SEED}: ${String(cause)}\n${text.slice(0, 20_000)}`, {
      cause,
    });
  }
}

describe('mutations give a result or errors with positions', () => {
  test.each(SOURCES)('of %s', (file, share) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const dice = diceOf(SEED);
    const count = { valid: 0, invalid: 0 };
    for (let number = 0; number < MUTATIONS * share; number += 1) {
      const mutated = mutatedManifest(text, dice);
      const isValid = withContext(mutated, number, () => useText(mutated));
      count[isValid ? 'valid' : 'invalid'] += 1;
    }
    // Otherwise the mutations would test too little. The one of agentspec is never a manifest.
    expect(count.invalid).toBeGreaterThan(0);
    if (!file.includes('agentspec')) expect(count.valid).toBeGreaterThan(0);
  });
});

describe('the commands with mutated files', () => {
  const { run, write } = commandFolder();
  beforeEach(() => write('base.yaml', FULL_MANIFEST));

  test.each([
    ['validate', 'agent.yaml'],
    ['audit', 'agent.yaml', '--format', 'sarif'],
    ['diff', 'base.yaml', 'agent.yaml', '--format', 'markdown'],
    ['export', 'agent.yaml', '--format', 'agentcard'],
    ['export', 'agent.yaml', '--format', 'agents-md-block'],
    ['migrate', 'agent.yaml', '--dry-run'],
    ['generate-policy', 'agent.yaml', '--json'],
  ])('%s %s', async (...args) => {
    const text = readFileSync(join(ROOT, 'examples/agents/compliant/agent.yaml'), 'utf8');
    const dice = diceOf(SEED + 1);
    for (let number = 0; number < MUTATIONS / 100; number += 1) {
      const mutated = mutatedManifest(text, dice);
      write('agent.yaml', mutated);
      const { output, errors, exitCode } = await run(args);
      const wrong = exitCode === 0 ? output === '' : !errors.startsWith('error: ');
      if (wrong)
        throw new Error(`${args.join(' ')} with SEED=${SEED}: exit ${exitCode}, ${errors}\n${mutated}`);
    }
  });
});

describe('a very long value takes linear time', () => {
  const LENGTH = 30_000;
  const LONG: readonly [string, string][] = [
    ['a URL that ends with a blank', `http://${'a'.repeat(LENGTH)} `],
    ['a colon and slashes', `http://a:${'/'.repeat(LENGTH)}x`],
    ['a key and dots', `eyJ${'a'.repeat(2_000)}.`.repeat(LENGTH / 2_000)],
    ['slashes in the middle', `http://x${'/'.repeat(LENGTH)}x`],
    ['blanks', `x${' '.repeat(LENGTH)}x`],
    ['line breaks', `x${'\n'.repeat(LENGTH / 2)}x`],
    ['digits', `1.0.0-${'1'.repeat(LENGTH)}!`],
    ['colons', `x${':'.repeat(LENGTH)}x`],
  ];
  const PATHS = [
    ['metadata', 'version'],
    ['metadata', 'description'],
    ['spec', 'model', 'provider'],
    ['spec', 'tools', '0', 'name'],
    ['spec', 'tools', '0', 'description'],
    ['spec', 'mcp', 'servers', '0', 'url'],
    ['spec', 'requires', 'services', '0', 'address'],
    ['spec', 'memory', 'shortTerm', 'connection'],
    ['spec', 'compliance', 'suppressions', '0', 'expires'],
    ['spec', 'api', 'url'],
    ['spec', 'api', 'healthEndpoint'],
    ['spec', 'api', 'auth', 'jwksUri'],
    ['spec', 'subagents', '1', 'ref', 'a2a', 'url'],
  ];

  test.each(LONG)('%s', (_what, value) => {
    for (const path of PATHS) {
      const tree = parse(FULL_MANIFEST) as Record<string, unknown>;
      const parent = path.slice(0, -1).reduce((node, key) => node[key] as Record<string, unknown>, tree);
      expect(parent[path.at(-1) ?? '']).toEqual(expect.any(String));
      parent[path.at(-1) ?? ''] = value;
      useText(stringify(tree, { lineWidth: 0 }));
    }
  });

  test('a long list of equal items', () => {
    const tree = parse(FULL_MANIFEST) as { metadata: object };
    const tags = Array.from({ length: 10_000 }, () => 'a');
    expect(useText(JSON.stringify({ ...tree, metadata: { ...tree.metadata, tags } }))).toBe(true);
  });

  test('many unknown fields of another format', () => {
    const fields = Array.from({ length: 2_001 }, (_, index) => `  field${index}: 1\n`).join('');
    const text = manifestText(fields)
      .replace('platform.io/v1', 'agentspec.io/v1')
      .replace('PlatformAgent', 'AgentSpec');
    expect(migrate(text)).toMatchObject({ outcome: 'failed', reason: 'it has too many unknown fields' });
  });
});

test('members with the names of methods', () => {
  const odd = '[[{ toString: 1, valueOf: 1, constructor: 1, __proto__: 1, toJSON: 1 }]]';
  expect(useText(`${FULL_MANIFEST}x-odd: ${odd}\n`)).toBe(true);
  expect(useText(`apiVersion: ${odd}\nkind: ${odd}\n`)).toBe(false);
});
