import { globSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds until a process must stand still, and between two looks. */
const [WITHIN_MS, LOOK_MS] = [20_000, 5];

/**
 * Stops a process in its tracks (SIGSTOP) and waits until it stands: until then, on a busy machine, another one of its
 * threads may still answer. Throws when it does not stand still in 20 s. SIGCONT lets it go on.
 */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const end = performance.now() + WITHIN_MS;
  while (!stands(pid)) {
    if (performance.now() > end) throw new Error(`process ${pid} does not stop`);
    await sleep(LOOK_MS);
  }
}

/** Whether each of its threads is stopped. Where threads cannot be seen (not Linux), it is taken for granted. */
function stands(pid: number): boolean {
  return globSync(`/proc/${pid}/task/*/status`).every((file) => {
    try {
      return /^State:\s+[TtZX]/m.test(readFileSync(file, 'utf8'));
    } catch {
      // This thread has ended.
      return true;
    }
  });
}
