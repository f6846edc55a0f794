// Limits in real time. A test takes one only where real time has to pass: everything else goes by a clock that the test holds
// or by a condition that the test observes.
import { expect } from '@jest/globals';

/** `make soak`: longer forms of tests, and the times that the product promises as limits. */
export const IN_SOAK = process.env['SOAK'] === '1';

interface Limit {
  /** Seconds that the product promises on a machine that is not overloaded; the limit in `make soak`. */
  promised: number;
  /** Typical of the runs seen on two cores, in seconds; the longest of a series of runs has not been taken yet. */
  measured: number;
  /** `make test` prints the time and does not judge it: it depends on what else the machine does. */
  onlyInSoak?: true;
}

/** Every promise about time that a test checks. CONTRIBUTING.md shows the table. */
export const LIMITS = {
  'helm install --wait': { promised: 30, measured: 8 },
  'an injected pod Ready': { promised: 10, measured: 3 },
  'a first observation': { promised: 60, measured: 10 },
  'a change in the observation': { promised: 25, measured: 15 },
  'Unknown after the last heartbeat': { promised: 145, measured: 133 },
  'agents started after the injector is back': { promised: 15, measured: 5 },
  'an answer while the API server hangs': { promised: 10, measured: 8.1 },
  'two writes of a status': { promised: 9, measured: 4 },
  'every agent reconciled after a start': { promised: 15, measured: 8 },
  'recovery from an outage': { promised: 10, measured: 7 },
  'take-over from a killed leader': { promised: 20, measured: 16 },
  'hand-over by a leader that stops': { promised: 2, measured: 1 },
  'a response next to hostile clients (p99)': { promised: 1, measured: 0.2, onlyInSoak: true },
} as const satisfies Record<string, Limit>;

/** Factor between what was measured and what fails in `make test`. */
const MARGIN = 10;

/** Seconds after which a test fails: in `make soak` what is promised, else ten times what was measured, at least. */
export function limitOf({ promised, measured, onlyInSoak }: Limit, isSoak = IN_SOAK): number {
  if (!isSoak && onlyInSoak === true) return Infinity;
  return isSoak ? promised : Math.max(promised, MARGIN * measured);
}

/**
 * Starts to measure; the function that is returned prints how long it took and fails when that was too long. It takes the
 * milliseconds to judge where they were measured otherwise.
 */
export function withinLimit(what: keyof typeof LIMITS): (tookMs?: number) => void {
  const startedAt = performance.now();
  const { promised } = LIMITS[what];
  const limit = limitOf(LIMITS[what]);
  return (tookMs = performance.now() - startedAt) => {
    const took = tookMs / 1_000;
    const judged = limit === Infinity ? 'not judged here' : `limit ${limit} s`;
    process.stdout.write(`${what}: ${took.toFixed(1)} s (promised ${promised} s, ${judged})\n`);
    expect(took).toBeLessThan(limit);
  };
}
