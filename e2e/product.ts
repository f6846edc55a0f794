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
  const image = (part: string) => {
    const reference = cluster.imageRef(part);
    const colon = reference.lastIndexOf(':');
    return { image: { repository: reference.slice(0, colon), tag: reference.slice(colon + 1) } };
  };
  return {
    adminKey: { value: ADMIN_KEY },
    operator: image('operator'),
    webhook: image('webhook'),
    controlPlane: image('control-plane'),
    sidecar: { ...image('sidecar'), heartbeatSeconds: HEARTBEAT_SECONDS },
  };
}
