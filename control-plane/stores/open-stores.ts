import { KubeClient } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { createApiServerOutage } from '../api-server-outage.ts';
import { PodIdentity } from '../auth/pod-identity.ts';
import type { ControlPlaneConfig } from '../config.ts';
import { KubernetesStore, type KubernetesStoreOptions } from './kubernetes/kubernetes-store.ts';
import { DualWriteStore } from './dual-write-store.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';
import type { Store } from './store.ts';

/** Opens the configured store. Rejects if it cannot be opened; then nothing stays open. */
export async function openStores({
  config,
  logger,
  metrics,
}: {
  config: ControlPlaneConfig;
  logger: Logger;
  metrics: Metrics;
}) {
  const { cluster, sidecarImages } = config;
  const clock = systemClock;
  const client =
    cluster && new KubeClient({ access: loadClusterAccess(cluster.kubeconfig), part: 'control-plane' });
  const apiServer = createApiServerOutage({ clock, logger });
  const store = storeOf({ config, clock, logger, metrics, apiServer }, client);
  const close = async (): Promise<void> => {
    await store.close();
    await client?.close();
  };
  try {
    await store.start();
  } catch (error) {
    await close();
    throw error;
  }
  return { store, apiServer, pods: client && new PodIdentity({ client, clock, sidecarImages }), close };
}

function storeOf(
  {
    config,
    ...parts
  }: Omit<KubernetesStoreOptions, 'client' | 'rateLimitSeconds'> & { config: ControlPlaneConfig },
  client: KubeClient | null,
): Store {
  const { clock, logger } = parts;
  const rateLimitSeconds = config.RATE_LIMIT_SECONDS;
  const observations = client && new KubernetesStore({ ...parts, client, rateLimitSeconds });
  // readConfig always sets a cluster with this store.
  if (config.STORE === 'kubernetes' && observations !== null) return observations;
  const database = { directory: config.DATA_DIR, clock, rateLimitSeconds };
  return observations === null
    ? new SqliteStore(database)
    : new DualWriteStore({ ...database, mirror: observations, logger });
}
