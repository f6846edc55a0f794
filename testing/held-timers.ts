import { jest } from '@jest/globals';

/** Time that passes for timers only when a test says so. */
export interface HeldTimers extends Disposable {
  /** Lets so many milliseconds pass, with all that they lead to at once. */
  pass(ms: number): Promise<void>;
}

/**
 * Holds `setTimeout` and `setInterval` of the code under test; sockets, dates, `AbortSignal.timeout` and what Node.js times
 * itself go on. A limit can then be shown without waiting for it, and none runs out because the machine is busy.
 */
export function holdTimers(): HeldTimers {
  jest.useFakeTimers({
    doNotFake: [
      'Date',
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
    ],
  });
  return {
    pass: (ms) => jest.advanceTimersByTimeAsync(ms),
    [Symbol.dispose]: () => void jest.useRealTimers(),
  };
}
