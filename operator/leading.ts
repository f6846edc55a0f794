import { createKubeClient, type KubeClientOptions } from '../kube/client.ts';
import { createLeaderElection } from '../kube/lease.ts';
import type { OperatorContext } from './context.ts';

/** The Lease that the replicas compete for, in the operator's own namespace. */
const LEASE_NAME = 'platform-operator';
/** Name and words are client-go's. */
const LEADS_HELP =
  "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.";
/** How long events may take that are still to be stored when the lead ends, in milliseconds; the next leader waits for it. */
const FLUSH_MS = 1_000;

/** When this process works: alone at once, among replicas while it holds their Lease. */
export interface Leading {
  /** Once the caches are full, so that whoever begins to lead begins to work. */
  start(): void;
  /** Whether this process may write now. */
  isLeader(): boolean;
  /** Ends the work and gives the lead up. */
  close(): Promise<void>;
}

/** Competes for the Lease in `namespace`, on a connection of its own: work that floods the other one must not cost the lead. */
export function elected(
  context: OperatorContext,
  namespace: string,
  clientOptions: KubeClientOptions,
): Leading {
  const { clock, logger, identity, metrics } = context;
  const client = createKubeClient(clientOptions);
  const election = createLeaderElection({
    client,
    lease: { namespace, name: LEASE_NAME },
    identity,
    logger,
    clock,
    lead: (signal) => lead(context, signal),
  });
  metrics.gauge('leader_election_master_status', LEADS_HELP, () => [
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

export function alone(context: OperatorContext): Leading {
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
  { agents, injectorWatch, mirror, events, clock }: OperatorContext,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all([agents.run(signal), injectorWatch.run(signal), mirror.run(signal)]);
  await Promise.race([events.flush(), clock.sleep(FLUSH_MS)]);
}
