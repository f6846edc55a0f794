import { jest } from '@jest/globals';

/** Timers that advance only under control of a test. */
export interface HeldTimers extends Disposable {
  /** Advances the time and runs everything that becomes due immediately. */
  pass(ms: number): Promise<void>;
}

/**
 * Holds `setTimeout` and `setInterval` of the code under test. Sockets, dates, `AbortSignal.timeout` and Node.js internal
 * timers are not affected. A test can reach a limit without waiting, and no limit expires because the machine is busy.
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
