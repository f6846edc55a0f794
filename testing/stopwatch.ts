import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';

/**
 * Starts to measure; each call then gives the milliseconds since, without those in which this thread was ready to run and
 * got no processor: how busy the machine is must not decide about a limit. What the measured code computes itself, and
 * what it waits for, counts. Where the kernel does not tell (not Linux), everything counts.
 */
export function stopwatch(): () => number {
  const [startedAt, waitedBefore] = [performance.now(), waitedMs()];
  return () => performance.now() - startedAt - (waitedMs() - waitedBefore);
}

/** Milliseconds that the main thread of this process has waited for a processor so far. */
function waitedMs(): number {
  try {
    // Nanoseconds on a processor, nanoseconds in its queue, turns.
    const [, waited = '0'] = readFileSync('/proc/self/schedstat', 'utf8').split(' ');
    return Number(waited) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * How many times as much wanted to run on this machine in the last minute as it has processors, at least 1. A limit that is
 * promised for a machine with nothing else to do is multiplied by it where other work may run beside the test.
 */
export function busyTimes(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}
