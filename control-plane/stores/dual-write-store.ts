import { proofSetOf } from '../../core/observation/proofs.ts';
import { slept } from '../../runtime/clock.ts';
import { describeError, type Logger } from '../../runtime/logger.ts';
import { SqliteStore, type SqliteStoreOptions } from './sqlite/sqlite-store.ts';
import type {
  AgentKey,
  AgentRecord,
  Arrival,
  ProofRemoval,
  ProofWrite,
  Registration,
  Store,
} from './store.ts';

export interface DualWriteOptions extends SqliteStoreOptions {
  /** Receives the changes, so that the agents are also visible in the cluster. */
  mirror: Store;
  logger: Logger;
}

/** Maximum time that a response waits for the mirror, in milliseconds. */
const MIRROR_TIMEOUT_MS = 2_000;

/**
 * A database inside a cluster. The database is the source of truth: it serves all reads, decides all outcomes and alone keeps
 * the tokens. The AgentObservations are written as well. A failed mirror write is logged and does not change the response; the
 * next heartbeat repairs the mirror.
 */
export class DualWriteStore extends SqliteStore {
  readonly #options: DualWriteOptions;
  #isFailing = false;

  constructor(options: DualWriteOptions) {
    super(options);
    this.#options = options;
  }

  override async start(): Promise<void> {
    await super.start();
    await this.#options.mirror.start();
  }

  override async close(): Promise<void> {
    await this.#options.mirror.close();
    await super.close();
  }

  override async register(registration: Registration, at: Date) {
    const outcome = await super.register(registration, at);
    if (outcome.kind === 'taken') return outcome;
    const { agentId } = outcome.record;
    await this.#reflect(() => this.#options.mirror.register({ ...registration, agentId }, at));
    return outcome;
  }

  override async heartbeat(arrival: Arrival): ReturnType<Store['heartbeat']> {
    const outcome = await super.heartbeat(arrival);
    if (outcome.kind !== 'accepted') return outcome;
    const { record } = outcome;
    const heartbeatSeconds = await this.#reflect(() => this.#reflectHeartbeat(arrival, record));
    return { kind: 'accepted', record: { ...record, heartbeatSeconds } };
  }

  override async putProof(write: ProofWrite) {
    const outcome = await super.putProof(write);
    if (outcome === 'stored') await this.#reflect(() => this.#options.mirror.putProof(write));
    return outcome;
  }

  override async removeProof(removal: ProofRemoval) {
    const outcome = await super.removeProof(removal);
    if (outcome === 'removed') await this.#reflect(() => this.#options.mirror.removeProof(removal));
    return outcome;
  }

  override async remove(key: AgentKey) {
    const outcome = await super.remove(key);
    if (outcome === 'removed') await this.#reflect(() => this.#options.mirror.remove(key));
    return outcome;
  }

  /** Resolves with the heartbeat interval of the agent, which only the observation contains; null: none. */
  async #reflectHeartbeat(arrival: Arrival, record: AgentRecord): Promise<number | null> {
    // A heartbeat alone does not carry a control-plane proof that the mirror missed.
    const decided = { ...arrival, proofs: proofSetOf(record.status) };
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
