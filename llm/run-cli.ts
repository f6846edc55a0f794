import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';
import { isExecutable } from '../probe/command.ts';
import type { Environment } from '../runtime/env.ts';

export interface CliCall {
  /** Absolute path. */
  file: string;
  args: readonly string[];
  env: Environment;
  cwd: string;
  input: string;
  /** Most bytes of standard output. */
  maxBytes: number;
  signal: AbortSignal;
}

export interface CliEnd {
  stdout: string;
  /** The start of standard error. */
  stderr: string;
  /** null: not started, or ended by a signal. */
  exitCode: number | null;
  /** Standard output exceeded the limit; it is cut, and the process was ended. */
  isTooLarge: boolean;
}

/** Milliseconds between SIGTERM and SIGKILL. */
const KILL_MS = 5_000;
const MAX_STDERR = 4_096;

/** The executable file with this name in a directory of PATH; null: there is none. Relative directories are ignored. */
export async function findCommand(name: string, path: string | undefined): Promise<string | null> {
  for (const directory of (path ?? '').split(delimiter).filter(isAbsolute)) {
    const file = join(directory, name);
    if (await isExecutable(file)) return file;
  }
  return null;
}

/** Runs `act` in an empty directory, so that a CLI finds neither settings nor instructions of a project. */
export async function inEmptyDirectory<T>(act: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'platform-llm-'));
  try {
    return await act(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs a command to its end. The signal and too much output end it. */
export function runCli({ file, args, env, cwd, input, maxBytes, signal }: CliCall): Promise<CliEnd> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd, env: { ...env }, stdio: 'pipe' });
    const chunks: Buffer[] = [];
    let [bytes, stderr, isTooLarge] = [0, '', false];
    let killer: NodeJS.Timeout | undefined;
    // A process that the command has started may keep the pipes open.
    const release = () => {
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const stop = () => {
      if (killer !== undefined) return;
      killer = setTimeout(() => child.kill('SIGKILL'), KILL_MS);
      if (child.exitCode !== null || child.signalCode !== null) release();
      else child.once('exit', release).kill('SIGTERM');
    };
    const end = (exitCode: number | null) => {
      clearTimeout(killer);
      signal.removeEventListener('abort', stop);
      resolve({ stdout: Buffer.concat(chunks).toString(), stderr, exitCode, isTooLarge });
    };
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      isTooLarge ||= bytes > maxBytes;
      if (isTooLarge) stop();
      else chunks.push(chunk);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(0, MAX_STDERR);
    });
    child.once('error', () => end(null));
    child.once('close', end);
    // The command may end before it has read its input.
    child.stdin.on('error', () => undefined).end(input);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
