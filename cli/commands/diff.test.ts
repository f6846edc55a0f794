import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { runCommandLine } from '../program.ts';

const GUARDED = manifestText('  guardrails: { input: [{ type: pii-detector }] }\n');
const PLAIN = manifestText();

/** A repository whose commit has the guardrail, and whose working tree has not. */
let cwd: string;

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], {
    cwd,
    stdio: 'pipe',
  });
const diff = (...args: string[]) =>
  runCommandLine(['diff', ...args], {
    env: process.env,
    cwd,
    now: () => new Date('2026-01-02T03:04:05Z'),
    color: false,
    ask: null,
  });

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'diff-'));
  git('init', '--quiet', '--initial-branch=main');
  writeFileSync(join(cwd, 'agent.yaml'), GUARDED);
  git('add', 'agent.yaml');
  git('commit', '--quiet', '--message=first');
  writeFileSync(join(cwd, 'agent.yaml'), PLAIN);
  writeFileSync(join(cwd, 'guarded.yaml'), GUARDED);
  writeFileSync(join(cwd, 'bad.yaml'), manifestText('  tols: []\n'));
  writeFileSync(join(cwd, 'odd:name.yaml'), PLAIN);
  writeFileSync(join(cwd, 'key.yaml'), PLAIN.replace(/apiKey: .*/, 'apiKey: literal-key'));
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe('compares', () => {
  test.each([
    ['two files', 'guarded.yaml', 'agent.yaml'],
    ['a revision and a file', 'main:agent.yaml', 'agent.yaml'],
    ['a revision with a path from the working directory', 'HEAD:./agent.yaml', 'agent.yaml'],
    ['a file whose name has a colon', 'guarded.yaml', 'odd:name.yaml'],
  ])('%s', async (_what, from, to) => {
    expect(await diff(from, to)).toEqual({
      output: [
        `${from} to ${to}  score relative to the first file 85/100 (-15)\n`,
        'SEVERITY  IMPACT  CHANGE',
        'HIGH      -15     spec.guardrails.input[pii-detector] removed\n',
      ].join('\n'),
      errors: '',
      exitCode: 0,
    });
  });

  test('equal manifests', async () => {
    expect(await diff('main:agent.yaml', 'guarded.yaml', '--exit-code')).toEqual({
      output: 'main:agent.yaml to guarded.yaml  score relative to the first file 100/100 (0)\n\nno change\n',
      errors: '',
      exitCode: 0,
    });
  });
});

describe('output', () => {
  test('--json has the fields of the contract', async () => {
    const { output } = await diff('guarded.yaml', 'agent.yaml', '--json');
    expect(JSON.parse(output)).toEqual({
      from: 'guarded.yaml',
      to: 'agent.yaml',
      scoreFrom: 100,
      scoreTo: 85,
      gradeFrom: 'A',
      gradeTo: 'B',
      netScoreChange: -15,
      changes: [
        {
          type: 'removed',
          property: 'spec.guardrails.input[pii-detector]',
          severity: 'HIGH',
          scoreImpact: -15,
          description: 'spec.guardrails.input[pii-detector] removed',
          code: 'guardrail-removed',
        },
      ],
    });
  });

  test.each([
    ['sarif', '"ruleId": "guardrail-removed"'],
    [
      'junit',
      '<testcase name="guardrail-removed spec.guardrails.input[pii-detector]" classname="agent.yaml">',
    ],
    ['github', '::error file=agent.yaml,line=7,col=1,title=guardrail-removed::'],
    ['markdown', '| high | `guardrail-removed` | `agent.yaml:7` |'],
  ])('--format %s has the finding at its position in the later file', async (format, part) => {
    const { output, exitCode } = await diff('main:agent.yaml', 'agent.yaml', '--format', format);
    expect(output).toContain(part);
    expect(exitCode).toBe(0);
  });
});

test.each(['text', 'json', 'sarif', 'junit', 'github', 'markdown'])(
  '--format %s does not show a key that is written into the manifest',
  async (format) => {
    const { output } = await diff('key.yaml', 'agent.yaml', '--format', format);
    expect(output).toContain('literal value');
    expect(output).not.toContain('literal-key');
  },
);

describe('exit code', () => {
  test.each([
    ['0 for a change', ['guarded.yaml', 'agent.yaml'], 0],
    ['1 for a change with --exit-code', ['guarded.yaml', 'agent.yaml', '--exit-code'], 1],
    [
      '1 for a change with --exit-code and --json',
      ['guarded.yaml', 'agent.yaml', '--exit-code', '--json'],
      1,
    ],
    ['0 for no change with --exit-code', ['agent.yaml', 'agent.yaml', '--exit-code'], 0],
  ])('is %s', async (_what, args, exitCode) => {
    expect((await diff(...args)).exitCode).toBe(exitCode);
  });
});

describe('errors', () => {
  test.each([
    ['missing.yaml', 'error: missing.yaml: does not exist\n'],
    ['bad.yaml', 'error: bad.yaml:12:3 spec.tols: unknown key "tols" (did you mean "tools"?)\n'],
    [
      'main:other.yaml',
      "error: main:other.yaml: cannot be read from git: path 'other.yaml' does not exist in 'main'\n",
    ],
    ['nowhere:agent.yaml', /^error: nowhere:agent\.yaml: cannot be read from git: .*nowhere/],
    ['--outputs=x:y', /unknown option '--outputs=x:y'/],
  ])('%s', async (name, errors) => {
    const result = await diff('agent.yaml', name);
    expect(result).toMatchObject({ exitCode: 1, output: '' });
    expect(result.errors).toEqual(typeof errors === 'string' ? errors : expect.stringMatching(errors));
  });

  test('a repository is not needed for files, and its absence is named for a revision', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'no-repository-'));
    writeFileSync(join(elsewhere, 'a.yaml'), PLAIN);
    const run = (from: string) =>
      runCommandLine(['diff', from, 'a.yaml'], {
        env: { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() },
        cwd: elsewhere,
        now: () => new Date(),
        color: false,
        ask: null,
      });
    expect((await run('a.yaml')).exitCode).toBe(0);
    expect((await run('main:a.yaml')).errors).toMatch(
      /^error: main:a\.yaml: cannot be read from git: not a git repository/,
    );
    rmSync(elsewhere, { recursive: true });
  });
});
