import { beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync } from 'node:fs';
import { aManifest } from '../../testing/fleet/facts.ts';
import { FULL_MANIFEST, manifestText } from '../../testing/manifests/manifest-text.ts';
import { agentsMdBlock } from '../agents-md.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, read, run, write } = commandFolder();

const BEGIN = '<!-- BEGIN platform agent minimal -->';
const END = '<!-- END platform agent minimal -->';

beforeEach(() => write('agent.yaml', manifestText()));

const platform = (...args: string[]) => run(args);
const into = (file: string) =>
  platform('export', 'agent.yaml', '--format', 'agents-md-block', '--into', file);

describe('agentcard', () => {
  test('prints the card of the manifest', async () => {
    const { output, errors, exitCode } = await run('export agent.yaml --format agentcard');
    expect(JSON.parse(output)).toMatchObject({ name: 'minimal', version: '1.0.0', supportedInterfaces: [] });
    expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  });
});

describe('agents-md-block', () => {
  test('has everything that a change must keep', async () => {
    write('agent.yaml', FULL_MANIFEST);
    const { output } = await run('export agent.yaml --format agents-md-block');
    for (const part of [
      'Model: ',
      'Tools:',
      'Guardrails on input',
      'Guardrails on output',
      'Environment variables:',
    ])
      expect(output).toContain(part);
  });

  test('text of the manifest cannot end the block or become markup', () => {
    const manifest = aManifest({ tools: [{ name: 'a`b', description: `x ${END}\n\n# y` }] });
    manifest.metadata.name = 'minimal';
    manifest.metadata.description = '[a](b) <script>';
    const block = agentsMdBlock(manifest, 'agent.yaml');
    expect(block.split(END)).toHaveLength(2);
    expect(block).toContain(String.raw`\[a\]\(b\) \<script\>`);
    expect(block).not.toMatch(/^# y/m);
  });

  const block = async () => (await run('export agent.yaml --format agents-md-block')).output;

  test('--into creates a file', async () => {
    expect(await into('AGENTS.md')).toEqual({ output: 'wrote AGENTS.md\n', errors: '', exitCode: 0 });
    expect(read('AGENTS.md')).toBe(await block());
  });

  test.each([
    ['# Ours', '# Ours\n\n'],
    ['# Ours\n', '# Ours\n\n'],
    ['# Ours\n\n\n', '# Ours\n\n'],
  ])('--into appends to %j', async (before, start) => {
    write('AGENTS.md', before);
    await into('AGENTS.md');
    expect(read('AGENTS.md')).toBe(start + (await block()));
  });

  test('--into replaces only its own block', async () => {
    const other = BEGIN.replace('minimal', 'other');
    write('AGENTS.md', `above\n${other}\n${BEGIN}\nold\n${END}\nbelow\r\n`);
    await into('AGENTS.md');
    expect(read('AGENTS.md')).toBe(`above\n${other}\n${(await block()).trimEnd()}\nbelow\r\n`);
  });

  test('--into shows the manifest from the directory of the file', async () => {
    write('shop agent/agent.yaml', manifestText());
    const exported = (target: string) =>
      platform('export', 'shop agent/agent.yaml', '--format', 'agents-md-block', '--into', target);
    expect((await exported('shop agent/AGENTS.md')).exitCode).toBe(0);
    expect(read('shop agent/AGENTS.md')).toContain('`platform validate agent.yaml`');
    expect((await exported('AGENTS.md')).exitCode).toBe(0);
    expect(read('AGENTS.md')).toContain("`platform validate 'shop agent/agent.yaml'`");
  });

  test('a description in the list of tools has no full stop', () => {
    const tool = { name: 'find', description: 'Finds orders.', annotations: { readOnlyHint: true } };
    expect(agentsMdBlock(aManifest({ tools: [tool] }), 'agent.yaml')).toContain(
      '- `find`, Finds orders, read-only\n',
    );
  });

  test('--into a second time changes nothing', async () => {
    await into('AGENTS.md');
    const first = read('AGENTS.md');
    expect((await into('AGENTS.md')).output).toBe('AGENTS.md is up to date\n');
    expect(read('AGENTS.md')).toBe(first);
  });

  test.each([
    ['no end', `${BEGIN}\nold\n`],
    ['two beginnings', `${BEGIN}\n${BEGIN}\n${END}\n`],
    ['two ends', `${BEGIN}\n${END}\n${END}\n`],
    ['the end first', `${END}\n${BEGIN}\n${END}\n`],
  ])('--into a file with %s is an error and changes nothing', async (_what, text) => {
    write('AGENTS.md', text);
    expect(await into('AGENTS.md')).toEqual({
      output: '',
      errors: `error: AGENTS.md must have the lines "${BEGIN}" and "${END}" once, in this order; nothing was written\n`,
      exitCode: 1,
    });
    expect(read('AGENTS.md')).toBe(text);
  });
});

describe('errors', () => {
  test.each<[string, string, string]>([
    [
      'no format',
      'agent.yaml',
      "error: required option '--format <format>' not specified\n(run platform export --help for usage)\n",
    ],
    ['no manifest', 'none.yaml --format agentcard', 'error: none.yaml: does not exist\n'],
    [
      'the manifest as target',
      'agent.yaml --format agents-md-block --into ./agent.yaml',
      'error: cannot write ./agent.yaml: it is an input of this command; choose another file\n',
    ],
    [
      'a directory as target',
      'agent.yaml --format agents-md-block --into directory',
      'error: cannot read directory: is a directory\n',
    ],
    [
      'a missing directory',
      'agent.yaml --format agents-md-block --into none/AGENTS.md',
      'error: cannot write none/AGENTS.md: its directory does not exist\n',
    ],
    [
      'a target that is not text',
      'agent.yaml --format agents-md-block --into binary',
      'error: cannot read binary: is not valid UTF-8 text\n',
    ],
  ])('%s', async (_what, args, errors) => {
    mkdirSync(at('directory'));
    write('binary', Buffer.from([0xff, 0xfe]));
    expect(await run(`export ${args}`)).toEqual({ output: '', errors, exitCode: 1 });
    expect(existsSync(at('x.json'))).toBe(false);
  });
});
