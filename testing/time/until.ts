import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than any condition takes, also on a busy machine; less than the timeout of a test. */
const WITHIN_MS = 240_000;
/** Pause between two checks. A promise is a request, which without a pause would keep several processes busy. */
const PAUSE_MS = { sync: 2, async: 50 };

/** Resolves when the condition is true, also while timers are held. Throws with `what` after four minutes. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string | (() => string) = 'the condition',
): Promise<void> {
  const end = performance.now() + WITHIN_MS;
  for (;;) {
    const result = condition();
    if (await result) return;
    if (performance.now() > end)
      throw new Error(`not within ${WITHIN_MS} ms: ${typeof what === 'string' ? what : what()}`);
    await sleep(typeof result === 'boolean' ? PAUSE_MS.sync : PAUSE_MS.async);
  }
}
