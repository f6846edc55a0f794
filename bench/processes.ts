import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism, setPriority } from 'node:os';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Started {
  pid: number;
  close(): Promise<void>;
}

/** Processors of the process under load, and processors of all other processes; null: this machine cannot separate them. */
export const PROCESSORS =
  availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0
    ? { target: '0', others: `1-${availableParallelism() - 1}` }
    : null;

/** Pins a process with all its threads to its processors. */
export function pin(pid: number, to: 'target' | 'others'): void {
  if (PROCESSORS === null) return;
  const { status, stderr } = spawnSync('taskset', ['-a', '-c', '-p', PROCESSORS[to], String(pid)]);
  if (status !== 0) throw new Error(`process ${pid} cannot be pinned: ${String(stderr)}`);
}

/**
 * Gives this process priority over the servers that share its processors, because it would measure its own wait for a processor
 * as latency. Processes that it starts later inherit the priority. False: the user may not do that.
 */
export function prioritize(): boolean {
  try {
    setPriority(-10);
    return true;
  } catch {
    return false;
  }
}

export interface NodeOptions {
  /** Command line flags of Node.js. */
  flags?: readonly string[] | undefined;
  /** Gets what the program prints. */
  onOutput?: ((text: string) => void) | undefined;
}

/** Starts a Node.js program. `log` returns the end of its output; `close` kills it. */
export function spawnNode(
  file: string,
  env: Readonly<Record<string, string>>,
  { flags = [], onOutput }: NodeOptions = {},
): { child: ChildProcess; log: () => string; close: () => Promise<void> } {
  const child = spawn(process.execPath, [...flags, file], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
      onOutput?.(text);
    });
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { child, log: () => log, close };
}

/** Starts a Node.js program and waits until it accepts connections on `port`. Rejects with its output if it does not. */
export async function startNode(
  file: string,
  port: number,
  env: Readonly<Record<string, string>> = {},
  options: NodeOptions = {},
): Promise<Started> {
  const { child, log, close } = spawnNode(file, env, options);
  for (let tries = 0; tries < 400 && child.exitCode === null && child.pid !== undefined; tries++) {
    if (await accepts(port)) return { pid: child.pid, close };
    await sleep(50);
  }
  await close();
  throw new Error(`${file} did not start: ${log()}`);
}

export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** User and system time of the process since its start, in milliseconds. The kernel counts in steps of 10. */
export const cpuMs = (pid: number): number => ticksOf(String(pid), [11, 12]) * 10;

/** The sum of fields of `/proc/<pid>/stat`, counted after the name. */
function ticksOf(pid: string, fields: readonly number[]): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name is in parentheses and may contain blanks.
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.reduce((sum, field) => sum + Number(values[field]), 0);
}

/** Resident memory of the process in megabytes. */
export const residentMb = (pid: number): number => memoryMb(pid, 'VmRSS');

/** The part of it that the process does not share with other processes of the same files: everything but the pages of files. */
export const ownMb = (pid: number): number => memoryMb(pid, 'RssAnon');

function memoryMb(pid: number, field: 'VmRSS' | 'RssAnon'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status) ?? [];
  return Number(kilobytes) / 1024;
}

/** Processor time of a process and its children in milliseconds, for a server that has a process for each connection. */
export function cpuOfFamily(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ');
  return [String(pid), ...children.filter(Boolean)].reduce((sum, each) => sum + cpuWithEnded(each), 0);
}

/** Time of a process and of its ended children; 0 if it has ended itself, because its parent then has the time. */
function cpuWithEnded(pid: string): number {
  try {
    return ticksOf(pid, [11, 12, 13, 14]) * 10;
  } catch {
    return 0;
  }
}
