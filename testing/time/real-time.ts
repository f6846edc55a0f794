// Limits in real time. Only tests that need real time use them. Other tests use a clock under their control
// or wait for a condition.
import { expect } from '@jest/globals';

/** `make soak`: long versions of tests, with the promised times as limits. */
export const IN_SOAK = process.env['SOAK'] === '1';

interface Limit {
  /** Promised seconds on a machine that is not overloaded; the limit in `make soak`. */
  promised: number;
  /** Typical seconds on two cores; not the maximum of a series of runs. */
  measured: number;
  /** `make test` only prints the time, because it depends on the load of the machine. */
  onlyInSoak?: true;
}

/** All promised times that tests check. CONTRIBUTING.md contains the table. */
export const LIMITS = {
  'helm install --wait': { promised: 30, measured: 8 },
  'an injected pod Ready': { promised: 10, measured: 3 },
  'a first observation': { promised: 60, measured: 10 },
  'a change in the observation': { promised: 25, measured: 15 },
  'Unknown after the last heartbeat': { promised: 145, measured: 133 },
  'agents started after the injector is back': { promised: 15, measured: 5 },
  'a response while the API server hangs': { promised: 10, measured: 8.1 },
  'two writes of a status': { promised: 9, measured: 4 },
  'every agent reconciled after a start': { promised: 15, measured: 8 },
  'recovery from an outage': { promised: 10, measured: 7 },
  'take-over from a killed leader': { promised: 20, measured: 16 },
  'hand-over by a leader that stops': { promised: 2, measured: 1 },
  'a response next to hostile clients (p99)': { promised: 1, measured: 0.2, onlyInSoak: true },
} as const satisfies Record<string, Limit>;

/** Factor between the measured value and the limit in `make test`. */
const MARGIN = 10;

/** Seconds after which a test fails: in `make soak` the promise, else at least ten times the measured value. */
export function limitOf({ promised, measured, onlyInSoak }: Limit, isSoak = IN_SOAK): number {
  if (!isSoak && onlyInSoak === true) return Infinity;
  return isSoak ? promised : Math.max(promised, MARGIN * measured);
}

/**
 * Starts a measurement. The returned function prints the duration and throws if it exceeds the limit. It accepts
 * milliseconds that were measured separately.
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
