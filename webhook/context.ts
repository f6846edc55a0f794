import type { InjectionSettings } from '../core/injection/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** The dependencies of the routes. */
export interface WebhookContext {
  logger: Logger;
  metrics: Metrics;
  clock: Clock;
  /** null until a CA exists for the sidecars. */
  settings(): InjectionSettings | null;
  /** null: this process is ready; otherwise the reason, for `/readyz`. */
  unready(): string | null;
}
