import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The command line as it is built. */
export const COMMAND_BUNDLE = join(dirname(import.meta.dirname), 'dist', 'cli', 'main.js');

export interface Ended {
  output: string;
  errors: string;
  /** null: a signal ended it. */
  exitCode: number | null;
}

/** Runs the built `platform` as a process of its own, with no environment but `env` and no terminal. */
export function runBuiltCommand(
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<Ended> {
  if (!existsSync(COMMAND_BUNDLE)) throw new Error('dist/cli/main.js is not there: run npm run build');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [COMMAND_BUNDLE, ...args], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended: Ended = { output: '', errors: '', exitCode: null };
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (ended.output += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (ended.errors += chunk));
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ ...ended, exitCode }));
  });
}
