// Installs and removes the product for the suites.
import { join } from 'node:path';
import type { Cluster } from './cluster/cluster.ts';
import { eventually, kubectlOf } from './kubectl.ts';

export const CHART = join(import.meta.dirname, '../helm/agent-compliance');
export const RELEASE = 'platform';
export const SYSTEM_NAMESPACE = 'platform-system';
/** Not a performance limit. HELM_MS is longer, so that helm itself reports a timeout. */
export const HELM_TIMEOUT = '300s';
export const HELM_MS = 330_000;
/** The shortest interval, to detect failures early. */
export const HEARTBEAT_SECONDS = 10;
/** The chart's default number of webhooks and operators. */
const REPLICAS = 2;
const CRDS = ['agentobservations', 'agentpolicies', 'agentstops'].map(
  (plural) => `crd/${plural}.platform.io`,
);
/** The chart's default for agents outside the cluster. */
const REMOTE_NAMESPACE = 'platform-remote';
export const ADMIN_KEY = 'an-admin-key-for-this-suite-only';

/** Deletes the namespaces of a suite. The release stays for the next suite, except in an external cluster. */
export async function leave(cluster: Cluster, ...namespaces: string[]): Promise<void> {
  try {
    const remove = ['kubectl', 'delete', 'namespace', ...namespaces, '--ignore-not-found', '--wait=false'];
    await cluster.exec(remove);
    if (cluster.audit === null) await uninstallProduct(cluster);
  } finally {
    await cluster.close();
  }
}

/** Removes the release and the kept objects, for a suite that starts without them. */
export async function uninstallProduct(cluster: Cluster): Promise<void> {
  const uninstall = ['uninstall', RELEASE, '--ignore-not-found', '--wait', '--timeout', HELM_TIMEOUT];
  await cluster.exec(['helm', '-n', SYSTEM_NAMESPACE, ...uninstall], { timeoutMs: HELM_MS });
  await removeKept(cluster);
}

/** Removes the objects that an uninstallation keeps, because a release with another name cannot adopt them. */
export async function removeKept(cluster: Cluster): Promise<void> {
  const remove = ['kubectl', 'delete', ...CRDS, `namespace/${REMOTE_NAMESPACE}`, '--ignore-not-found'];
  await cluster.exec(remove, { timeoutMs: HELM_MS });
}

/**
 * Chart values with the images of this cluster. The suites share one release, and a different value restarts its processes.
 * Therefore they also share the canary's interval.
 */
export function valuesFor(cluster: Cluster): Record<string, Record<string, unknown>> {
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
    canary: { intervalSeconds: 5 },
  };
}

/**
 * Installs or upgrades the chart with `values` in addition to `valuesFor`, and waits until it is ready. Also waits until no
 * previous injector is left, because it still responds on existing connections for some seconds.
 * `replicas`: of the webhook and of the operator. Another number than in the suite before restarts them, because it changes the
 * pod template.
 * Throws with the state of the namespace. Returns the duration of the installation in milliseconds.
 */
export async function installProduct(
  cluster: Cluster,
  { replicas = REPLICAS, values = {} }: { replicas?: number; values?: Record<string, unknown> } = {},
): Promise<number> {
  const started = performance.now();
  const base = valuesFor(cluster);
  const scaled = { operator: { ...base['operator'], replicas }, webhook: { ...base['webhook'], replicas } };
  const command = [
    'helm',
    'upgrade',
    '--install',
    RELEASE,
    CHART,
    '-n',
    SYSTEM_NAMESPACE,
    '--create-namespace',
  ];
  const result = await cluster.exec([...command, '--wait', '--timeout', HELM_TIMEOUT, '-f', '-'], {
    input: JSON.stringify({ ...base, ...scaled, ...values }),
    timeoutMs: HELM_MS,
  });
  const tookMs = performance.now() - started;
  const system = kubectlOf(cluster, SYSTEM_NAMESPACE);
  if (result.code === 0) {
    const injectors = () =>
      system.get<{ items: unknown[] }>('pods', '-l', 'app.kubernetes.io/component=webhook');
    const areAlone = ({ items }: { items: unknown[] }) => items.length === replicas;
    await eventually('the end of the previous injectors', injectors, areAlone);
    return tookMs;
  }
  const logs = ['--all-containers', '--prefix', '-l', 'app.kubernetes.io/name=agent-compliance', '--tail=50'];
  throw new Error(
    `${result.stderr}\n${await system.run('get', 'pods,events')}\n${await system.run('logs', ...logs)}`,
  );
}
