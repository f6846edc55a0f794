import { beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import type { Manifest } from '../../core/manifest/manifest.ts';
import { egressRulesOf } from '../../core/policy/policy.ts';
import { policyFilesOf } from '../../core/policy/generate.ts';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, names, read, run, write } = commandFolder();

beforeEach(() => write('agent.yaml', LIMITED));

const LIMITED =
  manifestText(`    costControls: { maxMonthlyUSD: 75, usdPerMillionTokens: { input: 1, output: 4 } }
  guardrails: { input: [{ type: pii-detector }] }
`);
const OTHER = LIMITED.replace('minimal', 'other');
const FILES = ['data.json', 'policy.rego', 'policy_test.rego'];

/** All files of a directory, including hidden files. */
function contentOf(directory: string): Record<string, string> {
  return Object.fromEntries(names(directory).map((name) => [name, read(`${directory}/${name}`)]));
}

function manifestOf(text: string): Manifest {
  const parsed = parseManifest(text);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.manifest;
}

const generated = (text: string): Record<string, string> => policyFilesOf(manifestOf(text));

const RULE_SET = {
  agentName: 'minimal',
  package: 'platform.agent.minimal',
  denyPath: '/v1/data/platform/agent/minimal/deny',
  rules: [
    {
      reason: 'monthly_cost_limit_exceeded',
      severity: 'critical',
      field: 'spec.model.costControls.maxMonthlyUSD',
      deniesWhen: "today's cost has reached maxMonthlyUSD / 30",
    },
    {
      reason: 'pii_detector_not_invoked',
      severity: 'high',
      field: 'spec.guardrails.input',
      deniesWhen: 'a model call does not report that the pii-detector was invoked',
    },
  ],
  config: { maxMonthlyUSD: 75, maxDailyUSD: 2.5 },
  egressDenyPath: '/v1/data/platform/agent/minimal/deny_egress',
  egressRules: egressRulesOf(manifestOf(LIMITED)).map(
    ({ rule: { reason, severity, field, deniesWhen } }) => ({
      ...{ reason, severity, field, deniesWhen },
    }),
  ),
  egressConfig: expect.objectContaining({ maxDailyUSD: 2.5, tools: [] }),
};

const WROTE = `wrote policy/policy.rego
wrote policy/data.json
wrote policy/policy_test.rego
next: opa run --server --ignore '.*' policy
`;

