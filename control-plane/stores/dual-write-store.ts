import { proofSetOf } from '../../core/observation/proofs.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import { withoutEgressLists } from '../status/egress-lists.ts';
import type { AgentKey, AgentRecord, Arrival, Store } from './store.ts';

export interface DualWriteOptions {
  /** The database. */
  store: Store;
  /** Receives the changes, so that the agents are also visible in the cluster. */
  mirror: Store;
  clock: Clock;
  logger: Logger;
}

/** Maximum time that a response waits for the mirror, in milliseconds. */
const MIRROR_TIMEOUT_MS = 2_000;

/**
 * A database inside a cluster. The database is the source of truth: it serves all reads, decides all outcomes and alone keeps
 * the tokens. The AgentObservations are written as well. A failed mirror write is logged and does not change the response; the
 * next heartbeat repairs the mirror.
 */
export function dualWriteStore({ store, mirror, clock, logger }: DualWriteOptions): Store {
  const reflect = reflector(clock, logger);
  return {
    ...{ history: store.history, auditEvents: store.auditEvents, cluster: mirror },
    async start() {
      await store.start();
      await mirror.start();
    },
    async close() {
      await mirror.close();
      await store.close();
    },
    unready: () => store.unready(),
    replaceTokens: (grant) => store.replaceTokens(grant),
    addToken: (grant) => store.addToken(grant),
    hasToken: (grant) => store.hasToken(grant),
    find: (key, at) => store.find(key, at),
    findByName: (name, at) => store.findByName(name, at),
    list: (query, at) => store.list(query, at),
    async namespaces() {
      const observed = await mirror.namespaces().catch(() => []);
      return [...new Set([...(await store.namespaces()), ...observed])].sort();
    },
    report: (key, instance, at) => store.report(key, instance, at),
    changes: (position, at) => store.changes(position, at),
    async register(registration, at) {
      const outcome = await store.register(registration, at);
      if (outcome.kind === 'taken') return outcome;
      const { agentId } = outcome.record;
      await reflect(() => mirror.register({ ...registration, agentId }, at));
      return outcome;
    },
    async heartbeat(arrival) {
      const outcome = await store.heartbeat(arrival);
      if (outcome.kind !== 'accepted') return outcome;
      const { record } = outcome;
      const heartbeatSeconds = await reflect(() => mirrorHeartbeat(mirror, arrival, record));
      return { kind: 'accepted', record: { ...record, heartbeatSeconds } };
    },
    async putProof(write) {
      const outcome = await store.putProof(write);
      if (outcome === 'stored') await reflect(() => mirror.putProof(write));
      return outcome;
    },
    async removeProof(removal) {
      const outcome = await store.removeProof(removal);
      if (outcome === 'removed') await reflect(() => mirror.removeProof(removal));
      return outcome;
    },
    /** A workload that the cluster has would return with its next heartbeat. Rejects if the cluster cannot be read. */
    async remove(key) {
      const known = await store.find(key, clock.now());
      const observed = known?.source === 'sidecar' ? await mirror.find(key, clock.now()) : null;
      if (observed?.source === 'sidecar') return 'workload';
      const outcome = await store.remove(key);
      if (outcome === 'removed' && known?.source === 'remote') await reflect(() => mirror.remove(key));
      return outcome;
    },
  };
}

/** Resolves with the heartbeat interval of the agent, which only the observation contains; null: none. */
async function mirrorHeartbeat(mirror: Store, arrival: Arrival, record: AgentRecord): Promise<number | null> {
  // A heartbeat alone does not carry a control-plane proof that the mirror missed.
  const decided = { ...withoutEgressLists(arrival), proofs: proofSetOf(record.status) };
  const mirrored = await mirror.heartbeat(decided);
  if (mirrored.kind === 'accepted') return mirrored.record.heartbeatSeconds;
  if (mirrored.kind === 'unknown' && record.source === 'remote') {
    // The agent was registered while there was no cluster.
    const { namespace, name, runtime, agentId } = record;
    await mirror.register({ namespace, name, runtime, agentId, manifest: null }, arrival.at);
    await mirror.heartbeat(decided);
  }
  return null;
}

/** Changes the mirror. null: the change failed or exceeded the timeout; after it the change continues. */
function reflector(clock: Clock, logger: Logger): <T>(change: () => Promise<T>) => Promise<T | null> {
  let isFailing = false;
  const settled = async <T>(change: () => Promise<T>): Promise<T | null> => {
    try {
      const result = await change();
      isFailing = false;
      return result;
    } catch (error) {
      const fields = { error: describeError(error) };
      if (!isFailing) logger.warn('failed to update AgentObservation, database unaffected', fields);
      isFailing = true;
      return null;
    }
  };
  return async (change) => {
    const timer = new AbortController();
    const timeout = slept(clock, MIRROR_TIMEOUT_MS, timer.signal).then(() => null);
    const result = await Promise.race([settled(change), timeout]);
    timer.abort();
    return result;
  };
}

/** Whether a workload no longer exists in the cluster. False while the cluster cannot be read. */
export async function isGoneFrom(mirror: Store, key: AgentKey, at: Date): Promise<boolean> {
  return mirror.unready() === null && (await mirror.find(key, at)) === null;
}
