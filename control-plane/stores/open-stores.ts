import { createKubeClient } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { createPodIdentity, type PodIdentity } from '../auth/pod-identity.ts';
import type { ControlPlaneConfig } from '../config.ts';
import { createSqliteStore } from './sqlite/sqlite-store.ts';
import type { Store } from './store.ts';

export interface OpenStores {
  store: Store;
  /** null: there is no cluster to ask. */
  pods: PodIdentity | null;
  close(): Promise<void>;
}

/** Opens what the configuration names; rejects, with nothing left open, when it cannot be opened. */
export async function openStores(
  parts: { config: ControlPlaneConfig; logger: Logger; metrics: Metrics },
  signal: AbortSignal,
): Promise<OpenStores> {
  const { config } = parts;
  if (config.STORE === 'kubernetes') throw new Error('this build has no Kubernetes store');
  const clock = systemClock;
  const client =
    config.cluster === null
      ? null
      : createKubeClient({ access: loadClusterAccess(config.cluster.kubeconfig), part: 'control-plane' });
  const rateLimitSeconds = config.RATE_LIMIT_SECONDS;
  const store = createSqliteStore({ directory: config.DATA_DIR, clock, rateLimitSeconds });
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
  return { store, pods: client && createPodIdentity({ client, clock }), close };
}
