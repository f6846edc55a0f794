import { describeError, type LogFields, type Logger } from '../../runtime/logger.ts';
import type { UpstreamFailure } from './upstream.ts';

/** Logs the failed requests of an upstream: one warning per outage, not one per request, and each error of the sidecar itself. */
export class OutageLog {
  readonly #logger: Logger;
  readonly #fields: LogFields;
  #failures = 0;

  /** `fields`: added to each line. */
  constructor(logger: Logger, fields: LogFields = {}) {
    this.#logger = logger;
    this.#fields = fields;
  }

  /** `requestId` null: the failure belongs to no request of the agent. */
  failed({ kind, error, isInternal }: UpstreamFailure, requestId: string | null): void {
    const request = requestId === null ? {} : { requestId };
    const fields = { ...this.#fields, ...request, kind, error: describeError(error) };
    if (isInternal === true) {
      this.#logger.error('failed to process upstream response', fields);
      return;
    }
    this.#failures += 1;
    if (this.#failures === 1) this.#logger.warn('upstream request failed', fields);
    else this.#logger.debug('upstream request failed again', fields);
  }

  ended(): void {
    if (this.#failures === 0) return;
    this.#logger.info('upstream requests succeed again', { ...this.#fields, failures: this.#failures });
    this.#failures = 0;
  }
}
