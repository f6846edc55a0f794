import { setTimeout as delay } from 'node:timers/promises';

/** Time as a dependency, so that tests can move it. */
export interface Clock {
  now(): Date;
  /** Monotonic milliseconds since an arbitrary start; for durations. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or rejects with an AbortError. Does not keep the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal ? { signal, ref: false } : { ref: false });
  },
};

/** Sleeps; false: `signal` aborted meanwhile. */
export function slept(clock: Pick<Clock, 'sleep'>, ms: number, signal: AbortSignal): Promise<boolean> {
  return clock.sleep(ms, signal).then(
    () => true,
    () => false,
  );
}
