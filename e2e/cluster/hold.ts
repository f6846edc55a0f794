import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** Something that hold.sh keeps running until it is let go. */
export interface Held {
  /** What the start printed, `ready` aside. */
  output: string;
  /** Ends it and waits until nothing of it is left. Throws when something is. Safe to call twice. */
  close: () => Promise<void>;
}

/**
 * Starts a cluster or a control plane through hold.sh, which ends it when this process ends, however it dies.
 * Throws with the end of the logs when it does not come up.
 */
export async function hold(what: 'cluster' | 'control', env: Record<string, string>): Promise<Held> {
  const child = spawn(join(import.meta.dirname, 'hold.sh'), [what], {
    env: { ...process.env, ...env },
    // A group of its own: a Ctrl-C in the terminal must not end the clean-up.
    detached: true,
    stdio: 'pipe',
  });
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  // hold.sh may be gone already; its exit code says so.
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
  if (early) throw new Error(`the ${what} did not come up (exit code ${early.code}):\n${stdout}${stderr}`);
  return {
    output: stdout.replace(/^ready\n/m, ''),
    close: async () => {
      child.stdin.end();
      const code = await ended;
      if (code !== 0) throw new Error(`the ${what} did not go down (exit code ${code}):\n${stderr}`);
    },
  };
}
