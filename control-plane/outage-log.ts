import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';

/** What is logged when an outage begins and when it ends. */
interface OutageMessages {
  begin: (error: string) => void;
  end: (failures: number) => void;
}

/** An outage is over after this time without failures, in milliseconds. Single successes do not end an outage. */
const QUIET_MS = 5_000;

/** Counts the failures of an outage, so that an outage is one log line and not one per request. */
export function createOutageLog(clock: Clock, log: OutageMessages) {
  let outage: { failures: number; lastMs: number } | null = null;
  return {
    /** A request failed: no response, or an error response. Returns whether it is the first one of an outage. */
    failed(error: unknown): boolean {
      const isFirst = outage === null;
      if (isFirst) log.begin(describeError(error));
      outage = { failures: (outage?.failures ?? 0) + 1, lastMs: clock.monotonicMs() };
      return isFirst;
    },
    succeeded(): void {
      if (outage === null || clock.monotonicMs() - outage.lastMs < QUIET_MS) return;
      log.end(outage.failures);
      outage = null;
    },
  };
}

/** Tracks API server failures of all callers. */
export const createApiServerOutage = ({ clock, logger }: { clock: Clock; logger: Logger }): ApiServerOutage =>
  createOutageLog(clock, {
    begin: (error) => logger.error('API server requests failing', { error }),
    end: (failures) => logger.info('API server requests succeed again', { failures }),
  });

export type ApiServerOutage = ReturnType<typeof createOutageLog>;
