import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';

interface Parts {
  clock: Clock;
  logger: Logger;
}

/** An outage is over after this time without failures, in milliseconds. Single successes do not end an outage. */
const QUIET_MS = 5_000;

/** Counts the failures of an outage, so that an outage is one log line and not one per request. */
export function createOutageLog({ clock, logger }: Parts, level: 'error' | 'warn', requests: string) {
  let outage: { failures: number; lastMs: number } | null = null;
  return {
    /** A request failed: no response, or an error response. Returns whether it is the first one of an outage. */
    failed(error: unknown): boolean {
      const isFirst = outage === null;
      if (isFirst) logger[level](`${requests} failing`, { error: describeError(error) });
      outage = { failures: (outage?.failures ?? 0) + 1, lastMs: clock.monotonicMs() };
      return isFirst;
    },
    succeeded(): void {
      if (outage === null || clock.monotonicMs() - outage.lastMs < QUIET_MS) return;
      logger.info(`${requests} succeed again`, { failures: outage.failures });
      outage = null;
    },
  };
}

/** Tracks API server failures of all callers. */
export const createApiServerOutage = (parts: Parts): ApiServerOutage =>
  createOutageLog(parts, 'error', 'API server requests');

export type ApiServerOutage = ReturnType<typeof createOutageLog>;
