import { KubeClient } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { createApiServerOutage, type ApiServerOutage } from '../api-server-outage.ts';
import { PodIdentity } from '../auth/pod-identity.ts';
import type { ControlPlaneConfig } from '../config.ts';
import { KubernetesStore } from './kubernetes/kubernetes-store.ts';
import { createDualWriteStore } from './dual-write-store.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';
import type { Store } from './store.ts';

export interface OpenStores {
  store: Store;
  /** null: no cluster is configured. */
  pods: PodIdentity | null;
  apiServer: ApiServerOutage;
  close(): Promise<void>;
}

interface Parts {
  config: ControlPlaneConfig;
  logger: Logger;
  metrics: Metrics;
}

/** Opens the configured store. Rejects if it cannot be opened; then nothing stays open. */
export async function openStores(parts: Parts, signal: AbortSignal): Promise<OpenStores> {
  const { cluster, sidecarImages } = parts.config;
  const client =
    cluster === null
      ? null
      : new KubeClient({ access: loadClusterAccess(cluster.kubeconfig), part: 'control-plane' });
  const apiServer = createApiServerOutage({ clock: systemClock, logger: parts.logger });
  const store = storeOf({ ...parts, apiServer }, client);
  const close = async (): Promise<void> => {
    await store.close();
    await client?.close();
  };
  try {
    await store.start(signal);
  } catch (error) {
    await close();
    throw error;
  }
  const pods = client && new PodIdentity({ client, clock: systemClock, sidecarImages });
  return { store, pods, apiServer, close };
}

function storeOf(
  { config, logger, metrics, apiServer }: Parts & { apiServer: ApiServerOutage },
  client: KubeClient | null,
): Store {
  const clock = systemClock;
  const rateLimitSeconds = config.RATE_LIMIT_SECONDS;
  const observations =
    client && new KubernetesStore({ client, clock, logger, metrics, rateLimitSeconds, apiServer });
  // readConfig always sets a cluster with this store.
  if (config.STORE === 'kubernetes' && observations !== null) return observations;
  const database = new SqliteStore({ directory: config.DATA_DIR, clock, rateLimitSeconds });
  return observations === null
    ? database
    : createDualWriteStore({ primary: database, mirror: observations, clock, logger });
}
