import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import type { Environment } from '../../runtime/env.ts';
import { fileFailure } from '../file-failure.ts';

/** How a command ended. */
export type Ended =
  /** A signal counts as 128 plus its number, as in a shell. */
  { started: true; exitCode: number } | { started: false; reason: string };

export interface AgentOptions {
  env: Environment;
  cwd: string;
  /** Aborts when this process gets SIGTERM, SIGHUP or Ctrl-C. */
  stopped: AbortSignal;
}

/**
 * Runs a command with the terminal of this process until it ends. When `stopped` aborts, the command gets SIGTERM: on a terminal
 * Ctrl-C has already reached it. Never rejects.
 */
export function runAgent(
  [command = '', ...args]: readonly string[],
  { env, cwd, stopped }: AgentOptions,
): Promise<Ended> {
  const child = spawn(command, args, { env, cwd, stdio: 'inherit' });
  const stop = (): void => stopAgent(child);
  if (stopped.aborted) stop();
  else stopped.addEventListener('abort', stop, { once: true });
  return new Promise((resolve) => {
    const end = (ended: Ended): void => {
      stopped.removeEventListener('abort', stop);
      resolve(ended);
    };
    child.once('error', (error) =>
      end({ started: false, reason: fileFailure(error, { ENOENT: 'command not found' }) }),
    );
    child.once('exit', (code, signal) => end({ started: true, exitCode: code ?? codeOf(signal) }));
  });
}

/** Waits before SIGTERM, so that an agent that ends by Ctrl-C can end by itself. */
const OWN_END_MS = 2_000;

function stopAgent(child: ChildProcess): void {
  setTimeout(() => child.kill('SIGTERM'), OWN_END_MS).unref();
}

function codeOf(signal: NodeJS.Signals | null): number {
  return signal === null ? 1 : 128 + constants.signals[signal];
}
