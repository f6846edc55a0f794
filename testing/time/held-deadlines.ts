import { jest } from '@jest/globals';
import { holdTimers, type HeldTimers } from './held-timers.ts';

/** Like `holdTimers`, and also holds the deadlines of `AbortSignal.timeout`. */
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
