import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';

/** Answers of the API server, seen by every part that asks it, so that an outage is one line of the log and not one a request. */
export interface ApiServerOutage {
  /** It did not answer, or could not do what was asked. */
  failed(error: unknown): void;
  answered(): void;
}

/** Requests fail and succeed side by side while it comes and goes; an outage is over after this time without failures, in milliseconds. */
const QUIET_MS = 5_000;

export function createApiServerOutage({ clock, logger }: { clock: Clock; logger: Logger }): ApiServerOutage {
  let outage: { failures: number; lastMs: number } | null = null;
  return {
    failed(error) {
      if (outage === null) logger.error('API server requests fail', { error: describeError(error) });
      outage = { failures: (outage?.failures ?? 0) + 1, lastMs: clock.monotonicMs() };
    },
    answered() {
      if (outage === null || clock.monotonicMs() - outage.lastMs < QUIET_MS) return;
      logger.info('API server answers again', { failures: outage.failures });
      outage = null;
    },
  };
}
