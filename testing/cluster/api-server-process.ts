import { spawn } from 'node:child_process';
import { openSync, closeSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../../e2e/cluster/control.ts';

/** Stops and restarts the API server process of a control plane. */
export interface ApiServerProcess {
  /** Kills it; its store is kept. */
  kill(): Promise<void>;
  /** Restarts it at the same address; the control plane's `close` also stops the new process. `more`: additional flags. */
  start(more?: readonly string[]): Promise<void>;
}

export async function apiServerOf(control: ControlPlane): Promise<ApiServerProcess> {
  const folder = dirname(dirname(control.kubeconfig));
  const pidFile = join(folder, 'kube-apiserver.pid');
  let pid = Number(await readFile(pidFile, 'utf8'));
  const [command = '', ...args] = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1);
  return {
    async kill() {
      process.kill(pid, 'SIGKILL');
      while (isThere(pid)) await sleep(10);
    },
    async start(more = []) {
      const log = openSync(join(folder, 'kube-apiserver.log'), 'a');
      const child = spawn(command, [...args, ...more], { detached: true, stdio: ['ignore', log, log] });
      closeSync(log);
      child.unref();
      pid = child.pid ?? NaN;
      await writeFile(pidFile, String(pid));
    },
  };
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
