// A clock for bars that are promised for a machine with nothing else to do: it goes slower while the machine is busy.
import { setTimeout as sleep } from 'node:timers/promises';

export interface QuietClock {
  /**
   * Milliseconds so far. Half of such times is computed (objects are stored, processes start), the other half is waited (for
   * probes, timers, intervals): the first half counts for as many times less as a short computation about then took longer
   * than its processor time. So a bar held by this clock is strictest on a quiet machine, and never slacker than its load.
   */
  now: () => number;
  /** How many times slower than the wall's it went so far, at least 1: what a time is multiplied by that others need. */
  slowness: () => number;
  close: () => Promise<void>;
}

/** From one look to the next, and what a look computes. */
const [LOOK_MS, COMPUTED_MS] = [500, 10];

/** Starts one; `look` says how many times longer than its processor time something took that only computes. */
export function startQuietClock(look: () => number = compute): QuietClock {
  let passed = 0;
  let shown = 0;
  let lookedAt = performance.now();
  let times = 1;
  const startedAt = performance.now();
  const over = new AbortController();
  const since = () => ((performance.now() - lookedAt) * 2) / (1 + times);

  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      times = Math.max(1, look());
      // What has passed since the last look went as this one says.
      passed += since();
      lookedAt = performance.now();
      await sleep(LOOK_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  }
  const running = run();
  // A look may find that it went slower than it seemed: then the clock stands for a moment.
  const now = () => (shown = Math.max(shown, passed + since()));
  return {
    now,
    slowness: () => Math.max(1, (performance.now() - startedAt) / now()),
    close: async () => {
      over.abort();
      await running;
    },
  };
}

function compute(): number {
  const [before, startedAt] = [process.threadCpuUsage(), performance.now()];
  for (;;) {
    const { user, system } = process.threadCpuUsage(before);
    const cpuMs = (user + system) / 1_000;
    if (cpuMs >= COMPUTED_MS) return (performance.now() - startedAt) / cpuMs;
  }
}
