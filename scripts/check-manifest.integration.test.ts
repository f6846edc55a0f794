import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { COMMAND_BUNDLE } from '../testing/machine/built-command.ts';
import { manifestText } from '../testing/manifests/manifest-text.ts';

const ROOT = dirname(import.meta.dirname);
const GUARDED = manifestText('  guardrails: { input: [{ type: pii-detector }] }\n');

/** A repository whose commit has a guardrail, with the built command as `platform` on the PATH. */
let cwd: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'action-'));
  write('platform', `#!/bin/sh\nexec "${process.execPath}" "${COMMAND_BUNDLE}" "$@"\n`);
  chmodSync(join(cwd, 'platform'), 0o755);
  write('agent.yaml', GUARDED);
  for (const args of [
    ['init', '-qb', 'main'],
    ['add', 'agent.yaml'],
    ['commit', '-qm', 'first'],
  ])
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd });
});

afterEach(() => rmSync(cwd, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
const read = (name: string) => readFileSync(join(cwd, name), 'utf8');

const platform = (...args: string[]) =>
  void execFileSync(join(cwd, 'platform'), args, { cwd, env: { HOME: cwd } });

function run(script: string, args: readonly string[], env: Record<string, string> = {}) {
  const { stdout, stderr, status } = spawnSync(join(ROOT, 'scripts', script), args, {
    cwd,
    encoding: 'utf8',
    env: {
      PATH: `${cwd}:${process.env['PATH'] ?? ''}`,
      HOME: cwd,
      GITHUB_STEP_SUMMARY: join(cwd, 'summary.md'),
      ...env,
    },
  });
  return { stdout, stderr, status };
}

describe('the GitHub Action', () => {
  test('annotates violations, and passes without a threshold', () => {
    const { stdout, stderr, status } = run('check-manifest.sh', []);
    expect(stdout).toMatch(/^::error file=agent\.yaml,line=\d+,col=\d+,title=SEC-LLM-02::/m);
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    expect(read('summary.md')).toMatch(/^### platform audit\n\ndeclared score \d+\/100\n\n\| Severity \|/);
  });

  test('fails below the threshold', () => {
    const { stderr, status } = run('check-manifest.sh', [], { FAIL_BELOW: '99' });
    expect(stderr).toMatch(/^error: the declared score \d+ is below 99\n$/);
    expect(status).toBe(1);
  });

  test('fails for a broken organisation rule, in the selected namespaces only', () => {
    write(
      'org.yaml',
      `apiVersion: platform.io/v1
kind: AgentPolicy
metadata: {name: production}
spec:
  namespaceSelector: {matchLabels: {env: production}}
  rules: [{id: budget, action: Deny, budget: {maxMonthlyUSD: 500}}]
`,
    );
    const about = { POLICY: 'org.yaml', NAMESPACE: 'shop', SARIF: 'audit.sarif' };
    const denied = run('check-manifest.sh', [], { ...about, NAMESPACE_LABELS: 'team=shop env=production' });
    expect(denied.stdout).toContain('title=organisation/production/budget::');
    expect(denied.stderr).toBe('error: the manifest breaks 1 organisation rule: production/budget\n');
    expect(denied.status).toBe(1);
    expect(read('audit.sarif')).toContain('organisation/production/budget');
    expect(read('summary.md')).toContain('organisation/production/budget');
    expect(run('check-manifest.sh', [], { ...about, NAMESPACE_LABELS: 'env=test' }).status).toBe(0);
  });

  test('fails for a manifest that is not valid', () => {
    write('agent.yaml', manifestText('  tols: []\n'));
    const { stdout, status } = run('check-manifest.sh', []);
    expect(stdout).toBe(
      '::error file=agent.yaml,line=12,col=3,title=manifest.invalid::spec.tols: unknown key "tols" (did you mean "tools"?)\n',
    );
    expect(status).toBe(1);
    expect(read('summary.md')).toContain('### platform validate\n\nagent.yaml is not valid: 1 problem\n');
  });

  test('fails for a secret in the manifest', () => {
    write('agent.yaml', GUARDED.replace(/apiKey: .*/, 'apiKey: sk-literal'));
    const { stdout, status } = run('check-manifest.sh', []);
    expect(stdout).toMatch(
      /^::error file=agent\.yaml,line=11,col=5,title=manifest\.invalid::spec\.model\.apiKey: /,
    );
    expect(status).toBe(1);
    expect(run('validate-manifests.sh', ['agent.yaml']).status).toBe(1);
  });

  /** The threshold of the example workflow in the guide. */
  function exampleThreshold(): string {
    const guides = join(ROOT, 'docs/guide');
    const pages = readdirSync(guides).filter((name) => name.endsWith('.md'));
    const found = pages.flatMap(
      (name) => /^ +fail-below: (\d+)$/m.exec(readFileSync(join(guides, name), 'utf8'))?.[1] ?? [],
    );
    expect(found).toHaveLength(1);
    return found[0] ?? '';
  }

  test.each<[string, () => void]>([
    ['init', () => platform('init', '--yes', '.')],
    [
      'scan',
      () => {
        write('agent.py', 'from openai import OpenAI\nOpenAI().chat.completions.create(model="gpt-5")\n');
        platform('scan', '--dir', '.', '--no-llm', '--update');
      },
    ],
    [
      'the example agent',
      () => write('agent.yaml', readFileSync(join(ROOT, 'examples/agents/compliant/agent.yaml'), 'utf8')),
    ],
    [
      'the sample of scan',
      () => write('agent.yaml', readFileSync(join(ROOT, 'testing/fixtures/scan/python/agent.yaml'), 'utf8')),
    ],
  ])('the manifest of %s passes the example of the guide', (_name, prepare) => {
    rmSync(join(cwd, 'agent.yaml'));
    prepare();
    const { stderr, status } = run('check-manifest.sh', [], { FAIL_BELOW: exampleThreshold() });
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  });

  test('compares with the base, and writes SARIF', () => {
    write('agent.yaml', manifestText());
    expect(run('check-manifest.sh', [], { BASE: 'main', SARIF: 'audit.sarif' }).status).toBe(0);
    expect(read('summary.md')).toMatch(
      /^### platform diff\n\nmain:\.\/agent\.yaml to agent\.yaml: score relative to the first file 85\/100 \\\(-15\\\)/,
    );
    expect(JSON.parse(read('audit.sarif'))).toMatchObject({ version: '2.1.0' });
  });

  test('a manifest that is new has no comparison', () => {
    write('agent.yaml', manifestText());
    const { stdout, status } = run('check-manifest.sh', [], { BASE: 'none' });
    expect(stdout).toContain('::notice file=agent.yaml::no comparison with none\n');
    expect(status).toBe(0);
  });

  test('action.yaml passes every input to the script', () => {
    const action = parse(readFileSync(join(ROOT, 'action.yaml'), 'utf8')) as {
      inputs: Record<string, { default: string }>;
      runs: { steps: { env: Record<string, string> }[] };
    };
    const used = action.runs.steps.flatMap(({ env }) => Object.values(env));
    expect(used.sort()).toEqual(
      Object.keys(action.inputs)
        .map((name) => `\${{ inputs.${name} }}`)
        .sort(),
    );
  });
});

describe('the pre-commit hook', () => {
  test('validates every file', () => {
    write('good.yaml', manifestText());
    write('bad.yaml', manifestText('  tols: []\n'));
    const { stdout, status } = run('validate-manifests.sh', ['bad.yaml', 'good.yaml']);
    expect(stdout).toContain('bad.yaml:12:3 spec.tols: unknown key');
    expect(stdout).toContain('good.yaml is valid');
    expect(status).toBe(1);
    expect(run('validate-manifests.sh', ['good.yaml']).status).toBe(0);
  });

  test('names the command that is missing', () => {
    const { stderr, status } = run('validate-manifests.sh', ['agent.yaml'], { PATH: '/usr/bin:/bin' });
    expect(stderr).toBe('platform is not installed: npm install --global agent-compliance\n');
    expect(status).toBe(1);
  });
});
