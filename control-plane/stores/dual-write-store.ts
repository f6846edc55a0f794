import { proofSetOf } from '../../core/observation/proofs.ts';
import type { Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import type { AgentRecord, Arrival, Store } from './store.ts';

export interface MirrorOptions {
  /** Serves all reads and decides all outcomes. */
  primary: Store;
  /** Receives the changes, so that the agents are also visible in the cluster. */
  mirror: Store;
  clock: Clock;
  logger: Logger;
}

/** Maximum time that a response waits for the mirror, in milliseconds. */
const MIRROR_TIMEOUT_MS = 2_000;

/**
 * A database inside a cluster. The database is the source of truth, and the AgentObservations are written as well. A failed
 * mirror write is logged and does not change the response; the next heartbeat repairs the mirror.
 */
export function createDualWriteStore(options: MirrorOptions): Store {
  const { primary, mirror } = options;
  const reflect = reflector(options);
  return {
    ...unmirrored(primary),
    async start(signal) {
      await primary.start(signal);
      await mirror.start(signal);
    },
    async close() {
      await mirror.close();
      await primary.close();
    },
    async register(registration, at) {
      const outcome = await primary.register(registration, at);
      if (outcome.kind === 'taken') return outcome;
      const { agentId } = outcome.record;
      await reflect(() => mirror.register({ ...registration, agentId }, at));
      return outcome;
    },
    async heartbeat(arrival) {
      const outcome = await primary.heartbeat(arrival);
      if (outcome.kind !== 'accepted') return outcome;
      const { record } = outcome;
      const heartbeatSeconds = await reflect(() => reflectHeartbeat(mirror, arrival, record));
      return { kind: 'accepted', record: { ...record, heartbeatSeconds } };
    },
    async putProof(write) {
      const outcome = await primary.putProof(write);
      if (outcome === 'stored') await reflect(() => mirror.putProof(write));
      return outcome;
    },
    async removeProof(removal) {
      const outcome = await primary.removeProof(removal);
      if (outcome === 'removed') await reflect(() => mirror.removeProof(removal));
      return outcome;
    },
    async remove(key) {
      const outcome = await primary.remove(key);
      if (outcome === 'removed') await reflect(() => mirror.remove(key));
      return outcome;
    },
  };
}

type Mirrored = 'start' | 'close' | 'register' | 'heartbeat' | 'putProof' | 'removeProof' | 'remove';

/** The reads, and the tokens, which only the database keeps. */
function unmirrored(primary: Store): Omit<Store, Mirrored> {
  return {
    unready: () => primary.unready(),
    replaceTokens: (grant) => primary.replaceTokens(grant),
    addToken: (grant) => primary.addToken(grant),
    hasToken: (grant) => primary.hasToken(grant),
    find: (key, at) => primary.find(key, at),
    findByName: (name, at) => primary.findByName(name, at),
    list: (query, at) => primary.list(query, at),
    report: (key, instance, at) => primary.report(key, instance, at),
  };
}

/** Resolves with the heartbeat interval of the agent, which only the observation contains; null: none. */
async function reflectHeartbeat(
  mirror: Store,
  arrival: Arrival,
  record: AgentRecord,
): Promise<number | null> {
  // A heartbeat alone does not carry a control-plane proof that the mirror missed.
  const decided = { ...arrival, proofs: proofSetOf(record.status) };
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

/** Runs changes of the mirror. null: the change failed or exceeded the timeout; after it the change continues. */
function reflector({ clock, logger }: MirrorOptions): <T>(change: () => Promise<T>) => Promise<T | null> {
  let isFailing = false;
  return async (change) => {
    const done = change().then(
      (result) => {
        isFailing = false;
        return result;
      },
      (error: unknown) => {
        if (!isFailing) logger.warn('failed to write AgentObservation', { error: describeError(error) });
        isFailing = true;
        return null;
      },
    );
    const timer = new AbortController();
    const timeout = clock.sleep(MIRROR_TIMEOUT_MS, timer.signal).then(
      () => null,
      () => null,
    );
    const result = await Promise.race([done, timeout]);
    timer.abort();
    return result;
  };
}
