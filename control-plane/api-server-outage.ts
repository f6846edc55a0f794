import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';

/** An outage is over after this time without failures, in milliseconds. Single successes do not end an outage. */
const QUIET_MS = 5_000;

/** Tracks API server failures of all callers, so that an outage is one log line and not one per request. */
export function createApiServerOutage({ clock, logger }: { clock: Clock; logger: Logger }) {
  let outage: { failures: number; lastMs: number } | null = null;
  return {
    /** A request failed: no response, or an error response. */
    failed(error: unknown): void {
      if (outage === null) logger.error('API server requests failing', { error: describeError(error) });
      outage = { failures: (outage?.failures ?? 0) + 1, lastMs: clock.monotonicMs() };
    },
    succeeded(): void {
      if (outage === null || clock.monotonicMs() - outage.lastMs < QUIET_MS) return;
      logger.info('API server requests succeed again', { failures: outage.failures });
      outage = null;
    },
  };
}

export type ApiServerOutage = ReturnType<typeof createApiServerOutage>;
