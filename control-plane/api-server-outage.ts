import type { Clock } from '../runtime/clock.ts';
import { describeError, type Logger } from '../runtime/logger.ts';
import { OutageCount } from './outage-count.ts';

/** Tracks API server failures of all callers, so that an outage is one log line and not one per request. */
export function createApiServerOutage({ clock, logger }: { clock: Clock; logger: Logger }) {
  const outage = new OutageCount(clock);
  return {
    /** A request failed: no response, or an error response. */
    failed(error: unknown): void {
      if (outage.failed()) logger.error('API server requests failing', { error: describeError(error) });
    },
    succeeded(): void {
      const failures = outage.succeeded();
      if (failures !== null) logger.info('API server requests succeed again', { failures });
    },
  };
}

export type ApiServerOutage = ReturnType<typeof createApiServerOutage>;
