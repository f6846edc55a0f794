import type { InjectionSettings } from '../core/injection/settings.ts';
import type { ManifestReview } from '../core/injection/parse-review.ts';
import type { GateReply } from '../core/organisation/gate.ts';
import type { PolicyMode } from '../core/shapes/values.ts';
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
  /** null: the organisation rules are not enabled. */
  organisation: OrganisationGate | null;
  /** null: this process is ready; otherwise the reason, for `/readyz`. */
  unready(): string | null;
}

/** The rules of the organisation. */
export interface OrganisationGate {
  /** The reply to the writer of a manifest. Throws a Problem while the rules are not known. `signal`: the writer no longer waits. */
  review(review: ManifestReview, signal: AbortSignal): Promise<GateReply>;
  /** The weakest policy mode of the pods of an agent. */
  minimumMode(namespace: string, agent: string): PolicyMode;
}
