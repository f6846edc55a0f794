import { globSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Timeout for suspending a process, and the polling interval, in milliseconds. */
const [WITHIN_MS, LOOK_MS] = [120_000, 5];

/**
 * Suspends a process (SIGSTOP) and waits until all its threads are stopped, because on a busy machine another
 * thread may still respond. Throws if it is not suspended within two minutes. SIGCONT resumes it.
 */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  const end = performance.now() + WITHIN_MS;
  while (!stands(pid)) {
    if (performance.now() > end) throw new Error(`process ${pid} was not suspended`);
    await sleep(LOOK_MS);
  }
}

/** Whether all threads are stopped. Assumed to be true if threads are not visible (not Linux). */
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
