import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../e2e/cluster/run.ts';
import { clusterBinary } from '../../testing/cluster-binary.ts';
import { startOpa, whyNoOpa, writePolicy, type Opa } from '../../testing/opa.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { inputs, manifests, RULE_SETS } from '../../testing/policy-cases.ts';
import { SEED } from '../../testing/seed.ts';
import fc from '../../testing/properties.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { denyPathOf, packageOf } from './package-name.ts';
import type { PolicyInput } from './policy-input.ts';
import type { DenialReason } from './policy-rule.ts';
import { canariesOf, evaluate, policyOf } from './policy.ts';
import { POLICY_RULES } from './rules.ts';

/** How many pairs of a manifest and facts both engines are asked (`make soak`: 500,000). */
const PAIRS = Number(process.env['PAIRS'] ?? 5_000);
const INPUTS_EACH = 50;
const MANIFESTS_AT_ONCE = Math.min(200, Math.ceil(PAIRS / INPUTS_EACH));

/** A third of the engine's time would go into a heap that its end gives back a second later. */
const ENGINE_ENV = { ...process.env, GOGC: 'off' };

const ALL = POLICY_RULES.map(({ reason }) => reason);
const reason = whyNoOpa();
const title = reason === undefined ? 'the real policy engine' : `the real policy engine (${reason})`;

