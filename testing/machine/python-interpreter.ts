import { spawnSync } from 'node:child_process';

const COMMANDS = ['python3.13', 'python3.12', 'python3.11', 'python3.10', 'python3'];

/**
 * Path of an interpreter of Python 3.`minor` or later; undefined: this machine has none. The interpreter itself, because a shim
 * in the PATH needs variables that the programs of a test do not have.
 */
export function pythonInterpreter(minor: number): string | undefined {
  const program = `import sys; print(sys.executable); sys.exit(sys.version_info < (3, ${minor}))`;
  for (const command of COMMANDS) {
    const { status, stdout } = spawnSync(command, ['-c', program], { encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  return undefined;
}
