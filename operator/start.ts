import { createKubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/cluster-access.ts';
import type { InformerTiming } from '../kube/informer.ts';
import { createLeaderElection, type LeaderElection } from '../kube/lease.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { listen } from '../runtime/http-listener.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Running } from '../runtime/run-process.ts';
import { createOperatorApp } from './app.ts';
import type { OperatorConfig } from './config.ts';
import { createContext, type OperatorContext } from './context.ts';

/** The Lease that the replicas compete for, in the operator's own namespace. */
const LEASE_NAME = 'platform-operator';

/** How long events may take that are still to be stored when the process stops, in milliseconds. */
const FLUSH_MS = 3_000;

export interface Operator extends Running {
  readonly port: number;
}

/** What a test replaces. */
export interface OperatorOverrides {
  clock?: Clock;
  informerTiming?: Partial<InformerTiming>;
}

/** Opens the port, follows the cluster, and keeps the observations while it leads; `close` gives the lead up first. */
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
    throw new Error('LEADER_ELECT needs POD_NAMESPACE, the namespace of the Lease');
  const client = createKubeClient({ access, part: 'operator' });
  const context = createContext({ config, namespace, access, client, clock, logger, informerTiming });
  const leading = config.LEADER_ELECT ? elected(context, namespace ?? '') : alone(context);
  const informers = Object.values(context.informers);
  const unready = () => {
    if (signal.aborted) return 'this process is stopping';
    const away = Object.entries(context.informers).filter(([, informer]) => !informer.isFresh());
    const names = away.map(([name]) => name).join(', ');
    return away.length === 0 ? null : `the API server is not heard: ${names}`;
  };
  const listener = await listen({
    handler: createOperatorApp({ logger, metrics: context.metrics, unready }),
    port: config.PORT,
  });
  for (const informer of informers) informer.start();
  context.injectorWatch.start();
  // A controller that looked at a cache without its pods would take every agent for gone.
  void Promise.all(informers.map((informer) => informer.synced())).then(() => {
    logger.info('has seen the cluster', {
      pods: context.informers.pods.list().length,
      observations: context.informers.observations.list().length,
    });
    leading.start();
  });
  logger.info('listens', { port: listener.port });
  return {
    port: listener.port,
    async close() {
      await leading.close();
      await Promise.all([...informers, context.injectorWatch].map((each) => each.close()));
      await Promise.race([context.events.flush(), clock.sleep(FLUSH_MS)]);
      await listener.close();
      await client.close();
    },
  };
}

async function lead({ agents, injectorWatch, mirror }: OperatorContext, signal: AbortSignal): Promise<void> {
  await Promise.all([agents.run(signal), injectorWatch.run(signal), mirror.run(signal)]);
}

type Leading = Pick<LeaderElection, 'start' | 'close'>;

function elected(context: OperatorContext, namespace: string): Leading {
  const { client, clock, logger, identity, metrics } = context;
  const election = createLeaderElection({
    client,
    lease: { namespace, name: LEASE_NAME },
    identity,
    logger,
    clock,
    lead: (signal) => lead(context, signal),
  });
  metrics.gauge('leader_election_master_status', '1 while this process leads.', () => [
    { labels: { name: LEASE_NAME }, value: election.isLeader() ? 1 : 0 },
  ]);
  return election;
}

function alone(context: OperatorContext): Leading {
  const stop = new AbortController();
  let run = Promise.resolve();
  return {
    start: () => void (run = lead(context, stop.signal)),
    close: () => {
      stop.abort();
      return run;
    },
  };
}
