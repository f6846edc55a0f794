import { beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync } from 'node:fs';
import { manifestText } from '../../testing/manifests/manifest-text.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, read, run, write } = commandFolder();

const CURRENT = manifestText();
const OLD = CURRENT.replace('platform.io/v1', 'agentspec.io/v1').replace('PlatformAgent', 'AgentSpec');
const CHANGES = [
  'apiVersion: changed from agentspec.io/v1 to platform.io/v1\n',
  'kind: changed from AgentSpec to PlatformAgent\n',
].join('');

beforeEach(() => {
  write('old.yaml', OLD);
  write('agent.yaml', CURRENT);
});

const platform = (...args: string[]) => run(args);

describe('migrate', () => {
  test('replaces the file and prints each change', async () => {
    expect(await run('migrate old.yaml')).toEqual({
      output: `${CHANGES}wrote old.yaml\n`,
      errors: '',
      exitCode: 0,
    });
    expect(read('old.yaml')).toBe(CURRENT);
  });

  test('-o writes another file and keeps the source', async () => {
    expect((await run('migrate old.yaml -o new.yaml')).output).toBe(`${CHANGES}wrote new.yaml\n`);
    expect([read('old.yaml'), read('new.yaml')]).toEqual([OLD, CURRENT]);
  });

  test('--dry-run prints a diff and writes nothing', async () => {
    const { output, errors, exitCode } = await run('migrate old.yaml --dry-run -o new.yaml');
    expect(output.split('\n').slice(0, 7)).toEqual([
      '--- old.yaml',
      '+++ new.yaml',
      '@@ -1,6 +1,6 @@',
      '-apiVersion: agentspec.io/v1',
      '-kind: AgentSpec',
      '+apiVersion: platform.io/v1',
      '+kind: PlatformAgent',
    ]);
    expect({ errors, exitCode }).toEqual({ errors: CHANGES, exitCode: 0 });
    expect(read('old.yaml')).toBe(OLD);
    expect(existsSync(at('new.yaml'))).toBe(false);
  });

  test.each([[[]], [['--dry-run']]])('prints a success message for a current manifest, %j', async (flags) => {
    expect(await platform('migrate', 'agent.yaml', ...flags)).toEqual({
      output: 'agent.yaml is up to date\n',
      errors: '',
      exitCode: 0,
    });
    expect(read('agent.yaml')).toBe(CURRENT);
  });

  test('-o copies a current manifest', async () => {
    expect((await run('migrate agent.yaml -o new.yaml')).output).toBe('wrote new.yaml\n');
    expect(read('new.yaml')).toBe(CURRENT);
  });
});

describe('errors, with exit code 1 and nothing written', () => {
  test.each<[string, string[], string]>([
    ['a missing file', ['none.yaml'], 'error: cannot read none.yaml: does not exist\n'],
    ['a directory', ['directory'], 'error: cannot read directory: is a directory\n'],
    [
      'no path from this format',
      ['pod.yaml'],
      'error: pod.yaml was not migrated: no migration exists for it\nerror: pod.yaml:1:1 apiVersion: not an agent manifest; expected apiVersion platform.io/v1 and kind PlatformAgent, got "v1 Pod"\n',
    ],
    [
      'broken YAML',
      ['broken.yaml'],
      'error: broken.yaml was not migrated: it is not valid YAML\nerror: broken.yaml:2:1 YAML: a list that begins with [ must end with ] before the next key\n',
    ],
    [
      'an invalid value',
      ['invalid.yaml'],
      'error: invalid.yaml was not migrated: it would not be valid after the migration\nerror: invalid.yaml:5:12 metadata.version: must be a semantic version such as 1.2.3; got "one"\n',
    ],
    [
      'a missing directory',
      ['old.yaml', '-o', 'none/agent.yaml'],
      'error: cannot write none/agent.yaml: its directory does not exist\n',
    ],
  ])('%s', async (_what, args, errors) => {
    mkdirSync(at('directory'));
    write('broken.yaml', 'apiVersion: [\n');
    write('pod.yaml', 'apiVersion: v1\nkind: Pod\n');
    write('invalid.yaml', OLD.replace('version: 1.0.0', 'version: one'));
    expect(await platform('migrate', ...args)).toEqual({ output: '', errors, exitCode: 1 });
    expect(read('old.yaml')).toBe(OLD);
  });
});

test.each(['validate', 'audit', 'health', 'diff', 'generate-policy'])(
  '%s names the migrate command for a foreign manifest',
  async (command) => {
    const args = command === 'diff' ? ['old.yaml', 'agent.yaml'] : ['old.yaml'];
    const { output, errors, exitCode } = await platform(command, ...args);
    expect(output + errors).toContain(
      '"agentspec.io/v1" is an agentspec manifest; convert it with "platform migrate"',
    );
    expect(exitCode).toBe(1);
  },
);
