import { spawn } from 'node:child_process';

export interface RunResult {
  stdout: string;
  stderr: string;
  /** The exit code; null after a signal, such as on timeout. */
  code: number | null;
}

export interface RunOptions {
  /** Standard input; empty by default. */
  input?: string;
  /** Timeout in milliseconds, after which the command and its children are killed. Default 300,000. */
  timeoutMs?: number;
  env?: NodeJS.ProcessEnv;
}

/** Runs a command and returns its output and exit code. Throws only if the command cannot be started. */
export function run(command: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { input = '', timeoutMs = 300_000, env = process.env } = options;
  return new Promise((resolve, reject) => {
    const [file = '', ...args] = command;
    // Own process group, so that the timeout also kills grandchildren: nsenter does not forward signals.
    const child = spawn(file, args, { env, detached: true, stdio: 'pipe' });
    const result: RunResult = { stdout: '', stderr: '', code: null };
    const timer = setTimeout(() => {
      result.stderr += `\nkilled after ${timeoutMs} ms`;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, timeoutMs);
    child.stdout.setEncoding('utf8').on('data', (text: string) => (result.stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (result.stderr += text));
    // A command that does not read its input may exit before the input is written.
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
