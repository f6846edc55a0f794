import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';

/** Tracks API server failures of all callers, so that an outage is one log line and not one per request. */
export interface ApiServerOutage {
  /** A request failed: no response, or an error response. */
  failed(error: unknown): void;
  succeeded(): void;
}

/** An outage is over after this time without failures, in milliseconds. Single successes do not end an outage. */
const QUIET_MS = 5_000;

export function createApiServerOutage({ clock, logger }: { clock: Clock; logger: Logger }): ApiServerOutage {
  let outage: { failures: number; lastMs: number } | null = null;
  return {
    failed(error) {
      if (outage === null) logger.error('API server requests failing', { error: describeError(error) });
      outage = { failures: (outage?.failures ?? 0) + 1, lastMs: clock.monotonicMs() };
    },
    succeeded() {
      if (outage === null || clock.monotonicMs() - outage.lastMs < QUIET_MS) return;
      logger.info('API server reachable again', { failures: outage.failures });
      outage = null;
    },
  };
}
