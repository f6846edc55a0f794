// Runs a command in its own process group, so that all its child processes can be ended together.
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface GroupOptions {
  env?: NodeJS.ProcessEnv;
  /** Receives standard output and standard error as they are printed. */
  write: (text: string) => void;
  /** Milliseconds from the first `end` until remaining processes are killed. Default 30,000: enough to stop a test cluster. */
  graceMs?: number;
}

export interface ProcessGroup {
  /** The exit code; 1 after a signal, 127 if the command could not be started. Resolves after the whole group has ended. */
  ended: Promise<number>;
  /** Signals the whole group. Processes that do not end are killed after `graceMs`. */
  end: (signal: NodeJS.Signals) => void;
}

/** Polling interval for remaining processes, in milliseconds. */
const POLL_MS = 50;
/** Wait for the last output in milliseconds; a process outside the group may keep the pipe open. */
const LAST_OUTPUT_MS = 2_000;

/** Starts a command in a process group of its own, without standard input. */
export function startGroup(command: readonly string[], options: GroupOptions): ProcessGroup {
  const { env = process.env, write, graceMs = 30_000 } = options;
  const [file = '', ...args] = command;
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env, detached: true });
  const { pid } = child;
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', write);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const exited = new Promise<number>((resolve) => {
    child.once('error', (error) => {
      write(`${error.message}\n`);
      resolve(127);
    });
    child.once('exit', (code) => resolve(code ?? 1));
  });
  const isRunning = () => pid !== undefined && hasLiveProcess(pid);
  let killTimer: NodeJS.Timeout | undefined;
  const end = (signal: NodeJS.Signals) => {
    if (pid === undefined) return;
    signalGroup(pid, signal);
    killTimer ??= setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
  };
  const ended = exited.then(async (code) => {
    // Processes that outlive the command are not needed.
    if (isRunning()) end('SIGTERM');
    while (isRunning()) await after(POLL_MS);
    clearTimeout(killTimer);
    if (pid === undefined) return code;
    const waiting = new AbortController();
    await Promise.race([closed, after(LAST_OUTPUT_MS, waiting.signal)]);
    waiting.abort();
    return code;
  });
  return { ended, end };
}

/** Returns whether the group had a process to receive the signal. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    // No process is left, or (macOS) only zombies.
    return false;
  }
}

/** Whether a process of the group still runs. Zombies do not count: a slow pid 1 may keep them for seconds. */
function hasLiveProcess(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  if (!existsSync('/proc/self/stat')) return true;
  return globSync('/proc/[0-9]*/stat').some((file) => {
    try {
      // The preceding field is the command name, which may contain any characters.
      const [, state = 'X', , ofGroup] = /\) (\S) (\d+) (\d+) /.exec(readFileSync(file, 'utf8')) ?? [];
      return Number(ofGroup) === group && !'XZ'.includes(state);
    } catch {
      // The process ended between listing and reading.
      return false;
    }
  });
}

const after = (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined);
