import { describeError, type Logger } from '../../runtime/logger.ts';
import type { UpstreamFailure } from './upstream.ts';

/** Logs one warning per outage of the agent, not one per request. */
export class OutageLog {
  readonly #logger: Logger;
  #failures = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  failed({ kind, error }: UpstreamFailure, requestId: string): void {
    this.#failures += 1;
    const fields = { requestId, kind, error: describeError(error) };
    if (this.#failures === 1) this.#logger.warn('upstream request failed', fields);
    else this.#logger.debug('upstream request failed again', fields);
  }

  ended(): void {
    if (this.#failures === 0) return;
    this.#logger.info('upstream requests succeed again', { failures: this.#failures });
    this.#failures = 0;
  }
}
