import { readFileSync } from 'node:fs';

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
 * The same for what other processes do: each call gives the milliseconds since, without those in which something on this
 * machine was ready to run and got no processor. On a machine that is busy all the time that is next to nothing, so a
 * limit holds where there is room and fails nobody where there is none.
 */
export function machineStopwatch(): () => number {
  const [startedAt, stalledBefore] = [performance.now(), stalledMs()];
  return () => Math.max(0, performance.now() - startedAt - (stalledMs() - stalledBefore));
}

/** Milliseconds since boot in which at least one task of the machine waited for a processor; 0 where the kernel does not tell. */
function stalledMs(): number {
  try {
    // some avg10=… avg60=… avg300=… total=<microseconds>
    const pressure = readFileSync('/proc/pressure/cpu', 'utf8');
    return Number(/^some .*total=(\d+)$/m.exec(pressure)?.[1] ?? 0) / 1e3;
  } catch {
    return 0;
  }
}
