import type { InjectionSettings } from '../core/injection/settings.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** What the routes need. */
export interface WebhookContext {
  logger: Logger;
  metrics: Metrics;
  clock: Clock;
  /** null until there is an authority that sidecars can be given. */
  settings(): InjectionSettings | null;
  /** null: this process serves; else the reason why not, for `/readyz`. */
  unready(): string | null;
}

/** The names under which a Service of the release is reached; loopback for a port forward. */
export function hostsOf(service: string, namespace: string): string[] {
  const name = `${service}.${namespace}.svc`;
  return [name, `${name}.cluster.local`, `${service}.${namespace}`, service, 'localhost', '127.0.0.1'];
}
