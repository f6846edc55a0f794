import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../e2e/cluster/run.ts';
import { clusterBinary } from '../../testing/machine/cluster-binary.ts';
import { startOpa, whyNoOpa, writePolicy, type Opa } from '../../testing/sidecar/opa.ts';
import { plainManifest } from '../../testing/manifests/plain-manifest.ts';
import { egressInputs, inputs, manifests, RULE_SETS } from '../../testing/sidecar/policy-cases.ts';
import { SEED } from '../../testing/random/seed.ts';
import fc from '../../testing/random/properties.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { denyPathOf, egressPathOf, packageOf } from './package-name.ts';
import type { PolicyInput } from './policy-input.ts';
import { EGRESS_RULES } from './egress-rules.ts';
import { canariesOf, egressRulesOf, evaluate, isEgress, policyOf } from './policy.ts';
import { POLICY_RULES } from './rules.ts';

/** Number of pairs of manifest and input that both engines evaluate (`make soak`: 500,000). */
const PAIRS = Number(process.env['PAIRS'] ?? 5_000);
/** Of each manifest: requests, and as many calls on lanes. */
const INPUTS_EACH = 50;
const MANIFESTS_AT_ONCE = Math.min(200, Math.ceil(PAIRS / (2 * INPUTS_EACH)));

/** GC would take a third of the run time of this short-lived process. */
const ENGINE_ENV = { ...process.env, GOGC: 'off' };

const ALL = POLICY_RULES.map(({ reason }) => reason);
const reason = whyNoOpa();
const title = reason === undefined ? 'real policy engine' : `real policy engine (${reason})`;

