import { spawn } from 'node:child_process';

export interface RunResult {
  stdout: string;
  stderr: string;
  /** The exit code; null when a signal ended it, the time-out's for one. */
  code: number | null;
}

export interface RunOptions {
  /** What it reads from standard input; nothing by default. */
  input?: string;
  /** After this long it and its children are killed. Default 300,000. */
  timeoutMs?: number;
  env?: NodeJS.ProcessEnv;
}

/** Runs a command to its end and returns what it said, whatever its exit code. Throws only when it cannot be started. */
export function run(command: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { input = '', timeoutMs = 300_000, env = process.env } = options;
  return new Promise((resolve, reject) => {
    const [file = '', ...args] = command;
    // A group of its own, so that the time-out reaches grandchildren: nsenter does not pass a signal on.
    const child = spawn(file, args, { env, detached: true, stdio: 'pipe' });
    const result: RunResult = { stdout: '', stderr: '', code: null };
    const timer = setTimeout(() => {
      result.stderr += `\nkilled after ${timeoutMs} ms`;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, timeoutMs);
    child.stdout.setEncoding('utf8').on('data', (text: string) => (result.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (result.stderr += text));
    // A command that does not read its input may be gone before it is written.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ ...result, code });
    });
  });
}
