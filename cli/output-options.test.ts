import { beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { manifestText } from '../testing/manifests/manifest-text.ts';
import { NO_MANIFEST } from './manifest-argument.ts';
import { commandPaths } from './program.ts';
import { commandFolder } from '../testing/cli/command-folder.ts';

const { at, read, run, write } = commandFolder();

const words = (line: string): string[] => line.split(' ').filter(Boolean);
const TEXT = 'text json';
const FINDINGS = 'text json sarif junit github markdown';

/** Output options of a command. An absent member: the command has none. */
interface Row {
  /** `report`: a copy of what is printed. `file`, `dir`, `path`: what is written instead of being printed. */
  output?: 'report' | 'file' | 'dir' | 'path';
  /** Values of `--format`; `--json` exists if `json` is one of them. */
  formats?: string;
  /** Earlier spellings, each with a value if it needs one. */
  hidden?: readonly string[];
  /** The argument that is `agent.yaml` by default. */
  manifest?: 'file' | 'to';
}

const TABLE: Readonly<Record<string, Row>> = {
  run: { output: 'report', formats: TEXT, hidden: ['--report x.json'] },
  observe: { output: 'report', formats: TEXT },
  'generate-egress': { output: 'file', formats: TEXT, hidden: ['--out x'], manifest: 'file' },
  // Writes agent.yaml to a directory, which is its argument.
  init: {},
  scan: { output: 'file', hidden: ['--out x'] },
  validate: { output: 'report', formats: FINDINGS, manifest: 'file' },
  audit: { output: 'report', formats: FINDINGS, manifest: 'file' },
  diff: { output: 'report', formats: FINDINGS, manifest: 'to' },
  'generate-policy': { output: 'dir', formats: TEXT, hidden: ['--out x'], manifest: 'file' },
  gap: { output: 'report', formats: TEXT },
  health: { output: 'report', formats: TEXT, hidden: ['--format table'], manifest: 'file' },
  evaluate: { output: 'report', formats: `${TEXT} junit`, hidden: ['--junit x'], manifest: 'file' },
  // Writes files to a directory that must not have them.
  evidence: { formats: TEXT },
  'evidence verify': { formats: TEXT },
  proof: { output: 'report', formats: TEXT },
  stop: { output: 'report', formats: TEXT },
  resume: { output: 'report', formats: TEXT },
  'audit-log': {},
  'audit-log query': { output: 'report', formats: TEXT },
  'audit-log verify': { output: 'report', formats: TEXT },
  'audit-log columns': { output: 'report', formats: TEXT },
  migrate: { output: 'file', manifest: 'file' },
  export: {
    output: 'file',
    formats: 'agentcard agents-md-block cyclonedx',
    hidden: ['--into x'],
    manifest: 'file',
  },
  // Prints the names of the files that it writes.
  generate: { output: 'dir', manifest: 'file' },
  'provider-status': { output: 'report', formats: TEXT },
  inject: { output: 'path', formats: TEXT },
  uninject: { output: 'path', formats: TEXT },
  register: { output: 'file', formats: TEXT, hidden: ['--out-file x'], manifest: 'file' },
  check: { output: 'report', formats: TEXT, hidden: ['-o json', '--output json'] },
  uninstall: { output: 'report', formats: TEXT, hidden: ['-o json', '--output json'] },
  // Serves a protocol.
  mcp: {},
  // Prints a script.
  completion: {},
};

/** Arguments that a command needs in addition to a manifest. */
const NEEDED: Readonly<Record<string, string>> = {
  'audit-log query': 'none.log',
  'audit-log verify': 'none.log',
  diff: 'none.yaml',
  evaluate: '--url localhost:1 --dataset smoke',
  export: '--format agentcard',
  proof: 'import results.json',
  register: '--url localhost:1',
  scan: '--dir .',
};

test('every command has a row', async () => {
  const context = { env: {}, cwd: '/', now: () => new Date(0), color: false, ask: null };
  expect(Object.keys(TABLE)).toEqual(await commandPaths(context));
});

describe.each(Object.entries(TABLE))('platform %s', (command, { output, formats, hidden = [], manifest }) => {
  test('has the output options of the table in its help, and no earlier spelling', async () => {
    const help = (await run([...words(command), '--help'])).output.replaceAll(/\s+/g, ' ');
    const placeholder = /--output <(\w+)>/.exec(help)?.[1];
    expect(placeholder).toBe(output === 'report' ? 'file' : output);
    expect(help.includes('also write the result to a file')).toBe(output === 'report');
    const choices = /--format <format> output format \(choices: ([^)]*?)(?:, default[^)]*)?\)/.exec(
      help,
    )?.[1];
    expect(choices?.replaceAll(/[",]/g, '')).toBe(formats);
    expect(help.includes(' --json ')).toBe(formats?.includes('json') === true);
    for (const each of hidden.filter((option) => !/^--(?:format|output)/.test(option)))
      expect(help).not.toMatch(new RegExp(`(?<!\\S)${each.split(' ')[0]} `));
    expect(/\[(file|to)\] [^[]*default: agent\.yaml, agent\.yml or agent\.json/.exec(help)?.[1]).toBe(
      manifest,
    );
  });

  test('accepts the earlier spellings', async () => {
    for (const each of ['', ...hidden]) {
      const { errors } = await run([
        ...words(command),
        ...words(NEEDED[command] ?? ''),
        ...words(each),
        '--none',
      ]);
      expect(errors).toMatch(/^error: unknown option '--none'/);
    }
  });
});

describe('--output of a report', () => {
  beforeEach(() => write('agent.yaml', manifestText()));

  const REPORTS = ['validate', 'audit', 'diff agent.yaml', 'health --no-model', 'provider-status'];

  test.each(REPORTS)('%s: a copy of the text, JSON by the name or the format', async (line) => {
    const hasTimes = line.startsWith('health');
    const same = (text: string): string =>
      hasTimes ? text.replaceAll(/\d+ ms|"latencyMs": [\d.]+/g, '') : text;
    const plain = await run(words(line), { color: true });
    const copy = await run([...words(line), '--output', 'out.txt'], { color: true });
    expect(same(copy.output)).toBe(same(plain.output));
    expect(copy.errors).toBe(`wrote out.txt\n${plain.errors}`);
    expect(copy.exitCode).toBe(plain.exitCode);
    expect(read('out.txt')).not.toContain('\u001b');
    const { output } = await run([...words(line), '--json']);
    expect((await run([...words(line), '--output', 'out.json'])).output).toBe(
      (await run(words(line))).output,
    );
    expect(same(read('out.json'))).toBe(same(output));
    expect(same((await run([...words(line), '--format', 'json', '--output', 'other'])).output)).toBe(
      same(output),
    );
    expect(same(read('other'))).toBe(same(output));
  });

  test.each(['validate', 'audit', 'diff agent.yaml'])('%s: SARIF', async (line) => {
    const { output } = await run([...words(line), '--format', 'sarif', '--output', 'out.json']);
    expect(read('out.json')).toBe(output);
    expect(JSON.parse(output)).toMatchObject({ version: '2.1.0' });
  });

  test('is not written over an input, nor after a failure', async () => {
    expect(await run(words('audit --output agent.yaml'))).toEqual({
      output: '',
      errors: 'error: cannot write agent.yaml: it is an input of this command; choose another file\n',
      exitCode: 1,
    });
    await run(words('health none.yaml --output out.txt'));
    expect(existsSync(at('out.txt'))).toBe(false);
  });

  test('an error is JSON with --format json', async () => {
    const { output } = await run(words('audit --format json --output agent.yaml'));
    expect(JSON.parse(output)).toEqual({
      error: 'cannot write agent.yaml: it is an input of this command; choose another file',
    });
  });

  test('--json excludes another --format', async () => {
    expect((await run(words('audit --json --format sarif'))).errors).toContain(
      "option '--json' cannot be used with option '--format <format>'",
    );
  });
});

describe('the manifest by default', () => {
  const WITH_MANIFEST = Object.entries(TABLE).filter(([, { manifest }]) => manifest !== undefined);
  test.each(WITH_MANIFEST.map(([command]) => command))('%s without one: what to do', async (command) => {
    const { output, errors, exitCode } = await run([command, ...words(NEEDED[command] ?? '')]);
    expect({ output, errors, exitCode }).toEqual({
      output: '',
      errors: `error: ${NO_MANIFEST}\n`,
      exitCode: 1,
    });
    for (const advice of ['platform scan', 'platform init', 'platform run --learn -- '])
      expect(errors).toContain(advice);
  });

  test.each([
    ['agent.yaml', ['agent.yaml', 'agent.yml', 'agent.json']],
    ['agent.yml', ['agent.yml', 'agent.json']],
    ['agent.json', ['agent.json']],
  ])('%s is the first of %j', async (found, files) => {
    for (const name of files) write(name, manifestText());
    expect((await run(['validate'])).output).toBe(`${found} is valid: minimal 1.0.0\n`);
  });

  test('is the later one of diff', async () => {
    write('agent.yml', manifestText());
    write('old.yaml', manifestText());
    expect((await run(words('diff old.yaml'))).output).toMatch(/^old\.yaml to agent\.yml /);
  });

  test('is not needed for the schema, nor to register a name', async () => {
    expect((await run(words('validate --schema'))).exitCode).toBe(0);
    expect((await run(words('register --name shop --url localhost:1'))).errors).toContain('no admin key');
  });

  test('its absence is JSON with --json', async () => {
    expect(JSON.parse((await run(words('validate --json'))).output)).toEqual({ error: NO_MANIFEST });
  });
});