(reason === undefined ? describe : describe.skip)(title, () => {
  let scratch: string;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'agent-compliance-opa-'));
  });

  afterAll(() => rm(scratch, { recursive: true, force: true }));

  /** Runs the binary; a failure includes the whole output. */
  async function opa(...args: string[]): Promise<string> {
    const { stdout, stderr, code } = await run([clusterBinary('opa'), ...args], { env: ENGINE_ENV });
    expect({ code, output: code === 0 ? '' : `${stdout}${stderr}` }).toEqual({ code: 0, output: '' });
    return stdout;
  }

  /** Writes the policy of each manifest into a separate directory and returns the directories. */
  async function write(name: string, all: readonly Manifest[]): Promise<string[]> {
    const directories = all.map(({ metadata }) => join(scratch, name, metadata.name));
    for (const [index, manifest] of all.entries()) await writePolicy(directories[index] ?? '', manifest);
    return directories;
  }

  /** Strict compiler, formatter and the generated tests. */
  async function validate(directories: readonly string[]): Promise<void> {
    await opa('check', '--strict', ...directories);
    expect(await opa('fmt', '--list', ...directories)).toBe('');
    await opa('test', ...directories);
  }

  test('accepts every set of rules: strict, formatted, and fully covered by the generated tests', async () => {
    const constrained = plainManifest('constrained', []);
    constrained.spec.tools = [{ name: 'pay', constraints: { required: ['amount'] } }];
    const sets = RULE_SETS.map((reasons, index) => plainManifest(`set-${index}`, reasons));
    const directories = await write('sets', [...sets, constrained]);
    await validate(directories);
    const report = JSON.parse(await opa('test', '--coverage', ...directories)) as {
      files: Record<string, { coverage: number }>;
    };
    const covered = directories.map((directory) => report.files[join(directory, 'policy.rego')]?.coverage);
    expect(covered).toEqual(directories.map(() => 100));
  });

  test(
    `denies exactly what the builtin engine denies, for ${PAIRS} pairs of manifest and input (SEED=${SEED})`,
    async () => {
      const countsByReason = new Map<string, { denied: number; allowed: number }>();
      for (const reason of ALL) countsByReason.set(reason, { denied: 0, allowed: 0 });
      for (const { reason } of EGRESS_RULES)
        countsByReason.set(`egress ${reason}`, { denied: 0, allowed: 0 });
      let evaluated = 0;
      for (let seed = SEED; evaluated < PAIRS; seed++) {
        const cases = casesOf(seed);
        const directories = await write(
          `batch-${seed}`,
          cases.map(({ manifest }) => manifest),
        );
        await validate(directories);
        const results = await evaluateAll(directories, cases);
        for (const [index, { manifest, policy, inputs: all }] of cases.entries()) {
          const builtin = all.map((input) => evaluate(policy, input));
          const engine = results[index];
          // Compared as a whole first. A difference is then reported with the input that causes it.
          if (JSON.stringify(engine) !== JSON.stringify(builtin))
            for (const [at, input] of all.entries())
              expect({ seed, manifest, input, denials: engine?.[at] }).toEqual({
                seed,
                manifest,
                input,
                denials: builtin[at],
              });
          expect(engine).toHaveLength(all.length);
          for (const [at, denials] of builtin.entries()) {
            const isOnLane = isEgress(all[at] ?? { request_type: 'report' });
            for (const { rule } of isOnLane ? egressRulesOf(manifest) : policy.rules) {
              const counts = countsByReason.get(isOnLane ? `egress ${rule.reason}` : rule.reason);
              if (counts) counts[denials.includes(rule.reason) ? 'denied' : 'allowed']++;
            }
          }
          evaluated += all.length;
        }
        await rm(join(scratch, `batch-${seed}`), { recursive: true });
      }
      expect(evaluated).toBeGreaterThanOrEqual(PAIRS);
      // The comparison is meaningful only if every rule both denied and allowed often.
      for (const [reason, counts] of countsByReason) {
        expect([reason, counts.denied > PAIRS / 100]).toEqual([reason, true]);
        expect([reason, counts.allowed > PAIRS / 100]).toEqual([reason, true]);
      }
    },
    60_000 + PAIRS * 4,
  );

  interface Case {
    manifest: Manifest;
    policy: ReturnType<typeof policyOf>;
    inputs: PolicyInput[];
  }

  function casesOf(seed: number): Case[] {
    const sampled = fc.sample(manifests(), { numRuns: MANIFESTS_AT_ONCE, seed });
    return sampled.map((each, index) => {
      const name = `${each.metadata.name.slice(0, 12)}-${index}`;
      const manifest = { ...each, metadata: { ...each.metadata, name } };
      const requests = fc.sample(inputs(manifest), { numRuns: INPUTS_EACH, seed: seed + index });
      const calls = fc.sample(egressInputs(manifest), { numRuns: INPUTS_EACH, seed: seed + index });
      return { manifest, policy: policyOf(manifest), inputs: [...requests, ...calls] };
    });
  }

  /** The denials for every input of every case, from one run of the engine with all agents loaded. */
  async function evaluateAll(directories: readonly string[], cases: readonly Case[]): Promise<string[][][]> {
    const queries = cases.map(
      ({ manifest }, index) =>
        `results[${index}] := [denials | some each in input[${index}]; denials := data.${packageOf(manifest.metadata.name)}[object.get(each, "rule", "deny")] with input as each]\n`,
    );
    const harness = join(scratch, 'harness.rego');
    const input = join(scratch, 'input.json');
    await writeFile(harness, `package harness\n\n${queries.join('')}`);
    const withRule = (each: PolicyInput) => (isEgress(each) ? { ...each, rule: 'deny_egress' } : each);
    await writeFile(input, JSON.stringify(cases.map((each) => each.inputs.map(withRule))));
    const data = [harness, ...directories].flatMap((each) => ['--data', each]);
    const output = await opa('eval', '--format', 'raw', '--input', input, ...data, 'data.harness.results');
    const results = JSON.parse(output) as Record<string, string[][]>;
    return cases.map((_each, index) => results[index] ?? []);
  }

  describe('over HTTP', () => {
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
      const directories = await write(
        'names',
        NAMES.map((name) => plainManifest(name, ALL)),
      );
      // Like a ConfigMap mount: the files are symlinks into a hidden directory, which is also a symlink.
      for (const directory of directories) await mountLikeConfigMap(directory);
      engine = await startOpa(directories);
    });

    afterAll(() => engine?.close());

    async function query(name: string, input: PolicyInput): Promise<unknown> {
      const path = (isEgress(input) ? egressPathOf : denyPathOf)(name);
      const response = await fetch(`${engine.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ input }),
      });
      return { status: response.status, body: await response.json() };
    }

    test.each(NAMES)('agent %s has its rules', async (name) => {
      const policy = policyOf(plainManifest(name, ALL));
      for (const { input } of canariesOf(policy, true))
        expect(await query(name, input)).toEqual({ status: 200, body: { result: evaluate(policy, input) } });
      const report: PolicyInput = { agent_name: name, request_type: 'report' };
      expect(await query(name, report)).toEqual({ status: 200, body: { result: [] } });
    });

    test('an agent that is not loaded has no result instead of an empty one', async () => {
      const input: PolicyInput = { agent_name: 'other', request_type: 'llm_call' };
      expect(await query('other', input)).toEqual({ status: 200, body: {} });
      expect(await query('43', input)).toEqual({ status: 200, body: {} });
    });
  });

  test.each([['with'], ['without']])(
    'accepts custom rules next to the rules of a manifest %s rules',
    async (kind) => {
      const reasons = kind === 'with' ? (['pii_detector_not_invoked'] as const) : [];
      const manifest = plainManifest('own-rules', reasons);
      const [generated = ''] = await write(`own-${kind}`, [manifest]);
      const custom = join(scratch, `own-${kind}-custom`);
      await mkdir(custom);
      await writeFile(
        join(custom, 'own.rego'),
        'package platform.agent.own_rules\n\ndeny contains "after_hours" if input.tokens_today > 5\n',
      );
      await validate([generated, custom]);
      const engine = await startOpa([generated, custom]);
      try {
        const input: PolicyInput = { agent_name: 'own-rules', request_type: 'llm_call', tokens_today: 6 };
        const body = JSON.stringify({ input });
        const response = await fetch(`${engine.url}${denyPathOf('own-rules')}`, { method: 'POST', body });
        expect(await response.json()).toEqual({ result: ['after_hours', ...reasons] });
      } finally {
        await engine.close();
      }
    },
  );

  test('decides requests, but no calls on lanes, with a policy of an earlier version', async () => {
    const manifest = plainManifest('earlier', ['daily_token_limit_exceeded']);
    const [directory = ''] = await write('earlier', [manifest]);
    const file = join(directory, 'policy.rego');
    const [rules = ''] = (await readFile(file, 'utf8')).split('\ndeny_egress', 1);
    await writeFile(file, rules.replace(/^import .*\.egress\n/m, ''));
    await rm(join(directory, 'policy_test.rego'));
    const engine = await startOpa([directory]);
    try {
      const body = JSON.stringify({
        input: { agent_name: 'earlier', request_type: 'llm_call', tokens_today: 999_999 },
      });
      const paths = [denyPathOf('earlier'), egressPathOf('earlier')];
      const responses = paths.map(async (path) =>
        (await fetch(`${engine.url}${path}`, { method: 'POST', body })).json(),
      );
      expect(await Promise.all(responses)).toEqual([{ result: ['daily_token_limit_exceeded'] }, {}]);
    } finally {
      await engine.close();
    }
  });

  test('isolates agents in one engine, including an agent without rules', async () => {
    const strict = { ...plainManifest('strict', ['daily_token_limit_exceeded']) };
    const costControls = { maxTokensPerDay: 5 };
    strict.spec = { ...strict.spec, model: { ...strict.spec.model, costControls } };
    const all = [strict, plainManifest('loose', ['daily_token_limit_exceeded']), plainManifest('free', [])];
    const engine = await startOpa(await write('apart', all));
    try {
      const responses = await Promise.all(
        all.map(async ({ metadata: { name } }) => {
          const input: PolicyInput = { agent_name: name, request_type: 'llm_call', tokens_today: 999 };
          const body = JSON.stringify({ input });
          return (await fetch(`${engine.url}${denyPathOf(name)}`, { method: 'POST', body })).json();
        }),
      );
      expect(responses).toEqual([{ result: ['daily_token_limit_exceeded'] }, { result: [] }, { result: [] }]);
    } finally {
      await engine.close();
    }
  });
});

async function mountLikeConfigMap(directory: string): Promise<void> {
  const hidden = join(directory, '..2026_03_01');
  const files = await readdir(directory);
  await mkdir(hidden);
  await symlink('..2026_03_01', join(directory, '..data'));
  for (const file of files) {
    await rename(join(directory, file), join(hidden, file));
    await symlink(join('..data', file), join(directory, file));
  }
}
