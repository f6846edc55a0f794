import { setTimeout as delay } from 'node:timers/promises';

/**
 * Time as a dependency; the same shape as the processes' own clock. It is declared here because the reporter
 * runs inside other people's servers and takes nothing from runtime/.
 */
export interface PushClock {
  now(): Date;
  /** Milliseconds from an arbitrary start that never jump. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or rejects when the signal aborts. Does not keep the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const builtinClock: PushClock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal ? { signal, ref: false } : { ref: false });
  },
};

/** What push/ and the reporter log through; every process logger fits. */
export interface PushLogger {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
}
