import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { COMPILE_CACHE } from './compile-cache.ts';

/** Path of the built CLI. */
export const COMMAND_BUNDLE = join(dirname(dirname(import.meta.dirname)), 'dist', 'cli', 'main.js');

export interface Ended {
  output: string;
  errors: string;
  /** null after a signal. */
  exitCode: number | null;
}

/** Runs the built `platform` as a separate process, with only `env` as environment and without a terminal. */
export function runBuiltCommand(
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): Promise<Ended> {
  if (!existsSync(COMMAND_BUNDLE)) throw new Error('dist/cli/main.js is missing: run npm run build');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [COMMAND_BUNDLE, ...args], {
      cwd,
      env: { ...COMPILE_CACHE, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended: Ended = { output: '', errors: '', exitCode: null };
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (ended.output += chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (ended.errors += chunk));
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ ...ended, exitCode }));
  });
}
