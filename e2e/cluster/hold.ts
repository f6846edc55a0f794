import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** A cluster or control plane that hold.sh keeps running until it is closed. */
export interface HeldCluster {
  /** Output of the start, without `ready`. */
  output: string;
  /** Stops it and waits for the clean-up. Throws if the clean-up fails. May be called twice. */
  close: () => Promise<void>;
}

/**
 * Starts a cluster or a control plane through hold.sh, which stops it when this process ends in any way.
 * Throws with the end of the logs if it fails to start.
 */
export async function hold(what: 'cluster' | 'control', env: Record<string, string>): Promise<HeldCluster> {
  const child = spawn(join(import.meta.dirname, 'hold.sh'), [what], {
    env: { ...process.env, ...env },
    // Own process group, so that Ctrl-C in the terminal does not interrupt the clean-up.
    detached: true,
    stdio: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // hold.sh may have exited already; its exit code is checked below.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const ready = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (/^ready$/m.test(stdout)) resolve();
    });
  });
  const early = await Promise.race([ready.then(() => undefined), ended.then((code) => ({ code }))]);
  if (early) throw new Error(`the ${what} failed to start (exit code ${early.code}):\n${stdout}${stderr}`);
  return {
    output: stdout.replace(/^ready\n/m, ''),
    close: async () => {
      child.stdin.end();
      const code = await ended;
      if (code !== 0) throw new Error(`the ${what} failed to stop (exit code ${code}):\n${stderr}`);
    },
  };
}
