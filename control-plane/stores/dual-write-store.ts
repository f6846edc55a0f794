import { proofSetOf } from '../../core/observation/proofs.ts';
import { slept, type Clock } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import { withoutEgressLists } from '../status/egress-lists.ts';
import type { HistoryStore } from './history.ts';
import type {
  AgentKey,
  AgentRecord,
  Arrival,
  ListQuery,
  ProofRemoval,
  ProofWrite,
  Registration,
  Store,
  TokenGrant,
} from './store.ts';

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
export class DualWriteStore implements Store {
  readonly history: HistoryStore | null;
  readonly #options: DualWriteOptions;
  readonly #store: Store;
  #isFailing = false;

  constructor(options: DualWriteOptions) {
    this.history = options.store.history;
    this.#options = options;
    this.#store = options.store;
  }

  get cluster(): Store {
    return this.#options.mirror;
  }

  async start(): Promise<void> {
    await this.#store.start();
    await this.#options.mirror.start();
  }

  async close(): Promise<void> {
    await this.#options.mirror.close();
    await this.#store.close();
  }

  unready(): string | null {
    return this.#store.unready();
  }

  replaceTokens(grant: TokenGrant) {
    return this.#store.replaceTokens(grant);
  }

  addToken(grant: TokenGrant) {
    return this.#store.addToken(grant);
  }

  hasToken(grant: TokenGrant) {
    return this.#store.hasToken(grant);
  }

  find(key: AgentKey, at: Date) {
    return this.#store.find(key, at);
  }

  findByName(name: string, at: Date) {
    return this.#store.findByName(name, at);
  }

  list(query: ListQuery, at: Date) {
    return this.#store.list(query, at);
  }

  report(key: AgentKey, instance: string | null, at: Date) {
    return this.#store.report(key, instance, at);
  }

  changes(position: string | null, at: Date) {
    return this.#store.changes(position, at);
  }

  async register(registration: Registration, at: Date) {
    const outcome = await this.#store.register(registration, at);
    if (outcome.kind === 'taken') return outcome;
    const { agentId } = outcome.record;
    await this.#reflect(() => this.#options.mirror.register({ ...registration, agentId }, at));
    return outcome;
  }

  async heartbeat(arrival: Arrival): ReturnType<Store['heartbeat']> {
    const outcome = await this.#store.heartbeat(arrival);
    if (outcome.kind !== 'accepted') return outcome;
    const { record } = outcome;
    const heartbeatSeconds = await this.#reflect(() => this.#reflectHeartbeat(arrival, record));
    return { kind: 'accepted', record: { ...record, heartbeatSeconds } };
  }

  async putProof(write: ProofWrite) {
    const outcome = await this.#store.putProof(write);
    if (outcome === 'stored') await this.#reflect(() => this.#options.mirror.putProof(write));
    return outcome;
  }

  async removeProof(removal: ProofRemoval) {
    const outcome = await this.#store.removeProof(removal);
    if (outcome === 'removed') await this.#reflect(() => this.#options.mirror.removeProof(removal));
    return outcome;
  }

  /** A workload that the cluster has would return with its next heartbeat. Rejects if the cluster cannot be read. */
  async remove(key: AgentKey): ReturnType<Store['remove']> {
    const { mirror, clock } = this.#options;
    const known = await this.#store.find(key, clock.now());
    if (known?.source === 'sidecar') {
      const observed = await mirror.find(key, clock.now());
      if (observed?.source === 'sidecar') return 'workload';
    }
    const outcome = await this.#store.remove(key);
    if (outcome === 'removed' && known?.source === 'remote') await this.#reflect(() => mirror.remove(key));
    return outcome;
  }

  /** Resolves with the heartbeat interval of the agent, which only the observation contains; null: none. */
  async #reflectHeartbeat(arrival: Arrival, record: AgentRecord): Promise<number | null> {
    // A heartbeat alone does not carry a control-plane proof that the mirror missed.
    const decided = { ...withoutEgressLists(arrival), proofs: proofSetOf(record.status) };
    const { mirror } = this.#options;
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
  async #reflect<T>(change: () => Promise<T>): Promise<T | null> {
    const { clock, logger } = this.#options;
    const done = change().then(
      (result) => {
        this.#isFailing = false;
        return result;
      },
      (error: unknown) => {
        if (!this.#isFailing)
          logger.warn('failed to update AgentObservation, database unaffected', {
            error: describeError(error),
          });
        this.#isFailing = true;
        return null;
      },
    );
    const timer = new AbortController();
    const result = await Promise.race([done, slept(clock, MIRROR_TIMEOUT_MS, timer.signal).then(() => null)]);
    timer.abort();
    return result;
  }
}

/** Whether a workload no longer exists in the cluster. False while the cluster cannot be read. */
export async function isGoneFrom(mirror: Store, key: AgentKey, at: Date): Promise<boolean> {
  return mirror.unready() === null && (await mirror.find(key, at)) === null;
}
