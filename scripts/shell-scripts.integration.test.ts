import { describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { debianServer, whyNoDebianServers } from '../testing/machine/debian-server.ts';

const ROOT = dirname(import.meta.dirname);

/** Files of the repository that start with a line for a shell. */
function shellScripts(): string[] {
  const files = execFileSync('git', ['ls-files', '-z', '*.sh', '.ci/*', 'scripts/*'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return files
    .split('\0')
    .filter((file) => file !== '' && /^#(?:!.*sh$| shellcheck shell)/m.test(firstLine(file)));
}

const firstLine = (file: string): string => readFileSync(join(ROOT, file), 'utf8').split('\n', 1)[0] ?? '';

// Parts of the scripts run only on a machine without a cache, so that no other test finds an unset variable there.
(whyNoDebianServers() ? describe.skip : describe)('shell scripts', () => {
  test('have no warning of shellcheck', () => {
    const scripts = shellScripts();
    expect(scripts).toContain('e2e/cluster/build.sh');
    expect(scripts).toContain('.ci/run');
    const { command, leading, env } = debianServer('shellcheck');
    const args = [...leading, '--external-sources', '--severity=warning', ...scripts];
    const { stdout, status } = spawnSync(command, args, { cwd: ROOT, env, encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  });
});
