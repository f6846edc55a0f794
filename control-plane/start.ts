import type { Server } from 'node:https';
import { hostname } from 'node:os';
import { systemClock } from '../runtime/clock.ts';
import { listen, type Listener } from '../runtime/http-listener.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { Running } from '../runtime/run-process.ts';
import { createControlPlaneApp } from './app.ts';
import type { ControlPlaneConfig } from './config.ts';
import { API_TIMEOUTS, apiLimits } from './connection-limits.ts';
import { createContext } from './context.ts';
import { openStores } from './stores/open-stores.ts';
import { readKeyPair, reloadKeyPair } from './tls.ts';

/** How often the certificate files are checked, in milliseconds. */
const CERTIFICATE_CHECK_MS = 10_000;
/** Timeout for requests in flight after the stop signal, in milliseconds. */
const GRACE_MS = 10_000;

export interface ControlPlane extends Running {
  readonly port: number;
}

/** Opens the store, then the port; `close` drains both in reverse order. */
export async function startControlPlane(
  config: ControlPlaneConfig,
  logger: Logger,
  signal: AbortSignal,
): Promise<ControlPlane> {
  const tls = config.tls && { files: config.tls, current: await readKeyPair(config.tls) };
  const metrics = createMetrics();
  const stores = await openStores({ config, logger, metrics });
  const stopped = new AbortController();
  const stopping = AbortSignal.any([signal, stopped.signal]);
  let listener: Listener | undefined;
  try {
    const isStopping = (): boolean => signal.aborted;
    const given = { config, logger, metrics, isStopping, stopping, ...stores };
    const context = createContext({ ...given, instance: hostname() });
    listener = await listen({
      handler: createControlPlaneApp(context),
      port: config.PORT,
      limits: apiLimits(metrics),
      timeouts: API_TIMEOUTS,
      ...(tls && { tls: tls.current }),
    });
  } catch (error) {
    await stores.close();
    throw error;
  }
  const reload =
    tls &&
    reloadKeyPair({
      ...tls,
      server: listener.server as Server,
      clock: systemClock,
      logger,
      everyMs: CERTIFICATE_CHECK_MS,
      signal: stopped.signal,
    });
  if (config.PLATFORM_ADMIN_KEY === null)
    logger.warn('admin routes and registration return 503: PLATFORM_ADMIN_KEY is not set');
  logger.info('listening', { port: listener.port, tls: tls !== null, store: config.STORE });
  return {
    port: listener.port,
    async close() {
      stopped.abort();
      await reload;
      await listener.close(GRACE_MS);
      await stores.close();
    },
  };
}
