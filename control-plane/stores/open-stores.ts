import { resolve } from 'node:path';
import type { RuleSource } from '../../core/organisation/finding.ts';
import { AgentStops } from '../../kube/agent-stops.ts';
import { KubeClient } from '../../kube/client.ts';
import { loadClusterAccess } from '../../kube/cluster-access.ts';
import { OrganisationRules } from '../../kube/organisation-rules.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import { KnownCas } from '../../runtime/known-cas.ts';
import type { Logger } from '../../runtime/logger.ts';
import { ManifestWorker } from '../../runtime/manifest-worker.ts';
import type { Metrics } from '../../runtime/metrics.ts';
import { loadPolicies } from '../../runtime/organisation-files.ts';
import { createApiServerOutage } from '../outage-log.ts';
import { NO_ACCESS, type Access } from '../auth/access/access.ts';
import { KubernetesAccess } from '../auth/access/kubernetes-access.ts';
import { loadRoles } from '../auth/access/roles.ts';
import { KubernetesTokens } from '../auth/kubernetes-tokens.ts';
import { PodIdentity } from '../auth/pod-identity.ts';
import type { ControlPlaneConfig } from '../config.ts';
import { NO_RULES, Organisation } from '../organisation/organisation.ts';
import { clusterStops, NO_STOPS, SqlStops, type StopStorage } from '../stops/stop-storage.ts';
import { DEFAULT_ROOT_NAMESPACE, Stops } from '../stops/stops.ts';
import { dualWriteStore, isGoneFrom } from './dual-write-store.ts';
import { KubernetesStore } from './kubernetes/kubernetes-store.ts';
import { PostgresDatabase } from './postgres/postgres-database.ts';
import { SqlStore, type SqlStoreOptions } from './sql/sql-store.ts';
import { SqliteDatabase } from './sqlite/sqlite-database.ts';
import type { Store } from './store.ts';

interface Parts {
  config: ControlPlaneConfig;
  logger: Logger;
  metrics: Metrics;
}

/** Opens the configured store. Rejects if it cannot be opened; then nothing stays open. */
export async function openStores({ config, logger, metrics }: Parts) {
  const { cluster, sidecarImages, SIDECAR_CA_FILES: caFiles, RATE_LIMIT_SECONDS: rateLimitSeconds } = config;
  const clock = systemClock;
  const apiServer = createApiServerOutage({ clock, logger });
  const access = cluster && loadClusterAccess(cluster.kubeconfig);
  const client = access && new KubeClient({ access, part: 'control-plane' });
  const observations =
    client && new KubernetesStore({ client, clock, logger, metrics, rateLimitSeconds, apiServer });
  const store = storeOf(config, observations, logger);
  const worker = new ManifestWorker();
  let organisation: Organisation | null = null;
  const onChange = (): void => organisation?.changed();
  const ofCluster = client && new OrganisationRules({ client, clock, logger, onChange });
  const stops = new Stops({
    ...{ clock, logger, rootNamespace: access?.namespace ?? DEFAULT_ROOT_NAMESPACE },
    storage:
      client === null
        ? stopsOf(store, clock)
        : clusterStops(new AgentStops({ client, clock, logger }), apiServer),
  });
  const close = async (): Promise<void> => {
    await stops.close();
    await ofCluster?.close();
    await worker.close();
    await store.close();
    await client?.close();
  };
  const knownCas = caFiles && new KnownCas(caFiles, clock);
  try {
    await knownCas?.read();
    const rules = ofCluster ?? (await rulesOfFiles(config.ORGANISATION_POLICIES));
    const access = await accessOf(config, client && { client, clock, apiServer });
    ofCluster?.start();
    await store.start();
    await stops.start();
    // Without a cluster there are no pods to identify.
    const pods = client && new PodIdentity({ client, clock, metrics, sidecarImages, knownCas });
    const kubernetesTokens = client && new KubernetesTokens({ client, clock, apiServer });
    organisation = new Organisation(rules, worker);
    return { store, apiServer, pods, kubernetesTokens, access, organisation, stops, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The stops of a control plane without a cluster. */
export const stopsOf = ({ stops }: Store, clock: Clock): StopStorage =>
  stops === undefined ? NO_STOPS : new SqlStops(stops, clock);

async function accessOf(
  { PLATFORM_ROLES_FILE: path }: ControlPlaneConfig,
  ofCluster: ConstructorParameters<typeof KubernetesAccess>[0] | null,
): Promise<Access> {
  if (ofCluster !== null) return new KubernetesAccess(ofCluster);
  return path === null ? NO_ACCESS : loadRoles(path);
}

/** The rules of a file or directory. Rejects with all problems of the files. */
async function rulesOfFiles(path: string | null): Promise<RuleSource> {
  if (path === null) return NO_RULES;
  const loaded = await loadPolicies(resolve(path), path);
  if (!loaded.ok) throw new Error(`ORGANISATION_POLICIES is not valid: ${loaded.problems.join('; ')}`);
  const { policies } = loaded;
  // No label but the name of the namespace is known, as in a cluster without other labels.
  return {
    policies: () => policies,
    problem: () => null,
    invalid: () => [],
    labelsOf: (namespace) => ({ 'kubernetes.io/metadata.name': namespace }),
  };
}

/** readConfig always sets a cluster with the Kubernetes store, so its observations are never null. */
function storeOf(config: ControlPlaneConfig, observations: KubernetesStore | null, logger: Logger): Store {
  if (observations === null) return databaseStoreOf(config, { logger });
  if (config.STORE === 'kubernetes') return observations;
  const mirror: Store = observations;
  const store = databaseStoreOf(config, { logger, isGone: (key, at) => isGoneFrom(mirror, key, at) });
  return dualWriteStore({ store, mirror, clock: systemClock, logger });
}

function databaseStoreOf(
  config: ControlPlaneConfig,
  given: Pick<SqlStoreOptions, 'isGone'> & { logger: Logger },
): SqlStore {
  const { database, retention, RATE_LIMIT_SECONDS: rateLimitSeconds, DATA_DIR: directory } = config;
  const clock = systemClock;
  return new SqlStore({
    ...{ ...given, clock, rateLimitSeconds, retention },
    // readConfig sets an address with the PostgreSQL store only.
    database:
      database === null
        ? new SqliteDatabase(directory)
        : new PostgresDatabase({ ...database, clock, logger: given.logger }),
  });
}
