import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than any step takes; no result depends on it. */
const WAIT_MS = 60_000;

/** Polls until the condition holds. Throws with `what` after a minute. */
export async function until(isSo: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  const deadline = Date.now() + WAIT_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not in ${WAIT_MS} ms: ${what()}`);
    await sleep(10);
  }
}
