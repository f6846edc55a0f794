import { createKubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import type { Informer } from '../kube/informer.ts';
import type { InformerTiming } from '../kube/informer-timing.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { listen } from '../runtime/http-listener.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { Running } from '../runtime/run-process.ts';
import { createOperatorApp } from './app.ts';
import type { OperatorConfig } from './config.ts';
import { createContext } from './context.ts';
import { createFollowed } from './followed.ts';
import { withLeaderElection, withoutLeaderElection, type Leadership } from './leading.ts';
import { requestObserver } from './reconcile-metrics.ts';

export interface Operator extends Running {
  readonly port: number;
}

/** Replacements for tests. */
export interface OperatorOverrides {
  clock?: Clock;
  informerTiming?: Partial<InformerTiming>;
}

/** Opens the port, syncs the caches and maintains the observations while leader. `close` releases leadership first. */
export async function startOperator(
  config: OperatorConfig,
  logger: Logger,
  signal: AbortSignal,
  overrides: OperatorOverrides = {},
): Promise<Operator> {
  const { clock = systemClock, informerTiming } = overrides;
  const access = loadClusterAccess(config.KUBECONFIG);
  const namespace = config.POD_NAMESPACE ?? access.namespace;
  if (config.LEADER_ELECT && namespace === null)
    throw new Error('LEADER_ELECT requires POD_NAMESPACE, the namespace of the Lease');
  const metrics = createMetrics();
  const clientOptions = { access, part: 'operator', observe: requestObserver(metrics) };
  const client = createKubeClient({ ...clientOptions, mayWrite: () => leadership.isLeader() });
  const context = createContext({
    config,
    namespace,
    access,
    client,
    clock,
    logger,
    metrics,
    informerTiming,
  });
  const leadership: Leadership = config.LEADER_ELECT
    ? withLeaderElection(context, namespace ?? '', clientOptions)
    : withoutLeaderElection(context);
  const { pods, observations } = context.informers;
  const informers = Object.values(context.informers) as Informer<unknown>[];
  const { rejections } = context.injectorWatch;
  const followed = createFollowed({ ...context.informers, ...(rejections ? { rejections } : {}) }, metrics);
  const unready = () => (signal.aborted ? 'this process is stopping' : followed.unready());
  const listener = await listen({
    handler: createOperatorApp({ logger, metrics, unready }),
    port: config.PORT,
  });
  for (const informer of informers) informer.start();
  context.injectorWatch.start();
  // With an incomplete pod cache the controller would treat every agent as deleted.
  void Promise.all(informers.map((informer) => informer.synced())).then(() => {
    logger.info('caches synced', {
      pods: pods.list().length,
      observations: observations.list().length,
    });
    leadership.start();
  });
  logger.info('listening', { port: listener.port });
  return {
    port: listener.port,
    async close() {
      await leadership.close();
      await Promise.all([...informers, context.injectorWatch].map((each) => each.close()));
      await listener.close();
      await client.close();
    },
  };
}
