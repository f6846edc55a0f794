import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency, so that tests can move it. */
export interface Clock {
  now(): Date;
  /** Monotonic milliseconds since an arbitrary start; for durations. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or rejects with an AbortError. Does not keep the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Calls `work` every `everyMs` milliseconds until `signal` aborts. Resolves after the last call; rejects if a call rejects. */
export async function repeat(
  { clock, everyMs, signal }: { clock: Clock; everyMs: number; signal: AbortSignal },
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(everyMs, signal).catch(() => undefined);
    if (!signal.aborted) await work();
  }
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal ? { signal, ref: false } : { ref: false });
  },
};
