import { systemClock } from '../runtime/clock.ts';
import { ManifestWorker } from '../runtime/manifest-worker.ts';
import type { Route } from '../runtime/http-app.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Secret } from '../runtime/secret.ts';
import { createApiServerOutage } from './outage-log.ts';
import type { CallerDependencies } from './auth/caller.ts';
import { createRegistrationTokens, signingKeysOf } from './auth/registration-token.ts';
import type { ControlPlaneConfig } from './config.ts';
import { NO_RULES, Organisation } from './organisation/organisation.ts';
import { NO_STOPS } from './stops/stop-storage.ts';
import { DEFAULT_ROOT_NAMESPACE, Stops } from './stops/stops.ts';

/** A row of the route table. The application checks the credential of an `admin` or `bearer` route before its handlers. */
export type ControlPlaneRoute = Route<'open' | 'admin' | 'bearer'>;

/** Dependencies of the routes. */
export interface ControlPlaneContext extends CallerDependencies {
  logger: Logger;
  metrics: Metrics;
  /** null: not configured. */
  adminKey: Secret | null;
  organisation: Organisation;
  stops: Stops;
  /** Minimum time between two accepted heartbeats of one instance; 0: no limit. */
  rateLimitSeconds: number;
  /** null: ready; else the reason for `/readyz`. */
  unready(): string | null;
  /** Aborts when the process stops: ends the event streams. */
  stopping: AbortSignal;
}

type Given = Pick<ControlPlaneContext, 'logger' | 'metrics' | 'store' | 'pods'> &
  Partial<Pick<ControlPlaneContext, 'clock' | 'apiServer' | 'organisation' | 'stops'>>;

export interface ContextParts extends Given {
  config: ControlPlaneConfig;
  /** True after the stop signal. */
  isStopping?: () => boolean;
  /** Default: never aborts. */
  stopping?: AbortSignal;
}

export function createContext({ config, isStopping, stopping, ...given }: ContextParts): ControlPlaneContext {
  const { PLATFORM_ADMIN_KEY: adminKey } = config;
  const { clock = systemClock, logger, metrics, store, pods } = given;
  const keys = signingKeysOf(config.JWT_SECRET, adminKey);
  return {
    logger,
    metrics,
    store,
    pods,
    clock,
    apiServer: given.apiServer ?? createApiServerOutage({ clock, logger }),
    tokens: keys && createRegistrationTokens(keys),
    adminKey,
    organisation: given.organisation ?? new Organisation(NO_RULES, new ManifestWorker()),
    stops:
      given.stops ?? new Stops({ storage: NO_STOPS, rootNamespace: DEFAULT_ROOT_NAMESPACE, clock, logger }),
    remoteNamespace: config.REMOTE_NAMESPACE,
    rateLimitSeconds: config.RATE_LIMIT_SECONDS,
    unready: () => (isStopping?.() ? 'this process is stopping' : store.unready()),
    stopping: stopping ?? new AbortController().signal,
  };
}
