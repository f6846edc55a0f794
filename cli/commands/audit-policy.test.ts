import { mkdirSync, rmSync } from 'node:fs';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import type { Rendered } from '../rendered.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, run, write } = commandFolder();

beforeEach(() => {
  write('agent.yaml', manifestText('  tools: [{ name: shell_exec }]\n'));
  write('org.yaml', policy('production', RULES));
});

const policy = (name: string, spec: string): string =>
  `apiVersion: platform.io/v1\nkind: AgentPolicy\nmetadata: {name: ${name}}\nspec:\n${spec}`;
const RULES = `  rules:
  - {id: tools, action: Deny, severity: critical, tools: {forbidden: ["shell*"]}}
  - {id: hosts, action: Warn, hosts: {allowed: ["*.example.com"]}}
  - {id: budget, action: Warn, budget: {maxMonthlyUSD: 500}}
  - {id: grade, action: Deny, result: {minimumGrade: B}}
`;
const SELECTED = `  namespaceSelector: {matchLabels: {env: production}}
  exceptions:
  - {namespace: pilot, rules: [tools], reason: pilot, expires: "2027-01-01T00:00:00Z"}
${RULES}`;

const audit = (args: string): Promise<Rendered> => run(`audit agent.yaml ${args}`);
const sectionOf = ({ output }: Rendered): string => output.slice(output.indexOf('organisation rules'));

describe('platform audit --policy', () => {
  test('lists each broken rule, and what cannot be judged here', async () => {
    const result = await audit('--policy org.yaml');
    expect(sectionOf(result)).toBe(`organisation rules  2 findings, 1 of Deny rules
  Deny  production/tools (critical)
        spec.tools[0].name: tool shell_exec is forbidden by shell*
  Warn  production/budget (high)
        spec.model.costControls.maxMonthlyUSD: the monthly budget must be declared and at most 500 USD
  not judged here  production/grade: it needs a running agent
`);
    expect(result.errors).toBe('error: the manifest breaks 1 organisation rule: production/tools\n');
    expect(result.exitCode).toBe(1);
  });

  test.each([
    ['', 1, 'not judged here  production: it selects namespaces by labels'],
    ['--namespace shop', 0, 'organisation rules  no rule that was judged is broken'],
    ['--namespace-label env=production', 1, 'Deny  production/tools'],
    ['--namespace-label env=test', 0, 'no rule is broken'],
    ['--namespace pilot --namespace-label env=production', 0, '1 finding, 0 of Deny rules'],
  ])('of selected namespaces with %s', async (flags, exitCode, expected) => {
    write('org.yaml', policy('production', SELECTED));
    const result = await audit(`--policy org.yaml ${flags}`.trim());
    expect(sectionOf(result)).toContain(expected);
    // Nothing is denied by a policy that is not judged.
    expect(result.exitCode).toBe(flags === '' ? 0 : exitCode);
  });

  test('evaluates expressions', async () => {
    const rules = `  rules:
  - {id: version, action: Deny, expression: "manifest.metadata.version.startsWith('9.')"}
  - {id: broken, action: Warn, expression: "manifest.spec.none.x"}
  - {id: fine, action: Deny, expression: "!has(manifest.spec.model.fallback)"}
`;
    write('org.yaml', policy('production', rules));
    expect(sectionOf(await audit('--policy org.yaml'))).toBe(`organisation rules  2 findings, 1 of Deny rules
  Deny  production/version (high)
        the expression is false: manifest.metadata.version.startsWith('9.')
  Warn  production/broken (high)
        could not be evaluated: field not found: none
`);
  });

  test('has the findings in JSON and SARIF', async () => {
    const { output } = await audit('--policy org.yaml --json');
    expect(JSON.parse(output)).toMatchObject({
      organisation: {
        allowed: false,
        findings: [{ policy: 'production', rule: 'tools', path: 'spec.tools[0].name' }, { rule: 'budget' }],
        notJudged: [{ policy: 'production', rule: 'grade', reason: 'it needs a running agent' }],
      },
    });
    const sarif = await audit('--policy org.yaml --format sarif');
    expect(sarif.output).toContain('"ruleId": "organisation/production/tools"');
    expect(sarif.output).toContain('"startLine": 12');
    expect((await audit('--policy org.yaml --format junit')).output).toContain(
      'name="organisation/production/tools spec.tools[0].name"',
    );
  });

  test('reads a directory, in which other documents are skipped', async () => {
    mkdirSync(at('org'));
    write('org/a.yaml', `kind: ConfigMap\n---\n${policy('a', RULES)}`);
    write('org/b.yml', policy('b', RULES));
    const { output } = await audit('--policy org');
    expect(output).toContain('a/tools');
    expect(output).toContain('b/tools');
  });

  test.each([
    ['a missing file', null, 'org.yaml: does not exist'],
    ['no policy', '# nothing\n', 'org.yaml: contains no AgentPolicy'],
    ['another kind', 'kind: ConfigMap\n', 'org.yaml: apiVersion: must be one of platform.io/v1'],
    ['a syntax error', 'a: [', 'org.yaml: '],
    [
      'a misspelled member',
      policy('a', '  rules: [{id: a, action: Deny, models: {allow: [x]}}]\n'),
      'org.yaml: spec.rules[0].models.allow: is not known; the members are allowed',
    ],
    [
      'one name twice',
      `${policy('a', RULES)}---\n${policy('a', RULES)}`,
      'org.yaml: two policies have the name a',
    ],
    [
      'too many aliases',
      `a: &a [1]\n${Array.from({ length: 9 }, (_, i) => `b${i}: &b${i} [${Array.from({ length: 9 }, () => (i === 0 ? '*a' : `*b${i - 1}`)).join(', ')}]`).join('\n')}\n`,
      'Excessive alias count',
    ],
  ])('with %s is an error', async (_, text, expected) => {
    if (text === null) rmSync(at('org.yaml'));
    else write('org.yaml', text);
    const result = await audit('--policy org.yaml');
    expect(result.errors).toContain(expected);
    expect(result).toMatchObject({ exitCode: 1, output: '' });
  });
});
