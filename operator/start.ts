import { KubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { CLUSTER_LIMITS } from '../runtime/connection-limits.ts';
import { createApp } from '../runtime/http-app.ts';
import { listen } from '../runtime/http-listener.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { processRoutes } from '../runtime/process-routes.ts';
import type { Running } from '../runtime/run-process.ts';
import type { OperatorConfig } from './config.ts';
import { createContext, type OperatorContext } from './context.ts';
import { createFollowed } from './followed.ts';
import { withLeaderElection, withoutLeaderElection, type Leadership } from './leading.ts';
import { requestObserver } from './reconcile-metrics.ts';

export interface Operator extends Running {
  readonly port: number;
}

/** Opens the port, syncs the caches and maintains the observations while leader. `close` releases leadership first. */
export async function startOperator(
  config: OperatorConfig,
  logger: Logger,
  signal: AbortSignal,
  { clock = systemClock }: { clock?: Clock } = {},
): Promise<Operator> {
  const access = loadClusterAccess(config.KUBECONFIG);
  const namespace = config.POD_NAMESPACE ?? access.namespace;
  const metrics = createMetrics();
  const clientOptions = { access, part: 'operator', observe: requestObserver(metrics) };
  const client = new KubeClient({ ...clientOptions, mayWrite: () => leadership.isLeader() });
  const parts = { config, namespace, access, client, clock, logger, metrics };
  const context = createContext(parts);
  const { injectorWatch, mounts, rules, stops, worker } = context;
  const leadership: Leadership = config.LEADER_ELECT
    ? withLeaderElection(context, namespace, clientOptions)
    : withoutLeaderElection(context);
  const { rejections } = injectorWatch;
  const followed = createFollowed(
    { ...context.informers, mounts, ...(rejections && { rejections }) },
    metrics,
  );
  const unready = () => (signal.aborted ? 'this process is stopping' : followed.unready());
  // Only health and metrics.
  const handler = createApp({ logger, routes: processRoutes({ metrics, unready }) });
  const listener = await listen({ handler, port: config.PORT, limits: CLUSTER_LIMITS });
  const informers = Object.values(context.informers);
  for (const informer of informers) informer.start();
  mounts.start();
  injectorWatch.start();
  rules.start();
  stops.start(context.stopWork.changed);
  void leadWhenSynced(context, leadership);
  logger.info('listening', { port: listener.port });
  return {
    port: listener.port,
    async close() {
      await leadership.close();
      await Promise.all(
        [...informers, mounts, injectorWatch, rules, stops, worker].map((each) => each.close()),
      );
      await listener.close();
      await client.close();
    },
  };
}

/** With an incomplete pod cache the controller would treat every agent as deleted. */
async function leadWhenSynced({ informers, logger }: OperatorContext, leadership: Leadership): Promise<void> {
  await Promise.all(Object.values(informers).map((informer) => informer.synced()));
  const { pods, observations } = informers;
  logger.info('caches synced', { pods: pods.list().length, observations: observations.list().length });
  leadership.start();
}
