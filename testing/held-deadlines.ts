import { jest } from '@jest/globals';
import { holdTimers, type HeldTimers } from './held-timers.ts';

/** Holds timers as `holdTimers` does, and the deadlines of `AbortSignal.timeout` with them. */
export function holdDeadlines(): HeldTimers {
  const timers = holdTimers();
  const spy = jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), ms);
    return controller.signal;
  });
  return {
    pass: (ms) => timers.pass(ms),
    [Symbol.dispose]: () => {
      spy.mockRestore();
      timers[Symbol.dispose]();
    },
  };
}