describe('platform generate-policy', () => {
  test('prints the rules of the manifest and writes nothing', async () => {
    const { output, ...rest } = await run('generate-policy agent.yaml');
    expect(rest).toEqual({ errors: '', exitCode: 0 });
    expect(output).toContain(`minimal: 2 rules, package platform.agent.minimal

REASON                       SEVERITY  DECLARED AT                            DENIES WHEN
monthly_cost_limit_exceeded  critical  spec.model.costControls.maxMonthlyUSD  today's cost has reached maxMonthlyUSD / 30
pii_detector_not_invoked     high      spec.guardrails.input                  a model call does not report that the pii-detector was invoked

calls on egress lanes: 4 rules

`);
    for (const { rule } of egressRulesOf(manifestOf(LIMITED)))
      expect(output).toMatch(new RegExp(`^${rule.reason} +${rule.severity} `, 'm'));
    expect(output).toContain(
      '\nto write the rules for a policy engine: platform generate-policy agent.yaml --output <dir>\n',
    );
    expect(names()).toEqual(['agent.yaml']);
  });

  test('prints only the rules of the egress lanes of a manifest that declares no behavior', async () => {
    write('agent.yaml', manifestText());
    const { output } = await run('generate-policy agent.yaml');
    expect(output).toMatch(
      /^minimal: 0 rules, package platform\.agent\.minimal\n\ncalls on egress lanes: 3 rules\n\n/,
    );
    expect(output).toContain('\ntool_not_declared ');
  });

  test('--json prints the rule set', async () => {
    const { output, errors, exitCode } = await run('generate-policy agent.yaml --json');
    expect(JSON.parse(output)).toEqual(RULE_SET);
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  });

  test.each(['', ' --json', ' --out policy', ' --out policy --json'])(
    'prints a note that a cost limit requires a price%s',
    async (options) => {
      const note =
        'note: monthly_cost_limit_exceeded can never deny: the cost is unknown without spec.model.costControls.usdPerMillionTokens (input and output)\n';
      for (const price of ['', ', usdPerMillionTokens: { input: 1 }']) {
        write('agent.yaml', manifestText(`    costControls: { maxMonthlyUSD: 75${price} }\n`));
        const { errors, exitCode } = await run(`generate-policy agent.yaml${options}`);
        expect({ errors, exitCode }).toEqual({ errors: note, exitCode: 0 });
      }
    },
  );

  test('--out writes three files to a new directory', async () => {
    expect(await run('generate-policy agent.yaml --out policy')).toEqual({
      output: WROTE,
      errors: '',
      exitCode: 0,
    });
    expect(contentOf('policy')).toEqual(generated(LIMITED));
  });

  test('--out with --json prints the rule set and the files', async () => {
    const { output, exitCode } = await run('generate-policy agent.yaml --json --out deep/er');
    expect(JSON.parse(output)).toEqual({
      ...RULE_SET,
      files: ['deep/er/policy.rego', 'deep/er/data.json', 'deep/er/policy_test.rego'],
    });
    expect(exitCode).toBe(0);
    expect(contentOf('deep/er')).toEqual(generated(LIMITED));
  });

  test('also writes a policy without rules, so that the engine denies nothing', async () => {
    write('agent.yaml', manifestText());
    expect((await run('generate-policy agent.yaml --out policy')).exitCode).toBe(0);
    expect(contentOf('policy')).toEqual(generated(manifestText()));
  });

  test('replaces an earlier policy of the same agent, also the target of a link', async () => {
    await run('generate-policy agent.yaml --out policy');
    const changed = manifestText('    costControls: { maxTokensPerDay: 5 }\n');
    write('agent.yaml', changed);
    write('linked.json', contentOf('policy')['data.json'] ?? '');
    rmSync(at('policy/data.json'));
    symlinkSync('../linked.json', at('policy/data.json'));
    expect(await run('generate-policy agent.yaml --out policy')).toEqual({
      output: WROTE,
      errors: '',
      exitCode: 0,
    });
    expect(contentOf('policy')).toEqual(generated(changed));
    expect(read('linked.json')).toBe(generated(changed)['data.json']);
  });

  test.each([
    ['policy.rego', 'package mine\n'],
    ['policy.rego', ''],
    ['policy_test.rego', '# Made by hand.\npackage platform.agent_test.minimal\n'],
    ['data.json', '{"mine": 1}'],
    ['data.json', '{"platform": {"agent": {"minimal": {"config": {}}}}, "mine": 1}'],
    ['data.json', '{"platform": {"agent": {"minimal": {"config": {}, "mine": 1}}}}'],
    ['data.json', '{"platform": {"agent": {"minimal": {"config": {}}, "mine": {}}}}'],
    ['data.json', '{"platform": {"agent": {}}}'],
    ['data.json', 'null'],
    ['data.json', 'not JSON'],
  ])('does not overwrite a %s that it did not create: %s', async (name, text) => {
    write(`policy/${name}`, text);
    const reason = `policy/${name} was not created by this command; nothing was written`;
    expect(await run('generate-policy agent.yaml --out policy')).toEqual({
      output: '',
      errors: `error: ${reason}\n`,
      exitCode: 1,
    });
    const { output } = await run('generate-policy agent.yaml --out policy --json');
    expect(JSON.parse(output)).toEqual({ error: reason });
    expect(contentOf('policy')).toEqual({ [name]: text });
  });

  test.each(FILES)('does not overwrite a %s of another agent', async (name) => {
    write(`policy/${name}`, generated(OTHER)[name] ?? '');
    expect(await run('generate-policy agent.yaml --out policy')).toEqual({
      output: '',
      errors: `error: policy/${name} belongs to another agent (other), and each agent needs its own directory; nothing was written\n`,
      exitCode: 1,
    });
    expect(contentOf('policy')).toEqual({ [name]: generated(OTHER)[name] });
  });

  test.each(['in', '3d-agent', '42'])('recognises its own files for an agent called %s', async (name) => {
    write('agent.yaml', LIMITED.replace('minimal', JSON.stringify(name)));
    expect((await run('generate-policy agent.yaml --out policy')).exitCode).toBe(0);
    expect((await run('generate-policy agent.yaml --out policy')).exitCode).toBe(0);
  });

  test('prints a note about other files that the engine would load', async () => {
    write('values.json', '{}');
    write('README.md', '');
    write('.hidden.yaml', '');
    const { output, errors, exitCode } = await run('generate-policy agent.yaml --out .');
    expect({ errors, exitCode }).toEqual({
      errors:
        'note: . also contains agent.yaml, values.json, which the engine would load too; use a separate directory for the policy\n',
      exitCode: 0,
    });
    expect(output).toContain("next: opa run --server --ignore '.*' .\n");
  });

  test.each([
    ['agent.yaml', 'cannot write agent.yaml: it is a file, or a parent path is not a directory'],
    ['agent.yaml/below', 'cannot write agent.yaml/below: it is a file, or a parent path is not a directory'],
    // Node's recursive mkdir never returns for /proc.
    ['/proc/x', 'cannot write /proc/x: the directory cannot be created'],
    ['/proc/x/y/z', 'cannot write /proc/x/y/z: the directory cannot be created'],
    ['taken', 'cannot write taken: a directory has the name of a policy file'],
  ])('reports why it cannot write to %s', async (out, reason) => {
    mkdirSync(at('taken/data.json'), { recursive: true });
    expect(await run(`generate-policy agent.yaml --out ${out}`)).toEqual({
      output: '',
      errors: `error: ${reason}\n`,
      exitCode: 1,
    });
    expect(names('taken')).toEqual(['data.json']);
  });

  test('reports an invalid manifest and writes nothing', async () => {
    write('agent.yaml', manifestText('  tols: []\n'));
    const line = 'error: agent.yaml:12:3 spec.tols: unknown key "tols" (did you mean "tools"?)\n';
    const { output, errors, exitCode } = await run('generate-policy agent.yaml --out policy --json');
    expect({ errors, exitCode }).toEqual({ errors: line, exitCode: 1 });
    expect(JSON.parse(output)).toMatchObject({
      error: 'the manifest is not valid',
      problems: [{ line: 12 }],
    });
    expect(await run('generate-policy agent.yaml')).toEqual({ output: '', errors: line, exitCode: 1 });
    expect(names()).toEqual(['agent.yaml']);
  });

  test('quotes the suggested command for the shell', async () => {
    const writing = (out: string) => run(['generate-policy', 'agent.yaml', '--out', out]);
    expect((await writing("it's mine")).output).toContain(
      `next: opa run --server --ignore '.*' 'it'\\''s mine'\n`,
    );
    expect((await writing('a/b-c.d')).output).toContain("next: opa run --server --ignore '.*' a/b-c.d\n");
  });
});