(reason === undefined ? describe : describe.skip)(title, () => {
  let scratch: string;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'agent-compliance-opa-'));
  });

  afterAll(() => rm(scratch, { recursive: true, force: true }));

  /** Runs the binary; a failure is shown with all it says. */
  async function opa(...args: string[]): Promise<string> {
    const { stdout, stderr, code } = await run([clusterBinary('opa'), ...args], { env: ENGINE_ENV });
    expect({ code, said: code === 0 ? '' : `${stdout}${stderr}` }).toEqual({ code: 0, said: '' });
    return stdout;
  }

  /** Writes each manifest's policy into a folder of its own and gives the folders. */
  async function write(name: string, all: readonly Manifest[]): Promise<string[]> {
    const folders = all.map(({ metadata }) => join(scratch, name, metadata.name));
    for (const [index, manifest] of all.entries()) await writePolicy(folders[index] ?? '', manifest);
    return folders;
  }

  /** Strict compiler, formatter and the generated tests. */
  async function stands(folders: readonly string[]): Promise<void> {
    await opa('check', '--strict', ...folders);
    expect(await opa('fmt', '--list', ...folders)).toBe('');
    await opa('test', ...folders);
  }

  test('takes every set of rules: strict, formatted, and every line tested by the generated tests', async () => {
    const folders = await write(
      'sets',
      RULE_SETS.map((reasons, index) => plainManifest(`set-${index}`, reasons)),
    );
    await stands(folders);
    const report = JSON.parse(await opa('test', '--coverage', ...folders)) as {
      files: Record<string, { coverage: number }>;
    };
    const covered = folders.map((folder) => report.files[join(folder, 'policy.rego')]?.coverage);
    expect(covered).toEqual(folders.map(() => 100));
  });

  test(
    `denies exactly what the builtin engine denies, in ${PAIRS} pairs of a manifest and facts (SEED=${SEED})`,
    async () => {
      const seen = new Map<DenialReason, { denied: number; allowed: number }>();
      for (const reason of ALL) seen.set(reason, { denied: 0, allowed: 0 });
      let asked = 0;
      for (let seed = SEED; asked < PAIRS; seed++) {
        const cases = casesOf(seed);
        const folders = await write(
          `batch-${seed}`,
          cases.map(({ manifest }) => manifest),
        );
        await stands(folders);
        const answers = await askAll(folders, cases);
        for (const [index, { manifest, policy, asked: all }] of cases.entries()) {
          const builtin = all.map((input) => evaluate(policy, input));
          const engine = answers[index];
          // Compared as a whole first: a difference is then shown with the one input that makes it.
          if (JSON.stringify(engine) !== JSON.stringify(builtin))
            for (const [at, input] of all.entries())
              expect({ seed, manifest, input, denials: engine?.[at] }).toEqual({
                seed,
                manifest,
                input,
                denials: builtin[at],
              });
          expect(engine).toHaveLength(all.length);
          for (const { rule } of policy.rules)
            for (const denials of builtin) {
              const counts = seen.get(rule.reason);
              if (counts) counts[denials.includes(rule.reason) ? 'denied' : 'allowed']++;
            }
          asked += all.length;
        }
        await rm(join(scratch, `batch-${seed}`), { recursive: true });
      }
      expect(asked).toBeGreaterThanOrEqual(PAIRS);
      // The pairs are worth something only when every rule went both ways often.
      for (const counts of seen.values()) {
        expect(counts.denied).toBeGreaterThan(PAIRS / 100);
        expect(counts.allowed).toBeGreaterThan(PAIRS / 100);
      }
    },
    60_000 + PAIRS * 4,
  );

  interface Case {
    manifest: Manifest;
    policy: ReturnType<typeof policyOf>;
    asked: PolicyInput[];
  }

  function casesOf(seed: number): Case[] {
    const sampled = fc.sample(manifests(), { numRuns: MANIFESTS_AT_ONCE, seed });
    return sampled.map((each, index) => {
      const name = `${each.metadata.name.slice(0, 12)}-${index}`;
      const manifest = { ...each, metadata: { ...each.metadata, name } };
      const asked = fc.sample(inputs(manifest), { numRuns: INPUTS_EACH, seed: seed + index });
      return { manifest, policy: policyOf(manifest), asked };
    });
  }

  /** The denials of every input of every case, in one run of the engine that has all agents loaded at once. */
  async function askAll(folders: readonly string[], cases: readonly Case[]): Promise<string[][][]> {
    const questions = cases.map(
      ({ manifest }, index) =>
        `results[${index}] := [denials | some each in input[${index}]; denials := data.${packageOf(manifest.metadata.name)}.deny with input as each]\n`,
    );
    const harness = join(scratch, 'harness.rego');
    const input = join(scratch, 'input.json');
    await writeFile(harness, `package harness\n\n${questions.join('')}`);
    await writeFile(input, JSON.stringify(cases.map(({ asked }) => asked)));
    const data = [harness, ...folders].flatMap((each) => ['--data', each]);
    const output = await opa('eval', '--format', 'raw', '--input', input, ...data, 'data.harness.results');
    const results = JSON.parse(output) as Record<string, string[][]>;
    return cases.map((_each, index) => results[index] ?? []);
  }

  describe('asked over HTTP', () => {
    const NAMES = [
      ...[
        'as',
        'contains',
        'data',
        'default',
        'else',
        'every',
        'false',
        'if',
        'import',
        'in',
        'input',
        'not',
      ],
      ...['null', 'package', 'some', 'true', 'with', 'and', 'or', 'deny', 'config', 'platform', 'agent'],
      ...['3d-agent', '0', '7', '007', '42', '1e9', '0x10', '1-000', '12345678901234567890', 'a--b'],
      ...['fitness-tracker', 'travel', 'travel-test', 'n'.repeat(63), '9'.repeat(63)],
    ];
    let engine: Opa;

    beforeAll(async () => {
      const folders = await write(
        'names',
        NAMES.map((name) => plainManifest(name, ALL)),
      );
      // Each as a ConfigMap is mounted: the files are links into a hidden folder, which is a link as well.
      for (const folder of folders) await mountLikeConfigMap(folder);
      engine = await startOpa(folders);
    });

    afterAll(() => engine?.close());

    async function ask(name: string, input: PolicyInput): Promise<unknown> {
      const response = await fetch(`${engine.url}${denyPathOf(name)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ input }),
      });
      return { status: response.status, body: await response.json() };
    }

    test.each(NAMES)('the agent %s has its rules', async (name) => {
      const policy = policyOf(plainManifest(name, ALL));
      for (const { input } of canariesOf(policy))
        expect(await ask(name, input)).toEqual({ status: 200, body: { result: evaluate(policy, input) } });
      const report: PolicyInput = { agent_name: name, request_type: 'report' };
      expect(await ask(name, report)).toEqual({ status: 200, body: { result: [] } });
    });

    test('an agent that is not loaded has no result, which is not an empty one', async () => {
      const input: PolicyInput = { agent_name: 'other', request_type: 'llm_call' };
      expect(await ask('other', input)).toEqual({ status: 200, body: {} });
      expect(await ask('43', input)).toEqual({ status: 200, body: {} });
    });
  });

  test.each([['with'], ['without']])(
    'takes rules of one’s own beside those of a manifest %s rules',
    async (kind) => {
      const reasons = kind === 'with' ? (['pii_detector_not_invoked'] as const) : [];
      const manifest = plainManifest('own-rules', reasons);
      const [generated = ''] = await write(`own-${kind}`, [manifest]);
      const own = join(scratch, `own-${kind}-beside`);
      await mkdir(own);
      await writeFile(
        join(own, 'own.rego'),
        'package platform.agent.own_rules\n\ndeny contains "after_hours" if input.tokens_today > 5\n',
      );
      await stands([generated, own]);
      const engine = await startOpa([generated, own]);
      try {
        const input: PolicyInput = { agent_name: 'own-rules', request_type: 'llm_call', tokens_today: 6 };
        const body = JSON.stringify({ input });
        const answer = await fetch(`${engine.url}${denyPathOf('own-rules')}`, { method: 'POST', body });
        expect(await answer.json()).toEqual({ result: ['after_hours', ...reasons] });
      } finally {
        await engine.close();
      }
    },
  );

  test('keeps agents in one engine apart, the one without rules included', async () => {
    const strict = { ...plainManifest('strict', ['daily_token_limit_exceeded']) };
    const costControls = { maxTokensPerDay: 5 };
    strict.spec = { ...strict.spec, model: { ...strict.spec.model, costControls } };
    const all = [strict, plainManifest('loose', ['daily_token_limit_exceeded']), plainManifest('free', [])];
    const engine = await startOpa(await write('apart', all));
    try {
      const answers = await Promise.all(
        all.map(async ({ metadata: { name } }) => {
          const input: PolicyInput = { agent_name: name, request_type: 'llm_call', tokens_today: 999 };
          const body = JSON.stringify({ input });
          return (await fetch(`${engine.url}${denyPathOf(name)}`, { method: 'POST', body })).json();
        }),
      );
      expect(answers).toEqual([{ result: ['daily_token_limit_exceeded'] }, { result: [] }, { result: [] }]);
    } finally {
      await engine.close();
    }
  });
});

async function mountLikeConfigMap(folder: string): Promise<void> {
  const hidden = join(folder, '..2026_03_01');
  const files = await readdir(folder);
  await mkdir(hidden);
  await symlink('..2026_03_01', join(folder, '..data'));
  for (const file of files) {
    await rename(join(folder, file), join(hidden, file));
    await symlink(join('..data', file), join(folder, file));
  }
}
