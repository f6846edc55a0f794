import { afterAll, test } from '@jest/globals';

/**
 * Tests that run one after the other, beside those of other lanes, since most of their time is waiting. Each is reported
 * as a test of its own, in the order of the file.
 */
export interface Lane<T> {
  test(name: string, run: (opened: T) => Promise<void>, timeoutMs: number): void;
  /** Begins; for `beforeAll`. */
  start(): void;
}

/** `open` makes what the tests of a lane share; `close` is called for whatever came of it. */
export function createLane<T>(open: () => Promise<T>, close: (opened: T) => Promise<void>): Lane<T> {
  const steps: { run: (opened: T) => Promise<void>; result: PromiseWithResolvers<void> }[] = [];
  let opened: Promise<T> | null = null;
  let ended = Promise.resolve();

  async function run(shared: Promise<T>): Promise<void> {
    for (const step of steps)
      try {
        await step.run(await shared);
        step.result.resolve();
      } catch (error) {
        step.result.reject(error);
      }
  }

  afterAll(async () => {
    // A test that hangs is not waited for: what it waits on ends with the close.
    const shared = await opened?.catch(() => null);
    if (shared) await close(shared);
    await ended;
  }, 180_000);

  return {
    start() {
      opened = open();
      ended = run(opened);
    },
    test(name, run, timeoutMs) {
      const result = Promise.withResolvers<void>();
      // It may fail before its test asks.
      result.promise.catch(() => undefined);
      steps.push({ run, result });
      test(name, () => result.promise, timeoutMs);
    },
  };
}
