import type { RequestHandler } from 'express';
import { systemClock, type Clock } from '../runtime/clock.ts';
import type { Route } from '../runtime/http-app.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { createApiServerOutage, type ApiServerOutage } from './api-server-outage.ts';
import { requireAdminKey } from './auth/admin-key.ts';
import type { CallerDependencies } from './auth/caller.ts';
import { createRegistrationTokens, signingKeysOf } from './auth/registration-token.ts';
import type { ControlPlaneConfig } from './config.ts';
import type { Store } from './stores/store.ts';

/** A row of the route table. The application checks the credential of an `admin` or `bearer` route before its handlers. */
export type ControlPlaneRoute = Route<'open' | 'admin' | 'bearer'>;

/** Dependencies of the routes. */
export interface ControlPlaneContext extends CallerDependencies {
  logger: Logger;
  metrics: Metrics;
  requireAdmin: RequestHandler;
  /** Minimum time between two accepted heartbeats of one instance; 0: no limit. */
  rateLimitSeconds: number;
  /** null: ready; else the reason for `/readyz`. */
  unready(): string | null;
}

export interface ContextParts {
  config: ControlPlaneConfig;
  logger: Logger;
  metrics: Metrics;
  store: Store;
  pods: CallerDependencies['pods'];
  clock?: Clock;
  /** Shared with the store; default: a new tracker. */
  apiServer?: ApiServerOutage;
  /** True after the stop signal. */
  isStopping?: () => boolean;
}

export function createContext(parts: ContextParts): ControlPlaneContext {
  const { config, logger, metrics, store, pods, isStopping = () => false } = parts;
  const { PLATFORM_ADMIN_KEY: adminKey } = config;
  const keys = signingKeysOf(config.JWT_SECRET, adminKey);
  const clock = parts.clock ?? systemClock;
  return {
    logger,
    store,
    pods,
    clock,
    apiServer: parts.apiServer ?? createApiServerOutage({ clock, logger }),
    metrics,
    tokens: keys === null ? null : createRegistrationTokens(keys),
    requireAdmin: requireAdminKey({ adminKey, clock, logger, metrics }),
    remoteNamespace: config.REMOTE_NAMESPACE,
    rateLimitSeconds: config.RATE_LIMIT_SECONDS,
    unready: () => (isStopping() ? 'this process is stopping' : store.unready()),
  };
}
