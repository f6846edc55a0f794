// A command with everything that it starts, as one thing to be ended: a runner's workers do not end with it by themselves.
import { spawn } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface GroupOptions {
  env?: NodeJS.ProcessEnv;
  /** Gets standard output and standard error, as they come. */
  write: (text: string) => void;
  /** Milliseconds from the first `end` until what is left is killed. Default 30,000: a cluster that a test holds goes down meanwhile. */
  graceMs?: number;
}

export interface ProcessGroup {
  /** The exit code; 1 where a signal ended it, 127 where it could not be started. Nothing of the group is left then. */
  ended: Promise<number>;
  /** Asks the command and all that it started to end. What does not is killed after `graceMs`. */
  end: (signal: NodeJS.Signals) => void;
}

/** Milliseconds between two looks at what is left of a group. */
const LOOK_MS = 50;
/** Milliseconds for the last output of a command that has ended: what it started away from its group may hold its pipe. */
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
  const isLeft = () => pid !== undefined && lives(pid);
  let late: NodeJS.Timeout | undefined;
  const end = (signal: NodeJS.Signals) => {
    if (pid === undefined) return;
    signalGroup(pid, signal);
    late ??= setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
  };
  const ended = exited.then(async (code) => {
    // Of a command that has ended nothing has a reason to go on.
    if (isLeft()) end('SIGTERM');
    while (isLeft()) await after(LOOK_MS);
    clearTimeout(late);
    if (pid === undefined) return code;
    const over = new AbortController();
    await Promise.race([closed, after(LAST_OUTPUT_MS, over.signal)]);
    over.abort();
    return code;
  });
  return { ended, end };
}

/** Whether there was a process in the group to get it. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    // None is left, or (macOS) only zombies.
    return false;
  }
}

/** Whether a process of the group still runs. Where pid 1 takes its time, orphans that have ended stay as zombies for seconds. */
function lives(group: number): boolean {
  if (!signalGroup(group, 0)) return false;
  if (!existsSync('/proc/self/stat')) return true;
  return globSync('/proc/[0-9]*/stat').some((file) => {
    try {
      // What stands before is the command's name, in which anything may occur.
      const [, state = 'X', , ofGroup] = /\) (\S) (\d+) (\d+) /.exec(readFileSync(file, 'utf8')) ?? [];
      return Number(ofGroup) === group && !'XZ'.includes(state);
    } catch {
      // It ended between the two looks.
      return false;
    }
  });
}

const after = (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined);
