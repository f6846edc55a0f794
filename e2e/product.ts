// The product as the suites install it.
import { join } from 'node:path';
import type { Cluster } from './cluster/cluster.ts';

export const CHART = join(import.meta.dirname, '../helm/agent-compliance');
export const RELEASE = 'platform';
export const SYSTEM_NAMESPACE = 'platform-system';
/** The shortest interval: what breaks shows soonest. */
export const HEARTBEAT_SECONDS = 10;
export const ADMIN_KEY = 'an-admin-key-for-this-suite-only';

/** Chart values that name the images the cluster can run. */
export function valuesFor(cluster: Cluster): Record<string, unknown> {
  const [, registry = '', , tag = ''] =
    /^(.*?)\/([^:]*\/)?operator:(.*)$/.exec(cluster.imageRef('operator')) ?? [];
  return {
    image: { registry, tag, pullPolicy: 'IfNotPresent' },
    controlPlane: { adminKey: ADMIN_KEY },
    sidecar: { heartbeatSeconds: HEARTBEAT_SECONDS },
  };
}
