import { spawnSync } from 'node:child_process';

/** The command of an interpreter that runs the Python package, or the reason why there is none. */
export type Python = { command: string } | { missing: string };

const COMMANDS = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10'];
const IS_NEW_ENOUGH = 'import sys; sys.exit(sys.version_info < (3, 10))';

/** @param run whether this command runs a Python program with exit code 0 */
export function findPython(run: (command: string) => boolean = runs): Python {
  const command = COMMANDS.find(run);
  return command === undefined ? { missing: 'Python 3.10 or newer is missing' } : { command };
}

const runs = (command: string): boolean =>
  spawnSync(command, ['-c', IS_NEW_ENOUGH], { stdio: 'ignore' }).status === 0;
