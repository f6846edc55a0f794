import { expect, test } from '@jest/globals';
import { stopwatch } from './stopwatch.ts';

test('counts what is computed, and no more than the clock', () => {
  const [startedAt, elapsed, cpu] = [performance.now(), stopwatch(), process.threadCpuUsage()];
  while (process.threadCpuUsage(cpu).user < 100_000);
  expect(elapsed()).toBeGreaterThan(90);
  expect(elapsed()).toBeLessThanOrEqual(performance.now() - startedAt);
});

test('counts what is waited for, when the machine leaves the thread alone meanwhile', async () => {
  for (;;) {
    const elapsed = stopwatch();
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (elapsed() > 90) break;
  }
});
