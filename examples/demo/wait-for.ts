import { setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 50;

/** Calls `ask` until it returns a value that is not null. Rejects with `what` after the timeout. */
export async function waitFor<T>(
  what: string,
  ask: () => Promise<T | null>,
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<T> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    const value = await ask().catch(() => null);
    if (value !== null) return value;
    if (performance.now() > deadline)
      throw new Error(`${what}: not within ${options.timeoutMs / 1_000} seconds`);
    await sleep(STEP_MS, undefined, { signal: options.signal });
  }
}

/** Waits until a URL returns a 2xx. */
export async function waitForOk(what: string, url: string, signal: AbortSignal): Promise<void> {
  const ask = async (): Promise<true | null> => {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok ? true : null;
  };
  await waitFor(what, ask, { timeoutMs: 20_000, signal });
}
