import { setTimeout as delay } from 'node:timers/promises';

/**
 * Time as a dependency; the clock of runtime/ is this one. It is declared here because the reporter runs
 * inside the agent's server and must not import runtime/.
 */
export interface PushClock {
  now(): Date;
  /** Milliseconds from an arbitrary start; monotonic. */
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

/** The logger of push/ and the reporter; every process logger implements this interface. */
export interface PushLogger {
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
}
