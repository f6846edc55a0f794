import { KubeClient, type KubeClientOptions } from '../kube/client.ts';
import { LeaderElection } from '../kube/lease.ts';
import type { OperatorContext } from './context.ts';

/** The Lease that the replicas compete for, in the operator's own namespace. */
const LEASE_NAME = 'platform-operator';
/** Name and help text of client-go. */
const MASTER_STATUS_HELP =
  "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.";
/** Milliseconds for writing pending Events when leadership ends; the next leader waits for this time. */
const FLUSH_MS = 1_000;

/** Leadership of this process: always without leader election, else while this process holds the Lease. */
export interface Leadership {
  /** Call after the caches are synced, so that a new leader can work immediately. */
  start(): void;
  /** Whether this process may write at the moment. */
  isLeader(): boolean;
  /** Ends the work and releases leadership. */
  close(): Promise<void>;
}

/** Competes for the Lease in `namespace`. Uses a separate connection, so that heavy load does not cost leadership. */
export function withLeaderElection(
  context: OperatorContext,
  namespace: string | null,
  clientOptions: KubeClientOptions,
): Leadership {
  if (namespace === null) throw new Error('LEADER_ELECT requires POD_NAMESPACE, the namespace of the Lease');
  const { clock, logger, identity, metrics } = context;
  const client = new KubeClient(clientOptions);
  const election = new LeaderElection({
    client,
    lease: { namespace, name: LEASE_NAME },
    identity,
    logger,
    clock,
    lead: (signal) => lead(context, signal),
  });
  metrics.gauge('leader_election_master_status', MASTER_STATUS_HELP, () => [
    { labels: { name: LEASE_NAME }, value: election.isLeader() ? 1 : 0 },
  ]);
  return {
    start: () => election.start(),
    isLeader: () => election.isLeader(),
    async close() {
      await election.close();
      await client.close();
    },
  };
}

export function withoutLeaderElection(context: OperatorContext): Leadership {
  const stop = new AbortController();
  let run = Promise.resolve();
  return {
    start: () => void (run = lead(context, stop.signal)),
    isLeader: () => true,
    close: () => {
      stop.abort();
      return run;
    },
  };
}

async function lead(
  { agents, injectorWatch, mirror, policies, stopWork, reports, events, clock }: OperatorContext,
  signal: AbortSignal,
): Promise<void> {
  const parts = [agents, injectorWatch, mirror, policies, stopWork, reports];
  await Promise.all(parts.map((part) => part.run(signal)));
  await Promise.race([events.flush(), clock.sleep(FLUSH_MS)]);
}
