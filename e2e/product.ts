// The product as the suites install it.
import { join } from 'node:path';
import type { Cluster } from './cluster/cluster.ts';
import { eventually, kubectlOf } from './kubectl.ts';

export const CHART = join(import.meta.dirname, '../helm/agent-compliance');
export const RELEASE = 'platform';
export const SYSTEM_NAMESPACE = 'platform-system';
/** No bar, and what the command gets to say that it was not enough. */
export const HELM_TIMEOUT = '300s';
export const HELM_MS = 330_000;
/** The shortest interval: what breaks shows soonest. */
export const HEARTBEAT_SECONDS = 10;
/** The chart's default. */
const INJECTORS = 2;
export const ADMIN_KEY = 'an-admin-key-for-this-suite-only';

/**
 * Takes the release and a namespace of agents away, and ends the cluster. One of our own is thrown away whole: only of another
 * one anything has to be taken away first.
 */
export async function leave(cluster: Cluster, ...namespaces: string[]): Promise<void> {
  try {
    if (cluster.audit !== null) return;
    const uninstall = ['uninstall', RELEASE, '--ignore-not-found', '--wait', '--timeout', HELM_TIMEOUT];
    await cluster.exec(['helm', '-n', SYSTEM_NAMESPACE, ...uninstall], { timeoutMs: HELM_MS });
    await cluster.exec([
      'kubectl',
      'delete',
      'namespace',
      ...namespaces,
      '--ignore-not-found',
      '--wait=false',
    ]);
  } finally {
    await cluster.close();
  }
}

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

/**
 * Installs the chart and waits until it is up; with `values` beyond those of `valuesFor` it changes an installation, and
 * waits until no injector of before is left: for some seconds more it answers on connections that it has.
 * Throws with what the namespace shows. Returns how long it took, in milliseconds.
 */
export async function installProduct(
  cluster: Cluster,
  values: Record<string, unknown> = {},
): Promise<number> {
  const started = performance.now();
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
    input: JSON.stringify({ ...valuesFor(cluster), ...values }),
    timeoutMs: HELM_MS,
  });
  const tookMs = performance.now() - started;
  const system = kubectlOf(cluster, SYSTEM_NAMESPACE);
  if (result.code === 0) {
    const injectors = () =>
      system.run('get', 'pods', '-l', 'app.kubernetes.io/component=webhook', '-o', 'name');
    const isAlone = (pods: string) => pods.trim().split('\n').length === INJECTORS;
    await eventually('the end of the injectors of before', injectors, isAlone);
    return tookMs;
  }
  const logs = ['--all-containers', '--prefix', '-l', 'app.kubernetes.io/name=agent-compliance', '--tail=50'];
  throw new Error(
    `${result.stderr}\n${await system.run('get', 'pods,events')}\n${await system.run('logs', ...logs)}`,
  );
}
