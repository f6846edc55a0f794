import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../e2e/cluster/run.ts';
import { runBuiltCommand } from '../../testing/machine/built-command.ts';
import { DEBIAN_ROOT, debianServer, whyNoDebianServers } from '../../testing/machine/debian-server.ts';

/** A directory with the script of each shell, and a manifest. */
let cwd: string;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'completion-'));
  writeFileSync(join(cwd, 'shop.yaml'), '');
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { output } = await runBuiltCommand(['completion', shell], { cwd, env: {} });
    writeFileSync(join(cwd, shell), output);
  }
});

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

async function output(command: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { stdout, stderr, code } = await run(command, { env: { ...process.env, ...env } });
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
  return stdout.trim();
}

/** A line as typed, and what one completion makes of it. */
const LINES: [typed: string, completed: string][] = [
  ['platform dif', 'diff'],
  ['platform uninst', 'uninstall'],
  ['platform diff --exi', '--exit-code'],
  ['platform diff --format sar', 'sarif'],
  ['platform health --format te', 'text'],
  ['platform ga', 'gap'],
  // The earlier spelling --out is not completed.
  ['platform generate-egress --ou', '--output'],
  ['platform audit --pack owasp', 'owasp-llm-top10'],
  ['platform completion zs', 'zsh'],
  ['platform help unin', 'uninject uninstall'],
  ['platform audit-log ver', 'verify'],
  ['platform audit-log verify --hea', '--heads'],
  ['platform validate sho', 'shop.yaml'],
];

describe('bash', () => {
  test.each(LINES)('%s', async (typed, completed) => {
    const words = typed.split(' ').slice(1);
    // Bash itself completes file names if the function returns nothing.
    const script = `cd ${cwd}; source ./bash; COMP_WORDS=(platform ${words.join(' ')}); COMP_CWORD=${words.length}; _platform; echo "\${COMPREPLY[*]}"`;
    const isFile = completed.endsWith('.yaml');
    expect(await output(['bash', '--norc', '-c', script])).toBe(isFile ? '' : completed);
  });

  test('the script is registered with file names as default', async () => {
    expect(await output(['bash', '--norc', '-c', `cd ${cwd}; source ./bash; complete -p platform`])).toBe(
      'complete -o default -F _platform platform',
    );
  });
});

(whyNoDebianServers() ? describe.skip : describe)('with shells of Debian', () => {
  test.each(LINES)('fish: %s', async (typed, completed) => {
    const { command, leading, env } = debianServer('fish');
    const script = `set fish_function_path ${join(DEBIAN_ROOT, 'usr/share/fish/functions')} $fish_function_path; cd ${cwd}; source ./fish; complete -C '${typed}'`;
    const lines = await output([command, ...leading, '--no-config', '-c', script], { ...env, HOME: cwd });
    const found = lines.split('\n').map((line) => line.split('\t')[0]);
    expect(found.join(' ')).toBe(completed);
  });

  test.each(LINES.filter(([, completed]) => !completed.includes(' ')))(
    'zsh: %s',
    async (typed, completed) => {
      const { command, leading, env } = debianServer('zsh');
      const expected = [...typed.split(' ').slice(1, -1), completed].join(' ');
      // A terminal inside zsh: Tab completes the word, and Enter runs a function that prints its arguments.
      const inside = [
        `cd ${cwd}`,
        'PS1= RPROMPT= PROMPT_EOL_MARK=',
        `fpath=(${join(DEBIAN_ROOT, 'usr/share/zsh/functions')}/**/*(/N) $fpath)`,
        'autoload -Uz compinit && compinit -u -D && source ./zsh',
        'platform() { print -r -- "ARGUMENTS<$*>" }',
        'print -r -- LOA""DED',
      ].join('; ');
      const script = `
      module_path=(${join(DEBIAN_ROOT, 'usr/lib/*-linux-gnu/zsh/*')}(/N) $module_path)
      zmodload zsh/zpty
      zpty shell ${command} -f -i
      zpty -w shell 'module_path=('"$module_path"')'
      zpty -w shell ${JSON.stringify(inside).replaceAll('$', String.raw`\$`)}
      zpty -r shell printed '*LOADED*'
      zpty -w shell ${JSON.stringify(typed)}$'\\t'
      zpty -r shell printed '*ARGUMENTS<*>*'
      print -r -- "\${\${printed##*ARGUMENTS<}%%>*}"
      zpty -d shell`;
      const printed = await output([command, ...leading, '-f', '-c', script], {
        ...env,
        HOME: cwd,
        TERM: 'xterm',
      });
      expect(printed.trim()).toBe(expected);
    },
  );
});
